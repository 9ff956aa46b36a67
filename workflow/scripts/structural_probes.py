from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.activations.source import sources
    from bertshift.probes.structural import StructuralSettings, probe
    from bertshift.rows.blocks import write_with_blocks
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
    write_with_blocks(snakemake.output[0], probe_table(table, settings, snakemake.input))
    cache.remove()
