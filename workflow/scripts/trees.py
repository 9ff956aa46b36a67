from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.examples import read_examples, read_sidecar, sample
    from bertshift.data.provenance import describe_split
    from bertshift.files import write_json, write_jsonl

    data = Path(snakemake.input.examples).parent
    sidecar = read_sidecar(data)
    splits = {}
    for split in ("train", "dev", "test"):
        rows = read_examples(data, split)
        size = settings["sizes"].get(split)
        splits[split] = sample(rows, size, sidecar["name"], split)
    keys = ("id", "split", "words", "upos", "heads")
    trees = [{key: row[key] for key in keys} for rows in splits.values() for row in rows]
    write_jsonl(snakemake.output.rows, trees)
    parts = [describe_split(sidecar, split, len(rows)) for split, rows in splits.items()]
    write_json(
        snakemake.output.description,
        {"name": "trees", "rows": len(trees), "data": "; ".join(parts)},
    )
