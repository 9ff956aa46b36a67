from bertshift.running.jobs import job

with job(snakemake):
    import pandas as pd

    from bertshift.files import read_tsv, write_tsv

    for part in ("scores", "losses"):
        write_tsv(snakemake.output[part], pd.concat([read_tsv(file) for file in snakemake.input[part]]))
