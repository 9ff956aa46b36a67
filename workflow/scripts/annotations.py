from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.annotations import annotate, describe
    from bertshift.files import read_json, read_jsonl, write_json, write_jsonl

    folders = [Path(folder) for folder in snakemake.params.folders]
    rows = annotate(list(read_jsonl(snakemake.input.rows)), *folders)
    write_jsonl(snakemake.output.rows, rows)
    annotators = describe(folders, map(read_json, snakemake.input.scores))
    write_json(
        snakemake.output.record,
        {"name": snakemake.wildcards.stimulus, "rows": len(rows), "annotators": annotators},
    )
