import json
from functools import partial

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import write_tsv
    from bertshift.metrics import own_or_inherited
    from bertshift.tables import metric_table, model_folders

    settings = json.loads(snakemake.params.settings)
    compare = partial(own_or_inherited.compare, folders=model_folders(settings, snakemake.input))
    write_tsv(snakemake.output[0], metric_table("own_or_inherited", compare, settings, snakemake.input))
