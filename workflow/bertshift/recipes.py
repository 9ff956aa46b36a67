"""The settings of a fine-tuning: those of the task under a configuration, with those of the
checkpoint and the variants."""

from collections.abc import Mapping

from bertshift.naming import Model

# The defaults of the code of Kovaleva et al. 2019.
BERTADAM = {
    "learning_rate": 5e-5,
    "optimizer": "bertadam",
    "schedule": "linear",
    "warmup": 0.1,
    "weight_decay": 0.01,
    "epsilon": None,
}


def task_settings(model: Model, config: Mapping) -> dict:
    """Return the settings of the last fine-tuning of `model`: {"task": the data and the head,
    "training": the optimisation}.

    The scale's `training` comes first, then the task's own keys, then its `per_base` entry, then
    the scale's `per_variant` ones; a later one replaces an earlier one. The learning rate is
    multiplied by the checkpoint's own `learning_rate_scale`, where it has one, else by the
    scale's. `.plateau` continues until the loss stops falling (`training.plateau`), at a constant
    rate after the warm-up. `.lora8` has a learning rate of its own (`training.lora`) instead of
    the task's, and `lora_alpha` and `lora_dropout`. `.bertadam` trains as the code of Kovaleva et
    al. 2019 did: the first BERT optimiser, without bias correction, at 5e-5. That code clipped the
    gradient of each tensor; here the gradient of all tensors is clipped as one.
    """
    task = config["tasks"][model.task]
    # The schema gives keys of a task no default: a null was written by the user, and asks for all
    # examples, whatever the scale says.
    merged = config["training"] | task | task["per_base"].get(model.base, {})
    for variant in model.variants:
        merged |= config["training"]["per_variant"].get(variant.kind, {})
    if model.variant("bertadam"):
        merged |= BERTADAM
    adapters = {}
    if model.variant("lora"):
        lora = config["training"]["lora"]
        merged["learning_rate"] = lora["learning_rate"]
        adapters = {"lora_alpha": lora["alpha"], "lora_dropout": lora["dropout"]}
    if model.variant("plateau"):
        # As many steps of warm-up as without `.plateau`, then a constant rate: a decay would make
        # a plateau by itself.
        epochs = max(merged["max_epochs"], merged["epochs"])
        merged |= {
            "schedule": "constant",
            "warmup": merged["warmup"] * merged["epochs"] / epochs,
            "epochs": epochs,
        }
    else:
        merged["plateau"] = None
    scale = config["bases"][model.base].get("learning_rate_scale", merged["learning_rate_scale"])
    merged["learning_rate"] *= scale
    merged["batch_size"] = max(1, round(merged["batch_size"] * merged["batch_size_scale"]))
    task_keys = (
        "dataset",
        "kind",
        "metrics",
        "max_length",
        "doc_stride",
        "max_query_length",
        "standardise_labels",
        "max_train",
        "max_dev",
    )
    training_keys = (
        "batch_size",
        "epochs",
        "learning_rate",
        "warmup",
        "schedule",
        "optimizer",
        "weight_decay",
        "beta2",
        "epsilon",
        "max_grad_norm",
        "precision",
        "norms_every",
        "checkpoint_minutes",
        "plateau",
    )
    return {
        "task": {
            "name": model.task,
            **{key: merged[key] for key in task_keys if merged.get(key) is not None},
        },
        "training": {key: merged[key] for key in training_keys} | adapters,
    }


def train_size(dataset: str, config: Mapping) -> int | None:
    """Count the rows of the split train that every task on this data set learns from, on every
    checkpoint; None: all.

    Where tasks or checkpoints differ it is the least, as `data.examples.sample` draws a small
    sample from within a large one. Models with a variant (`training.per_variant`) and the rows of
    sweeps may learn from fewer.
    """
    tasks = [name for name, task in config["tasks"].items() if task["dataset"] == dataset]
    models = [Model((task,), (), base) for task in tasks for base in config["bases"]]
    settings = [task_settings(model, config)["task"] for model in models]
    sizes = [task["max_train"] for task in settings if "max_train" in task]
    return min(sizes, default=None)
