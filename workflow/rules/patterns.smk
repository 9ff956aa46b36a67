from bertshift.requests import patterns


# Choose attention maps for a person to label, with a proposed class each (Kovaleva et al. 2019, Figure 2).
rule pattern_sheet:
    input:
        models=collect("{run.folder}/{file}", run=of_job(patterns.runs_of_sheet), file=MODEL_FILES),
        stimuli=collect("results/stimuli/{task}.jsonl", task=of_job(patterns.tasks_of_sheet)),
        descriptions=collect("results/stimuli/{task}.json", task=of_job(patterns.tasks_of_sheet)),
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
        **settings_of(
            models=of_job(patterns.models_of_sheet),
            maps=config["patterns"]["maps"],
            max_length=config["samples"]["max_length"],
            scale=config["scale"],
        ),
        code=code("pattern_sheet"),
    script:
        "../scripts/pattern_sheet.py"


# Draw these maps on pages, for the person. No figure needs them.
rule pattern_pages:
    input:
        "results/patterns/sheet",
    output:
        directory("results/patterns/pages"),
    log:
        "logs/patterns/pages.log",
    localrule: True
    conda:
        "../../envs/figures.yaml"
    params:
        code=code("pattern_pages"),
    script:
        "../scripts/pattern_pages.py"


rule pattern_classifier:
    input:
        sheet="results/patterns/sheet",
        labels=given(of_job(patterns.labels)),
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
        **settings_of(**config["patterns"]["classifier"], own=of_job(patterns.labels)),
        code=code("pattern_classifier", computes=["patterns"]),
    script:
        "../scripts/pattern_classifier.py"


# Count the classes of a model's maps, and keep the few maps that Figures 1 and 10 draw.
rule patterns:
    input:
        models=collect("{run.folder}/{file}", run=of_job(patterns.sorted_runs), file=MODEL_FILES),
        stimuli=path("results/stimuli/{task}.jsonl", task=of_job(task_of)),
        description=path("results/stimuli/{task}.json", task=of_job(task_of)),
        classifier="results/patterns/classifier/classifier.safetensors",
        predictions="results/patterns/classifier/predictions.tsv",
        scores=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, patterns.sorted_runs)
        ),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(outcomes, patterns.sorted_runs)
        ),
        sources=collect("{run.folder}/source.json", run=of_job(patterns.sorted_runs)),
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
        **settings_of(
            model="{model}",
            task=of_job(task_of),
            runs=of_job(numbers_by_folder, patterns.sorted_runs),
            trained=of_job(trained, patterns.sorted_runs),
            max_examples=config["patterns"]["max_examples"],
            max_length=config["samples"]["max_length"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, patterns.sorted_runs),
        ),
        code=code("patterns", computes=["patterns"]),
    script:
        "../scripts/patterns.py"
