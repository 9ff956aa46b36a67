from bertshift.requests import data
from bertshift.world import generate


# It may need a network, so it runs on a cluster's login node, and holds a row at a time.
localrules:
    dataset,


# Everything that figures/all needs from a network, and nothing else: the rest runs without one.
rule:
    name:
        "data/all"
    input:
        fetched,


if config["data"]["source"] == "world":

    localrules:
        world,

    rule world:
        output:
            [f"{data.WORLD}/{file}" for file in generate.FILES],
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
        inputs_of(data.dataset),
    output:
        data.examples("{dataset}"),
        data.sidecar("{dataset}"),
    log:
        "logs/dataset/{dataset}.log",
    benchmark:
        "logs/dataset/{dataset}.cost.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("dataset"),
        settings=settings_of(data.dataset),
    script:
        "../scripts/dataset.py"


rule stimuli:
    input:
        inputs_of(data.stimuli),
    output:
        rows="results/stimuli/{stimulus}.jsonl",
        description="results/stimuli/{stimulus}.json",
    log:
        "logs/stimuli/{stimulus}.log",
    benchmark:
        "logs/stimuli/{stimulus}.cost.tsv"
    wildcard_constraints:
        stimulus=rf"(?!({only(data.OF_PROBES)})\.)[a-z0-9_+]+",
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("stimuli"),
        settings=settings_of(data.stimuli),
    script:
        "../scripts/stimuli.py"
