import json
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import write_json, write_jsonl
    from bertshift.probes.sentences import describe, distinct_sentences

    settings = json.loads(snakemake.params.settings)
    folders = {task: Path(folder) for task, folder in settings["tasks"].items()}
    rows = distinct_sentences(folders, settings["max_train"])
    write_jsonl(snakemake.output.rows, rows)
    write_json(
        snakemake.output.description,
        {"name": "edges", "rows": len(rows), "data": describe(folders, settings["source"])},
    )
