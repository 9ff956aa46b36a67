from bertshift.requests import data
from bertshift.world import generate


# Everything that figures/all needs from a network, and nothing else: the rest runs without one.
rule:
    name:
        "data/all"
    input:
        fetched,


# Models of the demo are pretrained on it, whatever data they are fine-tuned on.
if "world" in config:

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
made_by(data.dataset, **data.dataset_files("{dataset}"), kind=None, log="dataset/{dataset}")
made_by(
    data.stimuli,
    rows="results/stimuli/{stimulus}.jsonl",
    description="results/stimuli/{stimulus}.json",
    kind="table",
    where={"stimulus": rf"(?!({only(data.OF_PROBES)})\.)[a-z0-9_+]+"},
)
