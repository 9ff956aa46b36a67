"""Corpora of edge tasks, sentences for probes, and probes."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.naming import Model, parse_model
from bertshift.replicates import seeds_of
from bertshift.requests.data import WORLD, mirror_of
from bertshift.requests.runs import unique
from demo_world.files import FILES

# The minimum of probes of a pretrained model: their noise enters every difference from it.
PARENT_SEEDS = 3
CORPORA = "results/corpora"


def download_path(url: str) -> str:
    """Return the path of a download below CORPORA: its URL without the scheme."""
    return url.partition("://")[2]


def downloads(config: Mapping) -> dict[str, dict]:
    """Collect the downloads of the catalogue's entries, by their paths below CORPORA."""
    entries = []
    for spec in config["edge_sets"].values():
        entries += spec.get("download", {}).values()
    entries.append(config["relations"]["download"])
    return {download_path(entry["url"]): entry for entry in entries}


def edge_set(task: str, config: Mapping) -> Mapping:
    return config["edge_sets"][config["edge_tasks"][task]]


def generated(name: str, config: Mapping) -> bool:
    return set(config["edge_sets"][name]["files"].values()) <= set(FILES)


def check_generated(config: Mapping) -> None:
    """Raise one UserError for all edge tasks whose edge sets the generated world does not have."""
    edge_sets = config["edge_sets"]
    missing = {
        task: name for task, name in config["edge_tasks"].items() if not generated(name, config)
    }
    if missing:
        tasks = {edge_sets[name]["task"] for name in missing.values()}
        alternatives = [
            name
            for name, spec in edge_sets.items()
            if spec["task"] in tasks and generated(name, config)
        ]
        raise UserError(
            f"edge_tasks.{', '.join(missing)}: the generated world has no"
            f" {', '.join(unique(missing.values()))}; write {', '.join(alternatives)}, or set"
            " data.source to mirror or hub (scale: small)."
        )


def edge_corpus(task: str, config: Mapping) -> tuple[str, str, dict[str, str]]:
    """Locate a task's corpus: (origin, folder, files in it).
    Snakemake makes the world's files, a mirror has the others, or they are downloaded."""
    spec, name = edge_set(task, config), config["edge_tasks"][task]
    if config["data"]["source"] == "world":
        check_generated(config)
        return "world", WORLD, spec["files"]
    if corpus := _find_corpus(spec, config):
        return corpus
    others = [
        other
        for other, other_spec in config["edge_sets"].items()
        if other_spec["task"] == spec["task"] and _find_corpus(other_spec, config)
    ]
    exchange = f"write {' or '.join(others)}, which can be had here, or " if others else ""
    if generated(name, config) and "download" not in spec:
        raise UserError(
            f"edge_tasks.{task}: only the generated world has {name}; {exchange}write another"
            " corpus of config/edges.yaml, or set data.source to world."
        )
    paths = [mirror_of(config) / file for file in spec["files"].values()]
    missing = [str(path) for path in paths if not path.exists()]
    advice = f"fetch it from {spec['url']} and put it" if "url" in spec else "put it"
    raise UserError(
        f"edge_tasks.{task}: {name} needs {', '.join(missing)}; {exchange}{advice} there, or set"
        " data.mirror to the folder that holds it."
    )


def _find_corpus(spec: Mapping, config: Mapping) -> tuple[str, str, dict[str, str]] | None:
    """Locate an edge set in the mirror or on the network, as `edge_corpus` does, or nowhere."""
    mirror = mirror_of(config)
    downloaded = {
        part: download_path(entry["url"]) for part, entry in spec.get("download", {}).items()
    }
    # A mirror may hold downloads too, under the paths that they have below results/corpora.
    for parts in (spec["files"], downloaded):
        if parts and all((mirror / file).exists() for file in parts.values()):
            return "mirror", str(mirror), parts
    if config["data"]["source"] == "hub" and downloaded:
        return "hub", CORPORA, downloaded
    return None


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
