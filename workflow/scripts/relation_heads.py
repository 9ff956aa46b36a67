import json
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    from bertshift.data.relations import read_relations
    from bertshift.files import write_tsv
    from bertshift.metrics.relation_heads import measure
    from bertshift.tables import probe_table

    settings = json.loads(snakemake.params.settings)
    folder = Path(snakemake.input.dump) / "relations"
    dumps = {tuple(replicate): folder / f"{run}.npz" for run, replicate in settings["runs"].items()}
    table = measure(settings["model"], dumps, read_relations(Path(snakemake.input.relations).parent))
    write_tsv(snakemake.output[0], probe_table(table, settings, snakemake.input))
