"""Corpora of edge tasks, sentences for probes, and probes."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.naming import parse_comparison, parse_model
from bertshift.replicates import pair_runs, runs_of
from bertshift.requests import Request
from bertshift.requests.data import WORLD, dataset_files, described, mirror_of
from bertshift.requests.runs import files, replicates_of, table_inputs, unique
from demo_world.files import FILES

# The fewest probes of a pretrained model: their noise is in every difference to it.
PARENT_SEEDS = 3
EDGES = "results/edges/{task}"
CORPORA = "results/corpora"


def place(address: str) -> str:
    """Say where below CORPORA a download lies: its address without the scheme."""
    return address.partition("://")[2]


def downloads(config: Mapping) -> dict[str, dict]:
    """Collect the downloads of the catalogue's entries, by their places."""
    each = [
        one for spec in config["edge_sets"].values() for one in spec.get("download", {}).values()
    ]
    return {place(one["url"]): one for one in [*each, config["relations"]["download"]]}


def corpus(config: Mapping, path: str) -> Request:
    return Request(settings={"sha256": None, **downloads(config)[path]})


def edge_set(task: str, config: Mapping) -> Mapping:
    return config["edge_sets"][config["edge_tasks"][task]]


def generated(name: str, config: Mapping) -> bool:
    return set(config["edge_sets"][name]["files"].values()) <= set(FILES)


def check_generated(config: Mapping) -> None:
    """Raise UserError for edge sets that the generated world does not have, of all edge tasks at
    once."""
    absent = {
        task: name for task, name in config["edge_tasks"].items() if not generated(name, config)
    }
    if absent:
        tasks = [config["edge_sets"][name]["task"] for name in absent.values()]
        sets = config["edge_sets"].items()
        instead = [
            name for name, spec in sets if generated(name, config) and spec["task"] in tasks
        ]
        raise UserError(
            f"edge_tasks.{', '.join(absent)}: the generated world has no"
            f" {', '.join(unique(absent.values()))}; write {', '.join(instead)}, or set"
            " data.source to mirror or hub (scale: small)."
        )


def edge_corpus(task: str, config: Mapping) -> tuple[str, str, dict[str, str]]:
    """Locate a task's corpus: (origin, folder, files in it).
    Snakemake makes the world's files, a mirror has the others, or they are downloaded."""
    spec, data = edge_set(task, config), config["data"]
    if data["source"] == "world":
        check_generated(config)
        return "world", WORLD, spec["files"]
    mirror = mirror_of(config)
    offered = {part: place(each["url"]) for part, each in spec.get("download", {}).items()}
    # A mirror may hold downloads too, where they lie below results/corpora.
    for found in filter(None, [spec["files"], offered]):
        if all((mirror / file).exists() for file in found.values()):
            return "mirror", str(mirror), found
    if data["source"] == "hub" and offered:
        return "hub", CORPORA, offered
    name = config["edge_tasks"][task]
    if generated(name, config):
        raise UserError(
            f"edge_tasks.{task}: only the generated world has {name}; write a corpus of "
            "config/edges.yaml, or set data.source to world."
        )
    missing = [mirror / file for file in spec["files"].values() if not (mirror / file).exists()]
    put = f"fetch it from {spec['url']} and put it" if "url" in spec else "put it"
    raise UserError(
        f"edge_tasks.{task}: {name} needs {', '.join(map(str, missing))}; {put} there, or set "
        "data.mirror to the folder that holds it."
    )


def edges(config: Mapping, task: str) -> Request:
    origin, root, parts = edge_corpus(task, config)
    spec = {key: value for key, value in edge_set(task, config).items() if key != "download"}
    found = [str(Path(root) / file) for file in parts.values()]
    return Request(
        {"files": found},
        {
            "name": config["edge_tasks"][task],
            "spec": {**spec, "files": parts},
            "root": root,
            "origin": origin,
        },
    )


def edge_tasks(config: Mapping) -> dict[str, str]:
    """Name the folder of each task's records."""
    return {task: EDGES.format(task=task) for task in config["edge_tasks"]}


def edge_sidecars(config: Mapping) -> list[str]:
    """Name the sidecar of each edge task: where it is, the three splits are whole."""
    return [f"{folder}/edges.json" for folder in edge_tasks(config).values()]


def edge_sentences(config: Mapping) -> Request:
    return Request(
        {"sidecars": edge_sidecars(config)},
        {"tasks": edge_tasks(config), "probe": config["probes"]["edge"]},
    )


def trees(config: Mapping) -> Request:
    sizes = {"train": config["probes"]["structural"].get("max_train")}
    return Request(dataset_files(config["treebank"]), {"sizes": sizes})


def parent_seeds(config: Mapping, base: str) -> int:
    """Count the probe seeds of a checkpoint: one for each fine-tuning seed, at least
    PARENT_SEEDS."""
    own = config["bases"][base]["seeds"]
    return max(PARENT_SEEDS, *(task.get("seeds") or own for task in config["tasks"].values()))


def _probe(config: Mapping, kind: str, model: str, stimuli: str) -> Request:
    """Ask for what every kind of probe needs."""
    model = parse_model(model, config)
    runs = runs_of(model, config)
    # Online codes are made of edge probes, and trained as these unless the configuration says
    # otherwise.
    shared = config["probes"]["edge"] if kind == "mdl" else {}
    labels = {"edges": edge_sidecars(config)} if stimuli == "edges" else {}
    seeds = {"parent_seeds": parent_seeds(config, model.base), "pretrained": model.is_checkpoint}
    probe = {**shared, **config["probes"][kind], **seeds}
    return table_inputs(model, config).plus(
        described("sentences", stimuli) | {"models": files(runs)} | labels,
        probe=probe,
        tasks=edge_tasks(config),
        runs=replicates_of(runs),
        folders={run.name: run.folder for run in runs},
        max_length=config["samples"]["max_length"],
    )


def edge_probes(config: Mapping, model: str) -> Request:
    lexical = ["lexical", "word_only"] if parse_model(model, config).is_checkpoint else []
    return _probe(config, "edge", model, "edges").plus(variants=["mix", "top", *lexical])


def edge_probe_deltas(config: Mapping, model: str, reference: str) -> Request:
    pairs = pair_runs(*parse_comparison(model, reference, config), config)
    sides, folder = {"model": model, "reference": reference}, "results/edge_probes"
    counts = {side: f"{folder}/{name}.npz" for side, name in sides.items()}
    return Request(
        counts | {"table": f"{folder}/{model}.tsv"},
        sides | {"pairs": [[[run.init, run.seed] for run in pair] for pair in pairs]},
    )


def mdl(config: Mapping, model: str) -> Request:
    return _probe(config, "mdl", model, "edges")


def structural_probes(config: Mapping, model: str) -> Request:
    return _probe(config, "structural", model, "trees")
