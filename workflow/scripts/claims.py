from bertshift.running.jobs import job

with job(snakemake) as settings:
    import pandas as pd
    import yaml

    from bertshift.files import read_tsv, write_tsv
    from bertshift.papers.room import decide

    with open(snakemake.input.published, encoding="utf-8") as file:
        published = yaml.safe_load(file)
    decided = [
        decide(name, {path: read_tsv(path) for path in paths}, published) for name, paths in settings.items()
    ]
    write_tsv(snakemake.output[0], pd.concat(decided))
