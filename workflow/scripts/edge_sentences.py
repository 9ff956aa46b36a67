from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import write_json, write_jsonl
    from bertshift.probes.sentences import describe, distinct_sentences
    from bertshift.probes.settings import ProbeSettings

    folders = {task: Path(folder) for task, folder in settings["tasks"].items()}
    probe = ProbeSettings(**settings["probe"])
    sizes = {task: probe.of(task).sizes for task in folders}
    rows = distinct_sentences(folders, sizes)
    write_jsonl(snakemake.output.rows, rows)
    write_json(
        snakemake.output.description,
        {"name": "edges", "rows": len(rows), "data": describe(folders)},
    )
