from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.files import read_json, read_jsonl, write_json, write_jsonl
    from bertshift.tasks.annotations import annotate, describe

    folders = [Path(folder) for folder in settings["folders"]]
    rows = annotate(list(read_jsonl(snakemake.input.rows)), *folders)
    write_jsonl(snakemake.output.rows, rows)
    annotators = describe(folders, map(read_json, snakemake.input.scores))
    write_json(
        snakemake.output.record,
        {"name": snakemake.wildcards.stimulus, "rows": len(rows), "annotators": annotators},
    )
