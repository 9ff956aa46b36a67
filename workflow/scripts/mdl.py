from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.activations.source import sources
    from bertshift.probes.mdl import CodeSettings, describe
    from bertshift.rows.provenance import probe_table
    from bertshift.rows.table import of_columns
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
    of_columns(probe_table(table, settings, snakemake.input)).write(snakemake.output[0])
    cache.remove()
