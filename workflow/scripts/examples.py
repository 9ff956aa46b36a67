from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.activations.examples import examples
    from bertshift.files import read_jsonl, write_json

    maps = examples(
        Path(settings["before"]),
        Path(settings["after"]),
        list(read_jsonl(snakemake.input.stimuli)),
        settings["number"],
        settings["longest"],
    )
    names = {key: settings[key] for key in ("model", "parent", "run")}
    write_json(snakemake.output[0], names | maps)
