from bertshift.running.jobs import job

with job(snakemake) as settings:
    from functools import partial
    from importlib import import_module
    from pathlib import Path

    from bertshift.files import read_json, read_jsonl
    from bertshift.metrics.pairs import metric_table, model_folders

    # Not by the rule's name: another workflow that uses this one may change it.
    metric = Path(snakemake.output[0]).parent.name
    inputs = snakemake.input
    # Arguments that only some metrics take.
    arguments = {}
    if settings["tokens"]:
        arguments["tokens"] = settings["tokens"]
    if settings["folders"]:
        arguments["folders"] = model_folders(settings, inputs)
    if inputs.get("annotations"):
        files = zip(settings["stimuli"], inputs.annotations, inputs.annotators, strict=True)
        arguments["annotations"] = {
            stimulus: (list(read_jsonl(rows)), read_json(record)["annotators"])
            for stimulus, rows, record in files
        }
    module = import_module(f"bertshift.metrics.{settings['module']}")
    compare = partial(module.compare, **arguments)
    metric_table(metric, compare, settings, inputs).write(snakemake.output[0])
