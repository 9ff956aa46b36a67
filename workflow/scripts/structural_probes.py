from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.activations.source import sources
    from bertshift.probes.structural import StructuralSettings, probe
    from bertshift.rows.provenance import probe_table
    from bertshift.running.parts import PartCache

    cache = PartCache.beside(snakemake.output[0], snakemake.params.code)
    table = probe(
        settings["model"],
        sources(settings, snakemake.input.sentences),
        Path(snakemake.input.sentences),
        StructuralSettings(**settings["probe"]),
        cache,
    )
    rows = probe_table(table.rows, settings, snakemake.input)
    table.keep(rows).write(snakemake.output[0])
    cache.remove()
