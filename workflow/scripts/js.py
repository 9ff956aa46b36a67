import json

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import write_tsv
    from bertshift.metrics import jensen_shannon
    from bertshift.tables import metric_table

    settings = json.loads(snakemake.params.settings)
    write_tsv(snakemake.output[0], metric_table("js", jensen_shannon.compare, settings, snakemake.input))
