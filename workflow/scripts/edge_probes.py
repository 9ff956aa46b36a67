import json

from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    import numpy as np

    from bertshift.files import atomic, write_tsv
    from bertshift.probes.edge import probe, word_vectors
    from bertshift.probes.settings import ProbeSettings
    from bertshift.tables import probe_table

    settings = json.loads(snakemake.params.settings)
    folder = Path(snakemake.input.dump) / "edges"
    dumps = {tuple(replicate): folder / f"{run}.npz" for run, replicate in settings["runs"].items()}
    words = None
    if "word_only" in settings["variants"]:
        words = {
            tuple(replicate): word_vectors(Path(settings["folders"][run]))
            for run, replicate in settings["runs"].items()
        }
    table, counts = probe(
        settings["model"],
        dumps,
        {task: Path(folder) for task, folder in settings["tasks"].items()},
        Path(snakemake.input.sentences),
        ProbeSettings(**settings["probe"]),
        settings["variants"],
        words,
    )
    with atomic(snakemake.output.counts) as path, open(path, "wb") as file:
        np.savez(file, **counts)
    write_tsv(snakemake.output.table, probe_table(table, settings, snakemake.input))
