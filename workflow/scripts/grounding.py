from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.files import read_json, read_jsonl
    from bertshift.metrics.grounding import behaviour, ground
    from bertshift.rows.blocks import write_measures
    from bertshift.rows.provenance import compared

    data, inputs = Path(snakemake.input.examples).parent, snakemake.input
    rows, sidecar = read_examples(data, "dev"), read_sidecar(data)
    behaving = {
        run["folder"]: behaviour(
            settings["task"], Path(run["folder"]), rows, sidecar, read_json(scores)
        )
        for run, scores in zip(settings["runs"], inputs.outcomes, strict=True)
    }
    table = ground(
        settings["runs"],
        behaving,
        list(read_jsonl(inputs.inputs)),
        settings["stimuli"][0],
        Path(snakemake.output[0]).with_suffix(".activations"),
        settings["tokens"],
        settings["max_length"],
    )
    write_measures(snakemake.output[0], compared(table, settings, inputs))
