from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    import pandas as pd

    from bertshift.files import read_tsv, write_tsv
    from bertshift.models.weights import norms
    from bertshift.rows.tables import steps_table
    from bertshift.training.steps import relative_norms
    from bertshift.version import stamped

    tables = []
    for run, log in zip(settings["runs"], snakemake.input.logs, strict=True):
        keys = {key: run[key] for key in ("init", "seed", "ref_init", "ref_seed")}
        tables.append(relative_norms(read_tsv(log), norms(Path(run["parent"])), log).assign(**keys))
    table = steps_table(pd.concat(tables, ignore_index=True), settings, snakemake.input)
    write_tsv(snakemake.output[0], stamped(table))
