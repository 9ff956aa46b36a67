"""Which tables a figure reads: functions of the figure's entry in the configuration."""

from collections.abc import Callable, Mapping

from bertshift.errors import UserError
from bertshift.naming import Name, noise_variants

Tables = Callable[[Mapping], list[str]]


def each(*patterns: str) -> Tables:
    """Name a table of each model for every pattern. Patterns hold the `{model}`, the checkpoint
    `{base}` that its name ends with, and keys of the entry, such as `{reference}`."""

    def tables(wanted: Mapping) -> list[str]:
        said = [{"model": model, "base": Name.of(model).base} for model in wanted["models"]]
        return [pattern.format(**{**wanted, **names}) for names in said for pattern in patterns]

    return tables


def alone(metric: str) -> Tables:
    """Name a table of each model by itself."""
    return each(f"results/{metric}/{{model}}.tsv")


def with_own_base(*metrics: str) -> Tables:
    """Name a table of each model against the checkpoint that its name ends with."""
    return both(*(each(f"results/{metric}/{{model}}_vs_{{base}}.tsv") for metric in metrics))


def grounded(wanted: Mapping) -> list[str]:
    """Name one table for all models of one task and checkpoint, by the plain model of both."""
    names = map(Name.of, wanted["models"])
    return [
        f"results/grounding/{alone}.tsv"
        for alone in dict.fromkeys(
            Name((name.task,), explicit_base=name.explicit_base) for name in names
        )
    ]


def between_tasks(metric: str) -> Tables:
    """Name a table of each pair of models, and beside them the models' own seeds."""
    seeds = each(f"results/{metric}/{{model}}_vs_{{model}}.tsv")
    return lambda wanted: [
        *(f"results/{metric}/{model}_vs_{other}.tsv" for model, other in wanted["pairs"]),
        *seeds(wanted),
    ]


def probed(wanted: Mapping) -> list[str]:
    """Name tables of edge probes of the models under `probed`, if there are any, against the
    checkpoint that their names end with."""
    return with_own_base("edge_probes")({"models": wanted.get("probed", [])})


def with_reference(metric: str, *variants: str) -> Tables:
    """Name a table of the reference, of these variants of it, and of each model by itself."""
    return lambda wanted: [
        f"results/{metric}/{model}.tsv"
        for model in [
            wanted["reference"],
            *(wanted["reference"] + v for v in variants),
            *wanted["models"],
        ]
    ]


def over_training(*metrics: str) -> Tables:
    """Name tables of each model and of its snapshots against its parent, and of the noise of each,
    the scores of each, and the losses of the model."""

    def tables(wanted: Mapping) -> list[str]:
        paths = []
        for whole in plain(wanted):
            names = [*(whole.plus(f"at{share}") for share in sorted(wanted["snapshots"])), whole]
            noise = [name.plus("noise") for name in names if str(whole) in wanted["noise"]["of"]]
            paths += [
                f"results/{metric}/{name}_vs_{whole.start}.tsv"
                for metric in metrics
                for name in names + noise
            ]
            paths += [
                *(f"results/scores/{name}.tsv" for name in names),
                f"results/losses/{whole}.tsv",
            ]
        return paths

    return tables


def beside_noise(tables: Tables, *metrics: str) -> Tables:
    """Name tables, and those of these metrics for the noise of each size that the configuration
    names beside its models."""

    def named(wanted: Mapping) -> list[str]:
        noise = wanted["noise"]
        models = [
            str(Name.of(model).plus(variant))
            for model in wanted["models"]
            if model in noise["of"]
            for variant in noise_variants(noise["times"])
        ]
        made = tables({**wanted, "models": models}) if models else []
        return [*tables(wanted), *(path for path in made if path.split("/")[1] in metrics)]

    return named


def both(*parts: Tables) -> Tables:
    """Name what each of `parts` names, in this order."""
    return lambda wanted: [path for part in parts for path in part(wanted)]


def plain(wanted: Mapping) -> list[Name]:
    """List the models whose names others are built of; UserError for one with variants."""
    names = [Name.of(model) for model in wanted["models"]]
    for name in names:
        if name.variants:
            raise UserError(
                f"'{name}' has .{'.'.join(name.variants)}, and this figure derives other models"
                f" from each; name a plain task's model, such as '{name.plain}'."
            )
    return names
