from bertshift.requests import data
from bertshift.world import generate


# Everything that figures/all needs from a network, and nothing else: the rest runs without one.
rule:
    name:
        "data/all"
    input:
        fetched,


if config["data"]["source"] == "world":

    rule world:
        output:
            [f"{data.WORLD}/{file}" for file in generate.FILES],
        log:
            "logs/world.log",
        localrule: True
        params:
            code=code("world"),
            settings=settings.canonical(config["world"]),
        script:
            "../scripts/world.py"


# Reaches the network, as `checkpoint` and `corpus` do, only where data.source is hub. It runs on a cluster's login node,
# which has one, and holds a row at a time.
rule dataset:
    input:
        inputs_of(data.dataset),
    output:
        data.examples("{dataset}"),
        data.sidecar("{dataset}"),
    log:
        "logs/dataset/{dataset}.log",
    localrule: True
    params:
        **depends_on(data.dataset),
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
    wildcard_constraints:
        stimulus=rf"(?!({only(data.OF_PROBES)})\.)[a-z0-9_+]+",
    resources:
        **reserve("table"),
    params:
        **depends_on(data.stimuli),
    script:
        "../scripts/stimuli.py"
