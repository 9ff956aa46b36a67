# Maps for a person to look at, with a proposed class each: of the fine-tuned models of Kovaleva et al. 2019, Figure 2.
rule pattern_sheet:
    input:
        models=lambda wildcards: [
            file for model in labelled_models() for run in runs_of(model) for file in run_files(run)
        ],
        stimuli=lambda wildcards: [f"results/stimuli/{model.task}.jsonl" for model in labelled_models()],
        descriptions=lambda wildcards: [f"results/stimuli/{model.task}.json" for model in labelled_models()],
    output:
        directory("results/patterns/sheet"),
    log:
        "logs/patterns/sheet.log",
    benchmark:
        "logs/patterns/sheet.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        code=code("pattern_sheet"),
        settings=lambda wildcards: settings.canonical(sheet_settings()),
    script:
        "../scripts/pattern_sheet.py"


rule pattern_classifier:
    input:
        sheet="results/patterns/sheet",
        labels=lambda wildcards: corrected_labels(),
    output:
        classifier="results/patterns/classifier/classifier.safetensors",
        predictions="results/patterns/classifier/predictions.tsv",
        scores="results/patterns/classifier/scores.tsv",
        confusion="results/patterns/classifier/confusion.tsv",
    log:
        "logs/patterns/classifier.log",
    benchmark:
        "logs/patterns/classifier.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        code=code("pattern_classifier"),
        settings=settings.canonical(config["patterns"]["classifier"]),
    script:
        "../scripts/pattern_classifier.py"


# All replicates of a model; beside the shares, the few maps that Figures 1 and 10 draw.
rule patterns:
    input:
        models=lambda wildcards: [file for run in runs_with_scores(wildcards) for file in run_files(run)],
        stimuli=lambda wildcards: f"results/stimuli/{parse_model(wildcards.model).task}.jsonl",
        description=lambda wildcards: f"results/stimuli/{parse_model(wildcards.model).task}.json",
        classifier="results/patterns/classifier/classifier.safetensors",
        predictions="results/patterns/classifier/predictions.tsv",
        outcomes=lambda wildcards: outcomes(runs_with_scores(wildcards)),
        scores=lambda wildcards: training_scores(parse_model(wildcards.model)),
    output:
        shares="results/patterns/{model}.tsv",
        maps="results/patterns/maps/{model}.tsv",
    log:
        "logs/patterns/{model}.log",
    benchmark:
        "logs/patterns/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        code=code("patterns"),
        settings=lambda wildcards: settings.canonical(pattern_settings(wildcards)),
    script:
        "../scripts/patterns.py"
