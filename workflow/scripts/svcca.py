import json
from functools import partial

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import write_tsv
    from bertshift.metrics import svcca
    from bertshift.tables import metric_table

    settings = json.loads(snakemake.params.settings)
    write_tsv(
        snakemake.output[0],
        metric_table("svcca", partial(svcca.compare, tokens=settings["tokens"]), settings, snakemake.input),
    )
