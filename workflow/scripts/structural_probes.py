import json

from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.activations.source import sources
    from bertshift.files import write_tsv
    from bertshift.parts import Kept
    from bertshift.probes.structural import StructuralSettings, probe
    from bertshift.tables import probe_table

    settings = json.loads(snakemake.params.settings)
    kept = Kept.beside(snakemake.output[0], snakemake.params.code)
    table = probe(
        settings["model"],
        sources(settings, snakemake.input.sentences),
        Path(snakemake.input.sentences),
        StructuralSettings(**settings["probe"]),
        kept,
    )
    write_tsv(snakemake.output[0], probe_table(table, settings, snakemake.input))
    kept.remove()
