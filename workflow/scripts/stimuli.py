import json

from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.files import write_json, write_jsonl
    from bertshift.provenance import describe_split
    from bertshift.stimuli import draw_stimuli

    settings = json.loads(snakemake.params.settings)
    folders = {name: Path(file).parent for name, file in zip(settings["datasets"], snakemake.input.examples)}
    splits = {name: "text" if settings["form"] else "dev" for name in folders}
    rows = {name: read_examples(folder, splits[name]) for name, folder in folders.items()}
    drawn = draw_stimuli(settings["name"], rows, settings)
    write_jsonl(snakemake.output.rows, drawn)
    number = len(drawn) // len(folders)
    parts = [
        describe_split(read_sidecar(folder), splits[name], number, settings["source"])
        for name, folder in folders.items()
    ]
    write_json(
        snakemake.output.description, {"name": settings["name"], "rows": len(drawn), "data": "; ".join(parts)}
    )
