# Who the words of a stimulus are: tags and trees by the annotators' first replicates, one job for both.
rule annotations:
    input:
        rows="results/stimuli/{stimulus}.jsonl",
        models=lambda wildcards: [file for run in annotators() for file in run_files(run)],
        scores=lambda wildcards: [f"{run.folder}/scores.json" for run in annotators()],
    output:
        rows="results/annotations/{stimulus}.jsonl",
        record="results/annotations/{stimulus}.json",
    log:
        "logs/annotations/{stimulus}.log",
    benchmark:
        "logs/annotations/{stimulus}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        code=code("annotations"),
        folders=lambda wildcards: [run.folder for run in annotators()],
    script:
        "../scripts/annotations.py"


# Both models of a pair, so that before and after stand side by side.
rule attention_to:
    input:
        **comparison_inputs("attention_to"),
        annotations=lambda wildcards: annotation_files(wildcards, "jsonl"),
        annotators=lambda wildcards: annotation_files(wildcards, "json"),
        weights=weights_compared,
    output:
        "results/attention_to/{model}_vs_{reference}.tsv",
    log:
        "logs/attention_to/{model}_vs_{reference}.log",
    benchmark:
        "logs/attention_to/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        code=code("attention_to"),
        settings=attention_to_settings,
    script:
        "../scripts/attention_to.py"
