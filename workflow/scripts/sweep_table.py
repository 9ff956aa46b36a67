from bertshift.running.jobs import job

with job(snakemake):
    import pandas as pd

    from bertshift.files import read_tsv, write_tsv
    from bertshift.rows.blocks import read_with_blocks, write_with_blocks

    scores, losses = snakemake.input.scores, snakemake.input.losses
    write_with_blocks(snakemake.output.scores, pd.concat(map(read_with_blocks, scores), ignore_index=True))
    write_tsv(snakemake.output.losses, pd.concat(map(read_tsv, losses)))
