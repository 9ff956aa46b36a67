# All replicates of a model in one job, so that a job is worth its start.
rule activations:
    input:
        models=models_read,
        stimuli=lambda wildcards: [f"results/stimuli/{name}.jsonl" for name in wildcards.stimuli.split("-")],
    output:
        keep(directory(ACTIVATIONS)),
    log:
        "logs/activations/{kind}_{model}_{stimuli}.log",
    benchmark:
        "logs/activations/{kind}_{model}_{stimuli}.cost.tsv"
    wildcard_constraints:
        kind=only(set(KIND_READ_BY.values())),
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse", disk_of_activations),
        gpu=1,
    params:
        code=code("activations"),
        settings=lambda wildcards: settings.canonical(settings_of_dump(wildcards)),
    script:
        "../scripts/activations.py"
