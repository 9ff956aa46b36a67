from bertshift.data import sources
from bertshift.requests import data
from demo_world.files import FILES


# Fetch all that figures/all needs from a network. Everything else runs without one.
rule:
    name:
        "data/all"
    input:
        refusing(lambda wildcards: downloads.downloads(config)),


# Generate the demo's world: the texts that its models are pretrained on, and its data sets.
if "world" in config:

    rule world:
        output:
            [f"{sources.WORLD}/{file}" for file in FILES],
        log:
            "logs/world.log",
        priority: 10
        localrule: True
        conda:
            "../../envs/compute.yaml"
        params:
            **settings_of(**config["world"]),
            code=code("world", data=["demo_world/lexicon.yaml"]),
        script:
            "../scripts/world.py"


# Prepare a data set. Where data.source is hub, this reaches a network, as `checkpoint` and `corpus` do. It runs on a
# cluster's login node, which has a network, and holds one row at a time.
rule dataset:
    input:
        files=given(of_job(sources.mirror_files)),
    output:
        examples="results/data/{dataset}/examples.jsonl",
        sidecar="results/data/{dataset}/dataset.json",
    log:
        "logs/dataset/{dataset}.log",
    priority: 10
    localrule: True
    conda:
        "../../envs/compute.yaml"
    resources:
        hub_cache=config["data"]["cache"],
    params:
        **settings_of(
            name="{dataset}",
            spec=lambda wildcards: config["datasets"][wildcards.dataset],
            source=config["data"]["source"],
            mirror=sources.mirror(config),
            own=of_job(sources.mirror_files),
        ),
        code=code("dataset"),
    script:
        "../scripts/dataset.py"


# Draw the inputs that models are compared on. Inputs of probes and relations have rules of their own.
rule stimuli:
    input:
        examples=collect("results/data/{dataset}/examples.jsonl", dataset=of_job(data.datasets_of)),
        sidecars=collect("results/data/{dataset}/dataset.json", dataset=of_job(data.datasets_of)),
    output:
        rows="results/stimuli/{stimulus}.jsonl",
        description="results/stimuli/{stimulus}.json",
    log:
        "logs/stimuli/{stimulus}.log",
    wildcard_constraints:
        stimulus=rf"(?!({match_only(data.OF_PROBES)})\.)[a-z0-9_+]+",
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
        **settings_of(
            name="{stimulus}",
            sources=of_job(data.sources_of),
            form=of_job(data.form),
            number=of_job(data.number),
            max_train=of_job(data.sizes_of_training_sets),
        ),
        code=code("stimuli"),
    script:
        "../scripts/stimuli.py"
