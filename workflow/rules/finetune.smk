# One job a run, so that a new seed costs one job and a kill costs one run.
rule finetune:
    input:
        start=lambda wildcards: run_files(run_of(wildcards).parent),
        examples=lambda wildcards: examples(dataset_of(wildcards)),
        sidecar=lambda wildcards: sidecar(dataset_of(wildcards)),
    output:
        [f"{RUN}/{name}" for name in MODEL_FILES],
        f"{RUN}/scores.json",
        f"{RUN}/predictions.tsv",
        f"{RUN}/steps.tsv",
        f"{RUN}/layers.tsv",
    log:
        "logs/finetune/{model}_init{init}_seed{seed}.log",
    benchmark:
        "logs/finetune/{model}_init{init}_seed{seed}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["train"]
    resources:
        **reserve("train"),
        gpu=1,
    params:
        code=code("finetune"),
        settings=lambda wildcards: settings.canonical(finetune_settings(wildcards)),
        start=lambda wildcards: run_of(wildcards).parent.folder,
    script:
        "../scripts/finetune.py"


# A checkpoint that is not fine-tuned but changed: `base.random`, `base.keep2`.
rule derive:
    input:
        start=lambda wildcards: run_files(run_of(wildcards).checkpoint),
    output:
        [f"results/models/{{model}}/init{{init}}/{name}" for name in MODEL_FILES],
    log:
        "logs/derive/{model}_init{init}.log",
    benchmark:
        "logs/derive/{model}_init{init}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("derive"),
        variants=lambda wildcards: settings.canonical(
            [variant.text for variant in parse_model(wildcards.model).variants]
        ),
        start=lambda wildcards: run_of(wildcards).checkpoint.folder,
    script:
        "../scripts/derive.py"


# What the task gets from the encoder before: under random heads, and under linear probes.
rule frozen:
    input:
        starts=lambda wildcards: [file for start in frozen_starts(wildcards) for file in run_files(start)],
        examples=lambda wildcards: examples(dataset_of(wildcards)),
        sidecar=lambda wildcards: sidecar(dataset_of(wildcards)),
    output:
        "results/frozen/{model}.tsv",
    log:
        "logs/frozen/{model}.log",
    benchmark:
        "logs/frozen/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        code=code("frozen"),
        settings=lambda wildcards: settings.canonical(frozen_settings(wildcards)),
    script:
        "../scripts/frozen.py"


# Step sizes by layer, relative to the weights that fine-tuning began with.
rule steps:
    input:
        logs=lambda wildcards: [f"{run.folder}/layers.tsv" for run, _ in runs_and_parents(wildcards)],
        starts=lambda wildcards: unique(
            f"{parent.folder}/{name}"
            for _, parent in runs_and_parents(wildcards)
            for name in ["config.json", "model.safetensors"]
        ),
        outcomes=lambda wildcards: outcomes(
            unique(run for pair in runs_and_parents(wildcards) for run in pair)
        ),
        sources=lambda wildcards: records(runs_of(parse_model(wildcards.model))),
        scores=lambda wildcards: training_scores(parse_model(wildcards.model)),
    output:
        "results/steps/{model}.tsv",
    log:
        "logs/steps/{model}.log",
    benchmark:
        "logs/steps/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("steps"),
        settings=lambda wildcards: settings.canonical(parent_settings(wildcards)),
    script:
        "../scripts/steps.py"


rule scores:
    input:
        scores=lambda wildcards: [f"{run.folder}/scores.json" for run in runs_with_scores(wildcards)],
        sources=lambda wildcards: records(runs_of(parse_model(wildcards.model))),
    output:
        "results/scores/{model}.tsv",
    log:
        "logs/scores/{model}.log",
    benchmark:
        "logs/scores/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("scores"),
        provenance=lambda wildcards: settings.canonical(provenance(parse_model(wildcards.model))),
    script:
        "../scripts/scores.py"


# Two models of one task, tested against each other on its examples: all replicates in one job.
rule gains:
    input:
        scores=gain_inputs("scores.json"),
        predictions=gain_inputs("predictions.tsv"),
        sidecar=lambda wildcards: sidecar(dataset_of(wildcards)),
        trainings=lambda wildcards: training_scores(*rivals(wildcards)),
        sources=lambda wildcards: records(runs_of(parse_model(wildcards.model))),
    output:
        "results/gains/{model}_vs_{reference}.tsv",
    log:
        "logs/gains/{model}_vs_{reference}.log",
    benchmark:
        "logs/gains/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("gains"),
        settings=lambda wildcards: settings.canonical(gain_settings(wildcards)),
    script:
        "../scripts/gains.py"


rule losses:
    input:
        steps=lambda wildcards: [f"{run.folder}/steps.tsv" for run in runs_with_scores(wildcards)],
        trainings=lambda wildcards: training_scores(parse_model(wildcards.model)),
        sources=lambda wildcards: records(runs_of(parse_model(wildcards.model))),
    output:
        "results/losses/{model}.tsv",
    log:
        "logs/losses/{model}.log",
    benchmark:
        "logs/losses/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("losses"),
        provenance=lambda wildcards: settings.canonical(provenance(parse_model(wildcards.model))),
    script:
        "../scripts/losses.py"


rule all_scores:
    input:
        tables=[f"results/scores/{model}.tsv" for model in config["scored"]],
    output:
        "results/scores.tsv",
    log:
        "logs/all_scores.log",
    benchmark:
        "logs/all_scores.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("concatenate"),
    script:
        "../scripts/concatenate.py"
