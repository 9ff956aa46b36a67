import json

from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.files import read_jsonl, write_tsv
    from bertshift.probes.structural import StructuralSettings, probe
    from bertshift.tables import probe_table

    settings = json.loads(snakemake.params.settings)
    folder = Path(snakemake.input.dump) / "trees"
    dumps = {tuple(replicate): folder / f"{run}.npz" for run, replicate in settings["runs"].items()}
    rows = list(read_jsonl(snakemake.input.sentences))
    table = probe(settings["model"], dumps, rows, StructuralSettings(**settings["probe"]))
    write_tsv(snakemake.output[0], probe_table(table, settings, snakemake.input))
