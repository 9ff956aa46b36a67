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
    """Name the file of inputs, under the script's name for it, and the file that describes
    them."""
    return {name: rows(stimulus), "description": description(stimulus)}


def world(config: Mapping) -> Request:
    return Request(settings=config["world"])


def dataset(config: Mapping, dataset: str) -> Request:
    data, source = config["data"], config["data"]["source"]
    mirrors = {"world": WORLD, "mirror": data.get("mirror"), "hub": None}
    settings = {
        "name": dataset,
        "spec": config["datasets"][dataset],
        "source": source,
        "mirror": mirrors[source],
    }
    return Request({"files": mirror_files(dataset, config)}, settings)


def mirror_of(config: Mapping) -> Path:
    """Return the folder of the user's own data. Raise UserError where data come from it and it
    does not exist."""
    data = config["data"]
    folder = Path(data.get("mirror") or "")
    if data["source"] == "mirror" and not folder.is_dir():
        raise UserError(
            f"data.mirror: {folder.absolute()} is not a folder; write the one that holds the data."
        )
    return folder


def mirror_files(name: str, config: Mapping) -> list[str]:
    """List one file a split: the first candidate in the generated world, the first existing one in
    a user's mirror; none for data of the hub."""
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
    splits = spec.get("mirror", {})
    if data["source"] == "world":
        files = [candidates[0] for candidates in splits.values()]
        if not files or not set(files) <= set(FILES):
            raise UserError(
                f"the generated world has no '{name}'; set data.source to mirror or hub (scale:"
                " small)."
            )
        return [f"{WORLD}/{file}" for file in files]
    alternative = ", or set data.source to hub" if "hub" in spec else ""
    if not splits:
        raise UserError(
            f"config/datasets.yaml: '{name}' has no 'mirror'; write which files below data.mirror"
            f" hold its splits{alternative}."
        )
    root = mirror_of(config)
    files, missing = [], []
    for split, candidates in splits.items():
        existing = [root / file for file in candidates if (root / file).is_file()]
        if existing:
            files.append(str(existing[0]))
        else:
            missing.append(f"{', '.join(candidates)} ({split} split of '{name}')")
    if missing:
        raise UserError(
            f"data.mirror: {root} has none of {'; none of '.join(missing)}; put the file"
            f" there{alternative}."
        )
    return files


def stimuli_of(metric: str, model: Model, reference: Model, config: Mapping) -> list[str]:
    """Name the input sets on which `metric` compares two models: the model's own list under
    `analyses` if there is one, else the metric's list there, by default `own`.

    `own` becomes the task last fine-tuned on; for two models of two tasks, both (`rte+mnli`, Hao
    et al. 2020, section 4.2); for two pretrained checkpoints, the first text stimulus.
    """
    tasks = {model.task, reference.task} - {None}
    own_inputs = "+".join(sorted(tasks)) if tasks else next(iter(config["stimuli"]))
    analysis = config["analyses"].get(metric, {"stimuli": ["own"]})
    names = analysis.get("per_model", {}).get(str(model), analysis["stimuli"])
    return unique(own_inputs if name == "own" else name for name in names)


def sources_of(stimulus: str, config: Mapping) -> list[tuple[str, str]]:
    """List (data set, split) of every source of an input set, first the one that inputs are drawn
    from.

    Raise UserError for a name that is neither stimulus nor task.
    """
    if stimulus in config["stimuli"]:
        entry = config["stimuli"][stimulus]
        sources = [(entry["dataset"], entry["split"])]
        if "like" in entry:
            sources += sources_of(entry["like"], config)
        return sources
    tasks = stimulus.split("+")
    for task in tasks:
        if task not in config["tasks"]:
            names = ", ".join([*config["stimuli"], *config["tasks"]])
            raise UserError(
                f"stimuli '{stimulus}': '{task}' is neither a stimulus nor a task; write one of"
                f" {names}."
            )
    return [(config["tasks"][task]["dataset"], "dev") for task in tasks]


def stimuli(config: Mapping, stimulus: str) -> Request:
    form = config["stimuli"].get(stimulus, {}).get("form", "inputs")
    if form in ["sentences", "consecutive_pairs"]:
        size = "text"
    elif "+" in stimulus:
        size = "combined"
    else:
        size = "task"
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
