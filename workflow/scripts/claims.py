import json

from bertshift.jobs import job

with job(snakemake):
    import pandas as pd
    import yaml

    from bertshift.claims import evaluate
    from bertshift.files import read_tsv, write_tsv

    with open(snakemake.input.published, encoding="utf-8") as file:
        published = yaml.safe_load(file)
    decided = [
        evaluate(name, {path: read_tsv(path) for path in paths}, published)
        for name, paths in json.loads(snakemake.params.tables).items()
    ]
    write_tsv(snakemake.output[0], pd.concat(decided))
