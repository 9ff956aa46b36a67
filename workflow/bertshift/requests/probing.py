"""Corpora of edge tasks, sentences for probes, and probes."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.naming import Model, parse_comparison, parse_model
from bertshift.replicates import pair_runs, runs_of, seeds_of
from bertshift.requests import Request
from bertshift.requests.data import WORLD, dataset_files, described, mirror_of
from bertshift.requests.runs import files, replicates_of, table_inputs, unique
from demo_world.files import FILES

# The minimum of probes of a pretrained model: their noise enters every difference from it.
PARENT_SEEDS = 3
EDGES = "results/edges/{task}"
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


def corpus(config: Mapping, path: str) -> Request:
    return Request(settings={"sha256": None, **downloads(config)[path]})


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


def edges(config: Mapping, task: str) -> Request:
    origin, root, parts = edge_corpus(task, config)
    spec = {**edge_set(task, config), "files": parts}
    spec.pop("download", None)
    return Request(
        {"files": [str(Path(root) / file) for file in parts.values()]},
        {
            "name": config["edge_tasks"][task],
            "spec": spec,
            "root": root,
            "origin": origin,
        },
    )


def edge_tasks(config: Mapping) -> dict[str, str]:
    """Name the folder of each task's records."""
    return {task: EDGES.format(task=task) for task in config["edge_tasks"]}


def edge_files(config: Mapping) -> list[str]:
    """Name the records of each edge task, by split, and the file that describes them."""
    names = ["train.jsonl", "dev.jsonl", "test.jsonl", "edges.json"]
    return [f"{folder}/{name}" for folder in edge_tasks(config).values() for name in names]


def edge_sentences(config: Mapping) -> Request:
    return Request(
        {"edges": edge_files(config)},
        {"tasks": edge_tasks(config), "probe": config["probes"]["edge"]},
    )


def trees(config: Mapping) -> Request:
    sizes = {"train": config["probes"]["structural"].get("max_train")}
    return Request(dataset_files(config["treebank"]), {"sizes": sizes})


def parent_seeds(config: Mapping, base: str) -> int:
    """Count the probe seeds of a checkpoint: one for each fine-tuning seed, at least
    PARENT_SEEDS."""
    models = [Model((task,), (), base) for task in config["tasks"]]
    return max(PARENT_SEEDS, *(seeds_of(model, config) for model in models))


def _probe(config: Mapping, kind: str, model: str, stimuli: str) -> Request:
    """Ask for the files and settings that every kind of probe needs."""
    model = parse_model(model, config)
    runs = runs_of(model, config)
    probe = {
        **config["probes"][kind],
        "parent_seeds": parent_seeds(config, model.base),
        "pretrained": model.is_checkpoint,
    }
    if kind == "mdl":
        # Online codes use edge probes, trained in the same way unless the configuration says
        # otherwise.
        probe = config["probes"]["edge"] | probe
    inputs = {**described("sentences", stimuli), "models": files(runs)}
    if stimuli == "edges":
        inputs["edges"] = edge_files(config)
    return table_inputs(model, config).plus(
        inputs,
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
    folder = "results/edge_probes"
    return Request(
        {
            "model": f"{folder}/{model}.npz",
            "reference": f"{folder}/{reference}.npz",
            "table": f"{folder}/{model}.tsv",
        },
        {
            "model": model,
            "reference": reference,
            "pairs": [[[run.init, run.seed] for run in pair] for pair in pairs],
        },
    )


def mdl(config: Mapping, model: str) -> Request:
    return _probe(config, "mdl", model, "edges")


def structural_probes(config: Mapping, model: str) -> Request:
    return _probe(config, "structural", model, "trees")
