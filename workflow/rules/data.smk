# It may need a network, so it runs on a cluster's login node, and holds a row at a time.
localrules:
    dataset,


# Everything that figures/all needs from a network, and nothing else: the rest runs without one.
rule:
    name:
        "data/all"
    input:
        lambda wildcards: fetched_for("figures/all"),


if config["data"]["source"] == "world":

    localrules:
        world,

    rule world:
        output:
            [f"{WORLD}/{file}" for file in generate.FILES],
        log:
            "logs/world.log",
        benchmark:
            "logs/world.cost.tsv"
        conda:
            ENVIRONMENT
        params:
            code=code("world"),
            settings=settings.canonical(config["world"]),
        script:
            "../scripts/world.py"


# Reaches the network, as `checkpoint` and `corpus` do, only where data.source is hub.
rule dataset:
    input:
        files=lambda wildcards: mirror_files(wildcards.dataset),
    output:
        examples("{dataset}"),
        sidecar("{dataset}"),
    log:
        "logs/dataset/{dataset}.log",
    benchmark:
        "logs/dataset/{dataset}.cost.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("dataset"),
        source=lambda wildcards: settings.canonical(dataset_source(wildcards.dataset)),
    script:
        "../scripts/dataset.py"


rule stimuli:
    input:
        examples=lambda wildcards: [examples(name) for name in stimuli_datasets(wildcards)],
        sidecars=lambda wildcards: [sidecar(name) for name in stimuli_datasets(wildcards)],
    output:
        rows="results/stimuli/{stimulus}.jsonl",
        description="results/stimuli/{stimulus}.json",
    log:
        "logs/stimuli/{stimulus}.log",
    benchmark:
        "logs/stimuli/{stimulus}.cost.tsv"
    wildcard_constraints:
        stimulus=rf"(?!({only(PROBED)})\.)[a-z0-9_+]+",
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("stimuli"),
        settings=lambda wildcards: settings.canonical(stimuli_settings(wildcards.stimulus)),
    script:
        "../scripts/stimuli.py"
