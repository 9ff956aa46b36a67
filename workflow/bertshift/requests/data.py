"""Data sets, and the inputs that models are compared on."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.naming import Model
from bertshift.recipes import train_size
from bertshift.requests import Request
from bertshift.requests.runs import unique
from demo_world.files import FILES

WORLD = "results/world"
# Stimuli with rules of their own: the sentences of all edge tasks, the treebank's, and those with
# relations marked.
OF_PROBES = ["edges", "trees", "relations"]


def sidecar(dataset: str) -> str:
    return f"results/data/{dataset}/dataset.json"


def examples(dataset: str) -> str:
    return f"results/data/{dataset}/examples.jsonl"


def dataset_files(name: str) -> dict[str, str]:
    return {"examples": examples(name), "sidecar": sidecar(name)}


def task_data(model: Model, config: Mapping) -> dict[str, str]:
    """Name the files of the data set of the model's task."""
    return dataset_files(config["tasks"][model.task]["dataset"])


def rows(stimulus: str) -> str:
    return f"results/stimuli/{stimulus}.jsonl"


def description(stimulus: str) -> str:
    return f"results/stimuli/{stimulus}.json"


def described(name: str, stimulus: str) -> dict[str, str]:
    """Name the file of inputs, which a script calls `name`, and the file that describes them."""
    return {name: rows(stimulus), "description": description(stimulus)}


def world(config: Mapping) -> Request:
    return Request(settings=config["world"])


def dataset(config: Mapping, dataset: str) -> Request:
    data, source = config["data"], config["data"]["source"]
    settings = {
        "name": dataset,
        "spec": config["datasets"][dataset],
        "source": source,
        "mirror": {"world": WORLD, "mirror": data.get("mirror"), "hub": None}[source],
        "cache": data["cache"] if source == "hub" else None,
    }
    return Request({"files": mirror_files(dataset, config)}, settings)


def mirror_of(config: Mapping) -> Path:
    """Return the folder of the user's own data. Raise UserError where data come from it and it is
    no folder."""
    data = config["data"]
    folder = Path(data.get("mirror") or "")
    if data["source"] == "mirror" and not folder.is_dir():
        raise UserError(
            f"data.mirror: {folder.absolute()} is not a folder; write the one that holds the data."
        )
    return folder


def mirror_files(name: str, config: Mapping) -> list[str]:
    """List one file a split: the first candidate in the generated world, the first that exists in
    a user's mirror."""
    spec, data = config["datasets"].get(name), config["data"]
    if spec is None:
        raise UserError(
            f"no data set '{name}'; config/datasets.yaml has {', '.join(config['datasets'])}."
        )
    if data["source"] == "hub":
        if "hub" not in spec:
            raise UserError(
                f"config/datasets.yaml: '{name}' has no 'hub'; write where on the hub it is, or"
                " set data.source to mirror."
            )
        return []
    splits, instead = (
        spec.get("mirror", {}),
        ", or set data.source to hub" if "hub" in spec else "",
    )
    if data["source"] == "world":
        files = [candidates[0] for candidates in splits.values()]
        if not files or not set(files) <= set(FILES):
            raise UserError(
                f"the generated world has no '{name}'; set data.source to mirror or hub (scale:"
                " small)."
            )
        return [f"{WORLD}/{file}" for file in files]
    if not splits:
        raise UserError(
            f"config/datasets.yaml: '{name}' has no 'mirror'; write which files below data.mirror"
            f" hold its splits{instead}."
        )
    root = mirror_of(config)
    found = {
        split: [root / file for file in files if (root / file).is_file()]
        for split, files in splits.items()
    }
    if missing := [split for split, files in found.items() if not files]:
        files = "; none of ".join(
            f"{', '.join(splits[split])} ({split} split of '{name}')" for split in missing
        )
        raise UserError(f"data.mirror: {root} has none of {files}; put the file there{instead}.")
    return [str(files[0]) for files in found.values()]


def stimuli_of(metric: str, model: Model, reference: Model, config: Mapping) -> list[str]:
    """Name the input sets on which `metric` compares two models: the model's own list under
    `analyses` if there is one, else the metric's list there, by default `own`.

    `own` becomes the task last fine-tuned on; for two models of two tasks, both (`rte+mnli`, Hao
    et al. 2020, section 4.2); for two pretrained checkpoints, the first text stimulus.
    """
    tasks = sorted({each.task for each in (model, reference) if each.task})
    own = "+".join(tasks) or next(iter(config["stimuli"]))
    analysis = config["analyses"].get(metric, {"stimuli": ["own"]})
    names = analysis.get("per_model", {}).get(str(model), analysis["stimuli"])
    return list(dict.fromkeys(own if name == "own" else name for name in names))


def sources_of(stimulus: str, config: Mapping) -> list[tuple[str, str]]:
    """List (data set, split) of every source of an input set, first the one that inputs are drawn
    from.

    Raise UserError for a name that is neither stimulus nor task.
    """
    if stimulus in config["stimuli"]:
        entry = config["stimuli"][stimulus]
        text = (entry["dataset"], entry["split"])
        return [text, *(sources_of(entry["like"], config) if "like" in entry else [])]
    parts = stimulus.split("+")
    for part in parts:
        if part not in config["tasks"]:
            known = ", ".join([*config["stimuli"], *config["tasks"]])
            raise UserError(
                f"stimuli '{stimulus}': '{part}' is neither a stimulus nor a task; write one of"
                f" {known}."
            )
    return [(config["tasks"][part]["dataset"], "dev") for part in parts]


def stimuli(config: Mapping, stimulus: str) -> Request:
    form = config["stimuli"].get(stimulus, {}).get("form", "inputs")
    text = form in ["sentences", "consecutive_pairs"]
    size = "text" if text else "combined" if "+" in stimulus else "task"
    sources = sources_of(stimulus, config)
    names = unique(name for name, _ in sources)
    return Request(
        {"examples": list(map(examples, names)), "sidecars": list(map(sidecar, names))},
        {
            "name": stimulus,
            "sources": sources,
            "form": form,
            "number": config["samples"][size],
            "max_train": {
                name: train_size(name, config) for name, split in sources if split == "train"
            },
        },
    )
