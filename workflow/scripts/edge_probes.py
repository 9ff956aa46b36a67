from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    import numpy as np

    from bertshift.activations.source import sources
    from bertshift.files import atomic
    from bertshift.probes.edge import probe
    from bertshift.probes.settings import ProbeSettings
    from bertshift.rows.provenance import probe_table
    from bertshift.running.parts import PartCache

    cache = PartCache.beside(snakemake.output.table, snakemake.params.code)
    table, counts = probe(
        settings["model"],
        sources(settings, snakemake.input.sentences),
        {task: Path(folder) for task, folder in settings["tasks"].items()},
        Path(snakemake.input.sentences),
        ProbeSettings(**settings["probe"]),
        cache,
        settings["variants"],
    )
    with atomic(snakemake.output.counts) as path, open(path, "wb") as file:
        np.savez(file, **counts)
    rows = probe_table(table.rows, settings, snakemake.input)
    table.keep(rows).write(snakemake.output.table)
    cache.remove()
