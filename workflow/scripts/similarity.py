import json
from functools import partial

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import write_tsv
    from bertshift.metrics import similarity
    from bertshift.tables import metric_table

    settings = json.loads(snakemake.params.settings)
    compare = partial(similarity.compare, tokens=settings["tokens"])
    write_tsv(snakemake.output[0], metric_table("similarity", compare, settings, snakemake.input))
