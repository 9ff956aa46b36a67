# Metrics of attention maps, head by head.
rule cosine:
    input:
        **comparison_inputs("cosine"),
    output:
        "results/cosine/{model}_vs_{reference}.tsv",
    log:
        "logs/cosine/{model}_vs_{reference}.log",
    benchmark:
        "logs/cosine/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        code=code("cosine"),
        settings=comparison_settings("cosine"),
    script:
        "../scripts/cosine.py"


# Both models side by side on inputs padded to one length: maps of these are too many to be stored.
rule cosine_padded:
    input:
        **provenance_inputs("cosine"),
        models=lambda wildcards: [file for run in compared_runs(wildcards) for file in run_files(run)],
        stimuli=lambda wildcards: [
            f"results/stimuli/{name}.jsonl" for name in comparison_stimuli("cosine", wildcards)
        ],
    output:
        "results/cosine_padded/{model}_vs_{reference}.tsv",
    log:
        "logs/cosine_padded/{model}_vs_{reference}.log",
    benchmark:
        "logs/cosine_padded/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        code=code("cosine_padded"),
        settings=padded_settings,
    script:
        "../scripts/cosine_padded.py"


rule js:
    input:
        **comparison_inputs("js"),
    output:
        "results/js/{model}_vs_{reference}.tsv",
    log:
        "logs/js/{model}_vs_{reference}.log",
    benchmark:
        "logs/js/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        code=code("js"),
        settings=comparison_settings("js"),
    script:
        "../scripts/js.py"


# Each layer's attention from its own weights or its own input alone, one of the two before fine-tuning.
rule own_or_inherited:
    input:
        **comparison_inputs("own_or_inherited"),
        weights=weights_compared,
    output:
        "results/own_or_inherited/{model}_vs_{reference}.tsv",
    log:
        "logs/own_or_inherited/{model}_vs_{reference}.log",
    benchmark:
        "logs/own_or_inherited/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        code=code("own_or_inherited"),
        settings=own_or_inherited_settings,
    script:
        "../scripts/own_or_inherited.py"
