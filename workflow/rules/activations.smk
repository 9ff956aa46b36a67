# All replicates of a model in one job, so that a job is worth its start. Each metric has its own dump: it is deleted
# once it is read, and making a shared one anew for one metric would run the others again.
rule activations:
    input:
        models=lambda wildcards: [
            file for run in runs_of(parse_model(wildcards.model)) for file in run_files(run)
        ],
        stimuli=lambda wildcards: [f"results/stimuli/{name}.jsonl" for name in wildcards.stimuli.split("-")],
    output:
        keep(directory(ACTIVATIONS)),
    log:
        "logs/activations/{metric}_{model}_{stimuli}.log",
    benchmark:
        "logs/activations/{metric}_{model}_{stimuli}.cost.tsv"
    wildcard_constraints:
        metric=r"[a-z][a-z0-9_]*",
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        code=code("activations"),
        settings=lambda wildcards: settings.canonical(
            {
                "runs": {run.name: run.folder for run in runs_of(parse_model(wildcards.model))},
                "max_length": config["samples"]["max_length"],
                "attention": wildcards.metric in METRICS_OF_ATTENTION,
                "precision": "float16" if wildcards.metric in PROBES else "float32",
                # Of eleven sets of stimuli, all tokens of a model's replicates would fill a disk.
                "sample": (
                    {"metric": "rsa", "count": config["samples"]["tokens"]}
                    if wildcards.metric == "rsa"
                    else None
                ),
            }
        ),
    script:
        "../scripts/activations.py"
