from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.relations import read_relations
    from bertshift.metrics.relation_heads import measure
    from bertshift.rows.provenance import probe_table

    folder = Path(snakemake.input.dump) / "relations"
    dumps = {
        tuple(replicate): folder / f"{run}.npz" for run, replicate in settings["runs"].items()
    }
    relations = read_relations(Path(snakemake.input.relations).parent)
    table = measure(settings["model"], dumps, relations)
    rows = probe_table(table.rows, settings, snakemake.input)
    table.keep(rows).write(snakemake.output[0])
