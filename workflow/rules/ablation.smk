# Every head and every layer of a fine-tuned model disabled, all replicates in one job.
rule ablation:
    input:
        models=lambda wildcards: [file for run in runs_with_scores(wildcards) for file in run_files(run)],
        scores=lambda wildcards: [f"{run.folder}/scores.json" for run in runs_with_scores(wildcards)],
        examples=lambda wildcards: examples(dataset_of(wildcards)),
        sidecar=lambda wildcards: sidecar(dataset_of(wildcards)),
    output:
        table="results/ablation/{model}.tsv",
        examples="results/ablation/{model}.npz",
    log:
        "logs/ablation/{model}.log",
    benchmark:
        "logs/ablation/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        code=code("ablation"),
        settings=lambda wildcards: settings.canonical(ablation_settings(wildcards)),
    script:
        "../scripts/ablation.py"


# Every layer of a fine-tuned model with its parent's weights, one at a time, all replicates in one job.
rule restored:
    input:
        models=lambda wildcards: unique(
            file for pair in runs_and_parents(wildcards) for run in pair for file in run_files(run)
        ),
        outcomes=lambda wildcards: outcomes(
            unique(run for pair in runs_and_parents(wildcards) for run in pair)
        ),
        examples=lambda wildcards: examples(dataset_of(wildcards)),
        sidecar=lambda wildcards: sidecar(dataset_of(wildcards)),
        stimuli=lambda wildcards: f"results/stimuli/{parse_model(wildcards.model).task}.jsonl",
        description=lambda wildcards: f"results/stimuli/{parse_model(wildcards.model).task}.json",
        scores=lambda wildcards: training_scores(parse_model(wildcards.model)),
    output:
        "results/restored/{model}.tsv",
    log:
        "logs/restored/{model}.log",
    benchmark:
        "logs/restored/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        code=code("restored"),
        settings=lambda wildcards: settings.canonical(restored_settings(wildcards)),
    script:
        "../scripts/restored.py"
