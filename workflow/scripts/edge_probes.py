import json

from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    import numpy as np

    from bertshift.activations.source import sources
    from bertshift.files import atomic, write_tsv
    from bertshift.parts import Kept
    from bertshift.probes.edge import probe
    from bertshift.probes.settings import ProbeSettings
    from bertshift.tables import probe_table

    settings = json.loads(snakemake.params.settings)
    kept = Kept.beside(snakemake.output.table, snakemake.params.code)
    table, counts = probe(
        settings["model"],
        sources(settings, snakemake.input.sentences),
        {task: Path(folder) for task, folder in settings["tasks"].items()},
        Path(snakemake.input.sentences),
        ProbeSettings(**settings["probe"]),
        kept,
        settings["variants"],
    )
    with atomic(snakemake.output.counts) as path, open(path, "wb") as file:
        np.savez(file, **counts)
    write_tsv(snakemake.output.table, probe_table(table, settings, snakemake.input))
    kept.remove()
