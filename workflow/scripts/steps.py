from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    import pandas as pd

    from bertshift.files import read_tsv
    from bertshift.models.weights import norms
    from bertshift.rows.blocks import write_measures
    from bertshift.rows.provenance import steps_table
    from bertshift.training.steps import relative_norms

    tables = []
    for run, log in zip(settings["runs"], snakemake.input.logs, strict=True):
        keys = {key: run[key] for key in ("init", "seed", "ref_init", "ref_seed")}
        norms_before = norms(Path(run["parent"]))
        table = relative_norms(read_tsv(log), norms_before, log)
        tables.append(table.assign(**keys))
    table = steps_table(pd.concat(tables, ignore_index=True), settings, snakemake.input)
    write_measures(snakemake.output[0], table)
