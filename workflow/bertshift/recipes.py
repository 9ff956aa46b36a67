"""How a model is fine-tuned: its task's settings under a configuration, with those of its
checkpoint and variants."""

from collections.abc import Mapping

from bertshift.naming import Model


def task_settings(model: Model, config: Mapping) -> dict:
    """Return the settings of the last fine-tuning of `model`: {"task": what is learned,
    "training": how}.

    The scale's `training` comes first, then the task's own keys, then its `per_base` entry, then
    the scale's `per_variant` ones; a later one replaces an earlier one. The learning rate is
    multiplied by the checkpoint's own `learning_rate_scale`, where it has one, else by the
    scale's. `.plateau` goes on until the loss does not fall (`training.plateau`), at a constant
    rate after the warm-up. `.lora8` has a learning rate of its own (`training.lora`), in the place
    of the task's, and `lora_alpha` and `lora_dropout`. `.bertadam` is Kovaleva et al. 2019 as
    their code trained: the first BERT optimiser, without bias correction, at 5e-5.
    """
    task = config["tasks"][model.task]
    # Keys of a task have no default, so a null was written: all examples, whatever the scale says.
    merged = config["training"] | task | task["per_base"].get(model.base, {})
    for variant in model.variants:
        merged |= config["training"]["per_variant"].get(variant.kind, {})
    if model.variant("bertadam"):
        merged |= {"learning_rate": 5e-5, "optimizer": "bertadam", "schedule": "bert_linear"}
    adapters = {}
    if model.variant("lora"):
        lora = config["training"]["lora"]
        merged["learning_rate"] = lora["learning_rate"]
        adapters = {"lora_alpha": lora["alpha"], "lora_dropout": lora["dropout"]}
    if model.variant("plateau"):
        # As many steps of warm-up as without, then a constant rate: a decay would make a plateau
        # of its own.
        most = max(merged["max_epochs"], merged["epochs"])
        merged |= {
            "schedule": "constant",
            "warmup": merged["warmup"] * merged["epochs"] / most,
            "epochs": most,
        }
    else:
        merged["plateau"] = None
    scale = config["bases"][model.base].get("learning_rate_scale", merged["learning_rate_scale"])
    merged["learning_rate"] *= scale
    merged["batch_size"] = max(1, round(merged["batch_size"] * merged["batch_size_scale"]))
    what = (
        "dataset",
        "kind",
        "metrics",
        "max_length",
        "doc_stride",
        "max_query_length",
        "max_train",
        "max_dev",
    )
    how = (
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
            **{key: merged[key] for key in what if merged.get(key) is not None},
        },
        "training": {key: merged[key] for key in how} | adapters,
    }


def train_size(dataset: str, config: Mapping) -> int | None:
    """Count the rows of the split train that every task on this data set learns from, on every
    checkpoint; None: all.

    Where tasks or checkpoints differ it is the least, as `data.examples.sample` draws a small
    sample from within a large one. Models with a variant (`training.per_variant`) and the rows of
    sweeps may learn from fewer.
    """
    sizes = [
        task_settings(Model((task,), (), base), config)["task"].get("max_train")
        for task, entry in config["tasks"].items()
        if entry["dataset"] == dataset
        for base in config["bases"]
    ]
    return min((size for size in sizes if size is not None), default=None)
