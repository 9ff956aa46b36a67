"""Rows of runs that differ in one thing, such as the number of frozen layers."""

from collections.abc import Mapping
from typing import NamedTuple

from bertshift.errors import UserError
from bertshift.models.shapes import shape_of_model
from bertshift.naming import Model, Run, parse_model, shape_of
from bertshift.replicates import runs_of, sweep_of, sweep_runs_of
from bertshift.requests.finetuning import settings_of_run
from bertshift.requests.runs import checkpoints, run_named, scored, unique


class Member(NamedTuple):
    """One run of a row, and its position on the axis."""

    position: int
    run: Run


def samples(task: str, config: Mapping) -> dict[str, int]:
    """Return the sizes `max_train` and `max_dev` of a task's rows, where there are any."""
    sweeps = config["sweeps"]
    settings = sweeps | sweeps["tasks"].get(task, {})
    return {
        key: settings[key] for key in ("max_train", "max_dev") if settings.get(key) is not None
    }


class Row(NamedTuple):
    """Runs that differ in one thing, by their names; plain: those that `finetune` makes with the
    same settings, replicates of the plain model."""

    run: Run
    members: dict[str, Member]
    plain: dict[str, Run]


def row(config: Mapping, model: str, sweep: str, init: str, seed: str) -> Row:
    run = run_named(config, model, init, seed)
    if run not in sweep_runs_of(run.model, config):
        raise UserError(
            f"'{model}.{sweep}' has no replicate {run.name}; raise sweeps.seeds or "
            f"sweeps.pretraining_runs, or those of sweeps.per_base.{run.model.base}."
        )
    members = {}
    for position, member in sweep_of(run, sweep, config):
        name = str(member.model)
        if member.seed != run.seed:
            name += f"_seed{member.seed}"
        members[name] = Member(position, member)
    return Row(run, members, _select_plain(run.model, members, config))


def _select_plain(model: Model, members: Mapping[str, Member], config: Mapping) -> dict[str, Run]:
    runs = runs_of(model, config)
    task = settings_of_run(runs[0], config)["task"]
    if task | samples(model.task, config) != task:
        return {}
    return {name: member.run for name, member in members.items() if member.run in runs}


def plain_runs(config: Mapping, row: Row) -> list[Run]:
    return list(row.plain.values())


def folders_of_plain(config: Mapping, row: Row) -> dict[str, str]:
    return {name: run.folder for name, run in row.plain.items()}


def settings_of_runs(config: Mapping, row: Row) -> dict[str, dict]:
    """Return by name the settings of the runs that a row's job trains."""
    runs = {}
    for name, member in row.members.items():
        if name not in row.plain:
            runs[name] = settings_of_run(member.run, config)
            runs[name]["task"] |= samples(member.run.model.task, config)
    return runs


def described_members(config: Mapping, row: Row) -> dict[str, dict]:
    return {
        name: {
            "model": str(member.run.model),
            "init": member.run.init,
            "seed": member.run.seed,
            "position": member.position,
        }
        for name, member in row.members.items()
    }


def layers(config: Mapping, model: str) -> int:
    return shape_of(config["bases"][parse_model(model, config).base])["layers"]


def provenance(config: Mapping, row: Row) -> dict:
    """Collect what the rows of a row's table say about its runs."""
    run = row.run
    return {
        "model": str(run.model),
        "task": run.model.task,
        "runs": [[run.init, run.seed]],
        "scale": config["scale"],
        "checkpoints": checkpoints(config, [run.parent]),
    }


def largest_run_mb(config: Mapping, row: Row) -> int:
    """Estimate the MB of a GPU that the largest run of a row takes, if every input of a batch has
    the maximal length."""
    sizes = [0.0]
    for run in settings_of_runs(config, row).values():
        shape = shape_of_model(str(row.run.model), config, run["variants"])
        length = run["task"]["max_length"]
        sizes.append(shape.training_bytes(run["training"]["batch_size"] * length, length))
    return round(max(sizes) / 1e6)


def rows(config: Mapping, model: str) -> list[Run]:
    """List the replicates that have rows."""
    return sweep_runs_of(scored(config, model)[0].model, config)


def layers_of_heads(config: Mapping, model: str) -> list[int]:
    """List the layers whose heads are drawn anew, counted from 1 where the configuration counts
    from the top."""
    top = layers(config, model)
    return unique(
        layer if layer > 0 else layer + top + 1 for layer in config["sweeps"]["head_layers"]
    )


def layers_of_files(config: Mapping, model: str) -> dict[str, int]:
    """Return the layer of each file of rows of heads."""
    return {
        f"results/sweeps/{model}.reinitL{layer}/{run.name}.tsv": layer
        for layer in layers_of_heads(config, model)
        for run in rows(config, model)
    }
