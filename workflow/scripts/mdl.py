import json

from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.files import write_tsv
    from bertshift.probes.mdl import CodeSettings, describe
    from bertshift.tables import probe_table

    settings = json.loads(snakemake.params.settings)
    folder = Path(snakemake.input.dump) / "edges"
    dumps = {tuple(replicate): folder / f"{run}.npz" for run, replicate in settings["runs"].items()}
    table = describe(
        settings["model"],
        dumps,
        {task: Path(folder) for task, folder in settings["tasks"].items()},
        Path(snakemake.input.sentences),
        CodeSettings(**settings["probe"]),
    )
    write_tsv(snakemake.output[0], probe_table(table, settings, snakemake.input))
