from functools import cache

from snakemake.iocontainers import Wildcards
from snakemake.output_index import OutputIndex

from bertshift.running import makers
from bertshift.requests import Request, data
from bertshift.world import generate


@cache
def output_index():
    return OutputIndex(list(workflow.rules))


def makers_of(file):
    return output_index().match_producers(file)


def read_by(maker, file):
    return maker.expand_input(Wildcards(fromdict=maker.get_wildcards(file)))[0] if maker in OURS else []


def fetched(wildcards):
    """The downloads among all that the page of all figures is made from."""
    return sorted(
        makers.origins(
            "results/figures/index.html", lambda rule: OURS.get(rule) in FETCHING, makers_of, read_by
        )
    )


# Everything that figures/all needs from a network, and nothing else: the rest runs without one.
rule:
    name:
        "data/all"
    input:
        fetched,


# Models of the demo are pretrained on it, whatever data they are fine-tuned on.
if "world" in config:

    made_by(
        lambda config: Request(settings=config["world"]),
        *[f"{data.WORLD}/{file}" for file in generate.FILES],
        name="world",
        kind=None,
        log="world",
    )


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
