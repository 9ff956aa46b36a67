"""Data sets, and the inputs that models are compared on."""

from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.naming import Model, parse_model
from bertshift.recipes import train_size
from bertshift.requests.runs import unique

# Stimuli with rules of their own: the sentences of all edge tasks, the treebank's, and those with
# relations marked.
OF_PROBES = ["edges", "trees", "relations"]


def of_task(config: Mapping, model: str) -> str:
    """Name the data set of a model's task."""
    return config["tasks"][parse_model(model, config).task]["dataset"]


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


def sources_of(config: Mapping, stimulus: str) -> list[tuple[str, str]]:
    """List (data set, split) of every source of an input set, first the one that inputs are drawn
    from.

    Raise UserError for a name that is neither stimulus nor task.
    """
    if stimulus in config["stimuli"]:
        entry = config["stimuli"][stimulus]
        sources = [(entry["dataset"], entry["split"])]
        if "like" in entry:
            sources += sources_of(config, entry["like"])
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


def datasets_of(config: Mapping, stimulus: str) -> list[str]:
    return unique(name for name, _ in sources_of(config, stimulus))


def form(config: Mapping, stimulus: str) -> str:
    return config["stimuli"].get(stimulus, {}).get("form", "inputs")


def number(config: Mapping, stimulus: str) -> int:
    """Return how many inputs are drawn."""
    if form(config, stimulus) in ["sentences", "consecutive_pairs"]:
        size = "text"
    elif "+" in stimulus:
        size = "combined"
    else:
        size = "task"
    return config["samples"][size]


def sizes_of_training_sets(config: Mapping, stimulus: str) -> dict[str, int | None]:
    """Return by data set how many training examples the inputs are drawn from."""
    return {
        name: train_size(name, config)
        for name, split in sources_of(config, stimulus)
        if split == "train"
    }
