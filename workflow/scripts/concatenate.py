from bertshift.running.jobs import job

with job(snakemake):
    import pandas as pd

    from bertshift.files import read_tsv, write_tsv

    tables = [read_tsv(file) for file in snakemake.input.tables]
    write_tsv(snakemake.output[0], pd.concat(tables))
