import json

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import write_tsv
    from bertshift.metrics import cosine
    from bertshift.tables import metric_table

    settings = json.loads(snakemake.params.settings)
    write_tsv(snakemake.output[0], metric_table("cosine", cosine.compare, settings, snakemake.input))
