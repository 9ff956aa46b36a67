from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.ablation.reinitialisation import head_table
    from bertshift.rows.table import Table, concat

    layers = [Table.read(file).assign(layer=layer) for file, layer in settings["layers"].items()]
    baselines = concat(map(Table.read, snakemake.input.baselines))
    head_table(concat(layers), baselines).write(snakemake.output[0], "delta")
