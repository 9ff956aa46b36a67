from bertshift.running.jobs import job

with job(snakemake) as settings:
    from functools import partial
    from importlib import import_module
    from pathlib import Path

    from bertshift.files import read_json, read_jsonl
    from bertshift.metrics.pairs import metric_table, model_folders
    from bertshift.rows.blocks import write_with_blocks

    # Not by the rule's name: another workflow that uses this one may change it.
    metric, inputs = Path(snakemake.output[0]).parent.name, snakemake.input
    # What the metric's record asks for.
    given = {"tokens": settings["tokens"]} if settings["tokens"] else {}
    if settings["folders"]:
        given["folders"] = model_folders(settings, inputs)
    if inputs.get("annotations"):
        words = zip(settings["stimuli"], inputs.annotations, inputs.annotators, strict=True)
        given["annotations"] = {
            stimulus: (list(read_jsonl(rows)), read_json(record)["annotators"])
            for stimulus, rows, record in words
        }
    compare = partial(import_module(f"bertshift.metrics.{settings['module']}").compare, **given)
    write_with_blocks(snakemake.output[0], metric_table(metric, compare, settings, inputs))
