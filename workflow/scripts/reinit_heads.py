from bertshift.running.jobs import job

with job(snakemake) as settings:
    import pandas as pd

    from bertshift.ablation.reinitialisation import head_table
    from bertshift.files import read_tsv, write_tsv
    from bertshift.version import stamped

    heads = pd.concat([read_tsv(file).assign(layer=settings[file]) for file in snakemake.input.heads])
    baselines = pd.concat([read_tsv(file) for file in snakemake.input.baselines])
    write_tsv(snakemake.output[0], stamped(head_table(heads, baselines)))
