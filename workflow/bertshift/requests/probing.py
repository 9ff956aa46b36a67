"""Corpora of edge tasks, sentences for probes, and probes."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.data.sources import edge_corpus, edge_set
from bertshift.naming import Model, parse_model
from bertshift.replicates import seeds_of

# The minimum of probes of a pretrained model: their noise enters every difference from it.
PARENT_SEEDS = 3


def edge_files(config: Mapping, task: str) -> list[str]:
    """Name the files of a task's corpus."""
    _, root, parts = edge_corpus(task, config)
    return [str(Path(root) / file) for file in parts.values()]


def specification(config: Mapping, task: str) -> dict:
    """Return what an edge set's catalogue says, with the files that are there."""
    spec = {**edge_set(task, config), "files": edge_corpus(task, config)[2]}
    spec.pop("download", None)
    return spec


def origin(config: Mapping, task: str) -> str:
    return edge_corpus(task, config)[0]


def root(config: Mapping, task: str) -> str:
    return edge_corpus(task, config)[1]


def edge_tasks(config: Mapping) -> dict[str, str]:
    """Name the folder of each task's records."""
    return {task: f"results/edges/{task}" for task in config["edge_tasks"]}


def parent_seeds(config: Mapping, base: str) -> int:
    """Count the probe seeds of a checkpoint: one for each fine-tuning seed, at least
    PARENT_SEEDS."""
    models = [Model((task,), (), base) for task in config["tasks"]]
    return max(PARENT_SEEDS, *(seeds_of(model, config) for model in models))


def probe(config: Mapping, model: str, kind: str) -> dict:
    """Return how probes of a kind are trained on a model's states."""
    parsed = parse_model(model, config)
    settings = {
        **config["probes"][kind],
        "parent_seeds": parent_seeds(config, parsed.base),
        "pretrained": parsed.is_checkpoint,
    }
    # Online codes use edge probes, trained alike unless the configuration says otherwise.
    return config["probes"]["edge"] | settings if kind == "mdl" else settings


def variants(config: Mapping, model: str) -> list[str]:
    """Name what edge probes read."""
    lexical = ["lexical", "word_only"] if parse_model(model, config).is_checkpoint else []
    return ["mix", "top", *lexical]
