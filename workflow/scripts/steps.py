import json
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    import pandas as pd

    from bertshift.files import read_tsv, write_tsv
    from bertshift.models.weights import norms
    from bertshift.tables import steps_table
    from bertshift.training.steps import relative_norms

    settings = json.loads(snakemake.params.settings)
    tables = []
    for run, log in zip(settings["runs"], snakemake.input.logs, strict=True):
        keys = {key: run[key] for key in ("init", "seed", "ref_init", "ref_seed")}
        tables.append(relative_norms(read_tsv(log), norms(Path(run["parent"])), log).assign(**keys))
    write_tsv(
        snakemake.output[0], steps_table(pd.concat(tables, ignore_index=True), settings, snakemake.input)
    )
