import json

from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.activations.source import sources
    from bertshift.files import write_tsv
    from bertshift.parts import Kept
    from bertshift.probes.mdl import CodeSettings, describe
    from bertshift.tables import probe_table

    settings = json.loads(snakemake.params.settings)
    kept = Kept.beside(snakemake.output[0], snakemake.params.code)
    table = describe(
        settings["model"],
        sources(settings, snakemake.input.sentences),
        {task: Path(folder) for task, folder in settings["tasks"].items()},
        Path(snakemake.input.sentences),
        CodeSettings(**settings["probe"]),
        kept,
    )
    write_tsv(snakemake.output[0], probe_table(table, settings, snakemake.input))
    kept.remove()
