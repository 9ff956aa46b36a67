from bertshift.requests import patterns


# Choose attention maps for a person to label, with a proposed class each (Kovaleva et al. 2019, Figure 2).
rule pattern_sheet:
    input:
        inputs_of(patterns.pattern_sheet),
    output:
        directory("results/patterns/sheet"),
    log:
        "logs/patterns/sheet.log",
    priority: 7
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(patterns.pattern_sheet, "models maps max_length scale"),
        code=code("pattern_sheet"),
    script:
        "../scripts/pattern_sheet.py"


rule pattern_classifier:
    input:
        inputs_of(patterns.pattern_classifier),
    output:
        classifier="results/patterns/classifier/classifier.safetensors",
        predictions="results/patterns/classifier/predictions.tsv",
        scores="results/patterns/classifier/scores.tsv",
        confusion="results/patterns/classifier/confusion.tsv",
    log:
        "logs/patterns/classifier.log",
    priority: 7
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(patterns.pattern_classifier, "size widths epochs batch_size learning_rate folds"),
        code=code("pattern_classifier"),
    script:
        "../scripts/pattern_classifier.py"


# Count the classes of a model's maps, and keep the few maps that Figures 1 and 10 draw.
rule patterns:
    input:
        inputs_of(patterns.patterns),
    output:
        shares="results/patterns/{model}.tsv",
        blocks="results/patterns/{model}.blocks.npy",
        maps="results/patterns/maps/{model}.tsv",
    log:
        "logs/patterns/{model}.log",
    priority: 7
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(patterns.patterns, "model task runs trained max_examples max_length scale checkpoints"),
        code=code("patterns"),
    script:
        "../scripts/patterns.py"
