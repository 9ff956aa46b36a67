from bertshift.running.jobs import job

with job(snakemake) as settings:
    from functools import partial
    from importlib import import_module
    from pathlib import Path

    from bertshift.files import read_json, read_jsonl
    from bertshift.metrics.comparing import metric_table, model_folders
    from bertshift.metrics.registry import METRICS
    from bertshift.rows.blocks import write_with_blocks

    # Not by the rule's name: another workflow that uses this one may change it.
    metric, inputs = Path(snakemake.output[0]).parent.name, snakemake.input
    how = METRICS[metric]
    given = {}
    if how.tokens:
        given["tokens"] = settings["tokens"]
    if how.weights:
        given["folders"] = model_folders(settings, inputs)
    if how.annotations:
        words = zip(settings["stimuli"], inputs.annotations, inputs.annotators, strict=True)
        given["annotations"] = {
            stimulus: (list(read_jsonl(rows)), read_json(record)["annotators"])
            for stimulus, rows, record in words
        }
    compare = partial(import_module(f"bertshift.metrics.{how.module}").compare, **given)
    write_with_blocks(snakemake.output[0], metric_table(metric, compare, settings, inputs))
