from bertshift.running.jobs import job

with job(snakemake) as settings:
    import pandas as pd

    from bertshift.ablation.reinitialisation import head_table
    from bertshift.rows.blocks import read_with_blocks, write_with_blocks

    layers = [
        read_with_blocks(file).assign(layer=layer) for file, layer in settings["layers"].items()
    ]
    baselines = pd.concat(map(read_with_blocks, snakemake.input.baselines))
    write_with_blocks(snakemake.output[0], head_table(pd.concat(layers), baselines), "delta")
