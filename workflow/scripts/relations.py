from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.relations import prepare_relations, read_relations
    from bertshift.files import write_json, write_jsonl

    folder = Path(snakemake.output.rows).parent
    sidecar = prepare_relations(Path(snakemake.input[0]), folder, settings["origin"])
    rows = read_relations(folder)
    stimuli = [{"id": row["id"], "text_a": row["text"]} for row in rows]
    write_jsonl(snakemake.output.stimuli, stimuli)
    write_json(
        snakemake.output.description,
        {"name": "relations", "rows": len(rows), "data": sidecar["data"]},
    )
