"""Which tables a figure reads: functions of the figure's entry in the configuration."""

from collections.abc import Callable, Mapping

from bertshift.errors import UserError
from bertshift.naming import NULLS, Model

Tables = Callable[[Mapping], list[str]]


def per_model(*patterns: str) -> Tables:
    """Name a table of each model for every pattern. Patterns hold the `{model}`, the checkpoint
    `{base}` that its name ends with, and keys of the entry, such as `{reference}`."""

    def tables(entry: Mapping) -> list[str]:
        paths = []
        for model in entry["models"]:
            names = {**entry, "model": model, "base": Model.of(model).base}
            paths += [pattern.format(**names) for pattern in patterns]
        return paths

    return tables


def with_own_base(*metrics: str) -> Tables:
    """Name a table of each model against the checkpoint that its name ends with."""
    parts = [per_model(f"results/{metric}/{{model}}_vs_{{base}}.tsv") for metric in metrics]
    return combined(*parts)


def grounded(entry: Mapping) -> list[str]:
    """Name one table for all models of one task and checkpoint, by the plain model of both."""
    models = map(Model.of, entry["models"])
    plain_models = [Model(model.tasks[-1:], base=model.base) for model in models]
    return [f"results/grounding/{model}.tsv" for model in dict.fromkeys(plain_models)]


def between_tasks(metric: str) -> Tables:
    """Name a table of each pair of models, then of each model's own seeds."""
    seeds = per_model(f"results/{metric}/{{model}}_vs_{{model}}.tsv")

    def tables(entry: Mapping) -> list[str]:
        pairs = [f"results/{metric}/{model}_vs_{other}.tsv" for model, other in entry["pairs"]]
        return pairs + seeds(entry)

    return tables


def probed(entry: Mapping) -> list[str]:
    """Name tables of edge probes of the models under `probed`, if there are any, against the
    checkpoint that their names end with."""
    return with_own_base("edge_probes")({"models": entry.get("probed", [])})


def with_reference(metric: str, *variants: str) -> Tables:
    """Name a table of the reference, of these variants of it, and of each model by itself."""

    def tables(entry: Mapping) -> list[str]:
        references = [entry["reference"] + variant for variant in ("", *variants)]
        return [f"results/{metric}/{model}.tsv" for model in [*references, *entry["models"]]]

    return tables


def over_training(*metrics: str) -> Tables:
    """Name tables of each model and of its snapshots against its parent, and of the nulls of each,
    the scores of each, and the losses of the model."""

    def tables(entry: Mapping) -> list[str]:
        paths = []
        for model in plain_names(entry):
            snapshots = [model.plus(f"at{share}") for share in sorted(entry["snapshots"])]
            names = [*snapshots, model]
            compared = list(names)
            for null in NULLS:
                if str(model) in entry[null]["of"]:
                    compared += [name.plus(null) for name in names]
            for metric in metrics:
                paths += [f"results/{metric}/{name}_vs_{model.parent}.tsv" for name in compared]
            paths += [f"results/scores/{name}.tsv" for name in names]
            paths.append(f"results/losses/{model}.tsv")
        return paths

    return tables


def beside_nulls(tables: Tables, *metrics: str) -> Tables:
    """Name `tables`, and those of these metrics for the nulls that the configuration names for its
    models."""

    def tables_with_nulls(entry: Mapping) -> list[str]:
        paths = tables(entry)
        models = [
            str(Model.of(model).plus(null))
            for model in entry["models"]
            for null in NULLS
            if model in entry[null]["of"]
        ]
        if models:
            null_paths = tables({**entry, "models": models})
            paths += [path for path in null_paths if path.split("/")[1] in metrics]
        return paths

    return tables_with_nulls


def combined(*parts: Tables) -> Tables:
    """Name the tables of all `parts`, in this order."""
    return lambda entry: [path for part in parts for path in part(entry)]


def plain_names(entry: Mapping) -> list[Model]:
    """List the models from whose names others are derived; UserError for one with variants."""
    models = [Model.of(name) for name in entry["models"]]
    for model in models:
        if model.variants:
            variants = "".join("." + variant.text for variant in model.variants)
            raise UserError(
                f"'{model}' has {variants}, and this figure derives other models from each; name a"
                f" plain task's model, such as '{model.plain}'."
            )
    return models
