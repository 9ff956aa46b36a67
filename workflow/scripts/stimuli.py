from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.data.examples import Examples, read_sidecar
    from bertshift.data.provenance import describe_split
    from bertshift.data.stimuli import draw_stimuli
    from bertshift.files import write_json, write_jsonl

    folders = {
        name: Path(file).parent
        for (name, _), file in zip(settings["sources"], snakemake.input.examples)
    }
    rows = {name: Examples(folders[name], split) for name, split in settings["sources"]}
    drawn = draw_stimuli(settings["name"], rows, settings)
    write_jsonl(snakemake.output.rows, drawn)
    # Inputs of several tasks are all that a small one has, and a sample of each larger one.
    drawn_together = settings["form"] == "like" or len(rows) == 1
    parts = []
    for name, split in settings["sources"]:
        count = len(drawn) if drawn_together else min(settings["number"], len(rows[name]))
        sidecar = read_sidecar(folders[name])
        parts.append(describe_split(sidecar, split, count, settings["max_train"].get(name)))
    write_json(
        snakemake.output.description,
        {"name": settings["name"], "rows": len(drawn), "data": "; ".join(parts)},
    )
