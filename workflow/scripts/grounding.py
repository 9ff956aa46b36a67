from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.files import read_json, read_jsonl
    from bertshift.metrics.grounding import behaviour, ground
    from bertshift.rows.blocks import write_measures
    from bertshift.rows.provenance import compared

    inputs = snakemake.input
    data = Path(inputs.examples).parent
    rows, sidecar = read_examples(data, "dev"), read_sidecar(data)
    behaviours = {}
    for run, outcome in zip(settings["runs"], inputs.outcomes, strict=True):
        folder = Path(run["folder"])
        scores = read_json(outcome)
        behaviours[run["folder"]] = behaviour(settings["task"], folder, rows, sidecar, scores)
    table = ground(
        settings["runs"],
        behaviours,
        list(read_jsonl(inputs.inputs)),
        settings["stimuli"][0],
        Path(snakemake.output[0]).with_suffix(".activations"),
        settings["tokens"],
        settings["max_length"],
    )
    write_measures(snakemake.output[0], compared(table, settings, inputs))
