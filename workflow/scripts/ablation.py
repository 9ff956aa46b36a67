from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    import numpy as np

    from bertshift.ablation.table import ablate, with_provenance
    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.files import atomic, read_json

    data = Path(snakemake.input.examples).parent
    sidecar = read_sidecar(data)
    table, arrays = ablate(
        settings["model"],
        settings["task"],
        settings["runs"],
        read_examples(data, "dev"),
        sidecar,
        **settings["ablation"],
    )
    with atomic(snakemake.output.examples) as path, open(path, "wb") as file:
        np.savez_compressed(file, **arrays)
    outcomes = {}
    for file in snakemake.input.scores:
        replicate = settings["runs"][str(Path(file).parent)]
        outcomes[tuple(replicate)] = read_json(file)
    rows = with_provenance(table.rows, settings, sidecar, outcomes)
    table.keep(rows).write(snakemake.output.table)
