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
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
    params:
        code=code("ablation"),
        settings=lambda wildcards: settings.canonical(ablation_settings(wildcards)),
    script:
        "../scripts/ablation.py"
