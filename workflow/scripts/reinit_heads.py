import json

from bertshift.jobs import job

with job(snakemake):
    import pandas as pd

    from bertshift.ablation.reinitialisation import head_table
    from bertshift.files import read_tsv, write_tsv

    layers = json.loads(snakemake.params.layers)
    heads = pd.concat([read_tsv(file).assign(layer=layers[file]) for file in snakemake.input.heads])
    baselines = pd.concat([read_tsv(file) for file in snakemake.input.baselines])
    write_tsv(snakemake.output[0], head_table(heads, baselines))
