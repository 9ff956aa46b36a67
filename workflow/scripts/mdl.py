from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.activations.source import sources
    from bertshift.probes.mdl import CodeSettings, describe
    from bertshift.rows.provenance import probe_table
    from bertshift.running.parts import PartCache

    cache = PartCache.beside(snakemake.output[0], snakemake.params.code)
    table = describe(
        settings["model"],
        sources(settings, snakemake.input.sentences),
        {task: Path(folder) for task, folder in settings["tasks"].items()},
        Path(snakemake.input.sentences),
        CodeSettings(**settings["probe"]),
        cache,
    )
    rows = probe_table(table.rows, settings, snakemake.input)
    table.keep(rows).write(snakemake.output[0])
    cache.remove()
