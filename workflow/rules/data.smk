from bertshift.requests import data
from bertshift.world import generate


# Everything that figures/all needs from a network, and nothing else: the rest runs without one.
rule:
    name:
        "data/all"
    input:
        sentences(lambda wildcards: downloads.downloads(config)),


# Models of the demo are pretrained on it, whatever data they are fine-tuned on.
if "world" in config:

    rule world:
        output:
            [f"{data.WORLD}/{file}" for file in generate.FILES],
        log:
            "logs/world.log",
        priority: 10
        localrule: True
        conda:
            "../../envs/compute.yaml"
        params:
            **settings_of(data.world, "sizes seed"),
            code=code("world"),
        script:
            "../scripts/world.py"


# Reaches the network, as `checkpoint` and `corpus` do, only where data.source is hub. It runs on a cluster's login node,
# which has one, and holds a row at a time.
rule dataset:
    input:
        inputs_of(data.dataset),
    output:
        examples="results/data/{dataset}/examples.jsonl",
        sidecar="results/data/{dataset}/dataset.json",
    log:
        "logs/dataset/{dataset}.log",
    priority: 10
    localrule: True
    conda:
        "../../envs/compute.yaml"
    params:
        **settings_of(data.dataset, "name spec source mirror cache"),
        code=code("dataset"),
    script:
        "../scripts/dataset.py"


# The inputs that models are compared on; those of probes and relations have rules of their own.
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
    priority: 10
    group:
        "inputs"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(data.stimuli, "name sources form number max_train"),
        code=code("stimuli"),
    script:
        "../scripts/stimuli.py"
