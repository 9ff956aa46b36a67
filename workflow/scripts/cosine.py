import json

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import read_json, write_tsv
    from bertshift.metrics import cosine
    from bertshift.tables import metric_table

    settings = json.loads(snakemake.params.settings)
    table = metric_table(
        "cosine",
        cosine.compare,
        settings,
        snakemake.input.model,
        snakemake.input.reference,
        [read_json(file) for file in snakemake.input.descriptions],
        [(read_json(a), read_json(b)) for a, b in zip(snakemake.input.sidecars, snakemake.input.scores)],
    )
    write_tsv(snakemake.output[0], table)
