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
    # Inputs of several tasks are all that a small one has, and a sample of the others.
    together = settings["form"] == "like" or len(rows) == 1
    used = {
        name: len(drawn) if together else min(settings["number"], len(rows[name])) for name in rows
    }
    parts = [
        describe_split(
            read_sidecar(folders[name]),
            split,
            used[name],
            settings["max_train"].get(name),
        )
        for name, split in settings["sources"]
    ]
    write_json(
        snakemake.output.description,
        {"name": settings["name"], "rows": len(drawn), "data": "; ".join(parts)},
    )
