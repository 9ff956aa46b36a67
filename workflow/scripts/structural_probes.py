from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.activations.source import sources
    from bertshift.probes.structural import StructuralSettings, probe
    from bertshift.rows.provenance import probe_table
    from bertshift.rows.table import of_columns
    from bertshift.running.parts import PartCache

    cache = PartCache.beside(snakemake.output[0], snakemake.params.code)
    table = probe(
        settings["model"],
        sources(settings, snakemake.input.sentences),
        Path(snakemake.input.sentences),
        StructuralSettings(**settings["probe"]),
        cache,
    )
    of_columns(probe_table(table, settings, snakemake.input)).write(snakemake.output[0])
    cache.remove()
