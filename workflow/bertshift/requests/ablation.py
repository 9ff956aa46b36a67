"""Parts of a fine-tuned model disabled, or given back the weights that they had before."""

from collections.abc import Mapping

from bertshift.measures.registry import METRICS
from bertshift.recipes import task_settings
from bertshift.requests import Request
from bertshift.requests.data import described, task_data
from bertshift.requests.runs import (
    against,
    by_folder,
    files,
    in_pairs,
    provenance,
    runs_and_parents,
    scored_model,
)
from bertshift.requests.work import Sizes, Work


def ablation(config: Mapping, model: str) -> Request:
    model, runs = scored_model(model, config)
    inputs = {"models": files(runs), "scores": files(runs, ["scores.json"])}
    task, how = task_settings(model, config)["task"], config["ablation"]

    def work(sizes: Sizes) -> Work:
        """Say what ablation computes. A pass starts at the changed layer, so half of the layers are passed."""
        shape, whole = sizes.shape(str(model)), sizes.split(task, "dev")
        sample = sizes.split(task, "dev", how["max_dev"])
        times = len(how["variants"]) * shape.layers * (shape.heads + 1) / 2
        again = 2 * how["confirm"] if sample < whole else 0
        return (shape.passes([sample], times) + shape.passes([whole], again)) * len(runs)

    return Request(
        inputs | task_data(model, config),
        provenance(model, config) | {"task": task, "ablation": how, "runs": by_folder(runs)},
        work,
    )


def restored(config: Mapping, model: str) -> Request:
    model, pairs = runs_and_parents(model, config)
    samples = config["samples"]
    inputs = {"models": files(in_pairs(pairs))} | task_data(model, config) | described("stimuli", model.task)
    task, most = task_settings(model, config)["task"], config["ablation"]["max_dev"]

    def work(sizes: Sizes) -> Work:
        """Say what a score and SVCCA for each layer take. Half of the layers are passed."""
        shape, inputs = sizes.shape(str(model)), sizes.inputs([model.task])
        scored = shape.passes([sizes.split(task, "dev", most), *inputs], (shape.layers + 1) / 2 * len(pairs))
        return scored + shape.compared(inputs, METRICS["svcca"], len(pairs), samples["svcca_tokens"])

    asked = against(model.parent, model, pairs, config).plus(
        inputs,
        task=task,
        stimuli=model.task,
        tokens=samples["svcca_tokens"],
        max_length=samples["max_length"],
        max_dev=most,
    )
    return asked.costing(work)
