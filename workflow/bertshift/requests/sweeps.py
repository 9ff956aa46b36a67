"""Rows of runs that differ in one thing, such as the number of frozen layers."""

from collections.abc import Mapping
from typing import NamedTuple

from bertshift.errors import UserError
from bertshift.files import blocks_beside
from bertshift.naming import Model, Run, parse_model, shape_of
from bertshift.replicates import runs_of, sweep_of, sweep_runs_of
from bertshift.requests import Request
from bertshift.requests.data import task_data
from bertshift.requests.finetuning import settings_of_run
from bertshift.requests.runs import (
    checkpoints_of,
    files,
    provenance,
    run_named,
    scored_model,
)
from bertshift.requests.shapes import shape_of_model


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


def row_of(run: Run, sweep: str, config: Mapping) -> dict[str, Member]:
    """Return the members of a row by their names."""
    if run not in sweep_runs_of(run.model, config):
        raise UserError(
            f"'{run.model}.{sweep}' has no replicate {run.name}; raise sweeps.seeds or "
            f"sweeps.pretraining_runs, or those of sweeps.per_base.{run.model.base}."
        )
    members = {}
    for position, member in sweep_of(run, sweep, config):
        name = str(member.model)
        if member.seed != run.seed:
            name += f"_seed{member.seed}"
        members[name] = Member(position, member)
    return members


def plain_runs(model: Model, members: Mapping[str, Member], config: Mapping) -> dict[str, Run]:
    """Select the runs of a row that `finetune` makes with the same settings: replicates of the
    plain model."""
    runs = runs_of(model, config)
    task = settings_of_run(runs[0], config)["task"]
    if task | samples(model.task, config) != task:
        return {}
    return {name: member.run for name, member in members.items() if member.run in runs}


def row(config: Mapping, model: str, sweep: str, init: str, seed: str) -> Request:
    run = run_named(config, model, init, seed)
    members = row_of(run, sweep, config)
    plain = plain_runs(run.model, members, config)
    runs = {}
    for name, member in members.items():
        if name not in plain:
            runs[name] = settings_of_run(member.run, config)
            runs[name]["task"] |= samples(run.model.task, config)
    return Request(
        {
            "start": files([run.parent]),
            **task_data(run.model, config),
            "scores": files(plain.values(), ["scores.json"]),
            "steps": files(plain.values(), ["steps.tsv"]),
            "predictions": files(plain.values(), ["predictions.tsv"]),
        },
        {
            "runs": runs,
            "models": {name: plain_run.folder for name, plain_run in plain.items()},
            "row": {
                name: {
                    "model": str(member.run.model),
                    "init": member.run.init,
                    "seed": member.run.seed,
                    "position": member.position,
                }
                for name, member in members.items()
            },
            "layers": shape_of(config["bases"][run.model.base])["layers"],
            "provenance": {
                **provenance(run.model, config),
                "runs": [[run.init, run.seed]],
                "checkpoints": checkpoints_of([run.parent], config),
            },
        },
    )


def largest_run_mb(config: Mapping, model: str, sweep: str, init: str, seed: str) -> int:
    """Estimate the MB of a GPU that the largest run of a row takes, if every input of a batch has
    the maximal length."""
    sizes = [0.0]
    for run in row(config, model, sweep, init, seed).settings["runs"].values():
        shape = shape_of_model(model, config, run["variants"])
        length = run["task"]["max_length"]
        sizes.append(shape.training_bytes(run["training"]["batch_size"] * length, length))
    return round(max(sizes) / 1e6)


def rows_of(name: str, sweep: str, config: Mapping, ending: str = "tsv") -> list[str]:
    """Name the files of all replicates' rows."""
    model, _ = scored_model(name, config)
    return [
        f"results/sweeps/{name}.{sweep}/{run.name}.{ending}"
        for run in sweep_runs_of(model, config)
    ]


def sweep_table(config: Mapping, model: str, sweep: str) -> Request:
    scores = rows_of(model, sweep, config)
    losses = rows_of(model, sweep, config, "losses.tsv")
    blocks = list(map(blocks_beside, scores))
    return Request({"scores": scores, "blocks": blocks, "losses": losses})


def reinit_heads(config: Mapping, model: str) -> Request:
    """Ask for the rows of single re-initialised heads. settings: the layer of each file of
    `heads`, counted from 1 where the configuration counts from the top."""
    layers = shape_of(config["bases"][parse_model(model, config).base])["layers"]
    layer_of_file = {}
    for layer in config["sweeps"]["head_layers"]:
        if layer <= 0:
            layer += layers + 1
        for file in rows_of(model, f"reinitL{layer}", config):
            layer_of_file[file] = layer
    heads = list(layer_of_file)
    baselines = rows_of(model, "seeds", config)
    blocks = list(map(blocks_beside, [*heads, *baselines]))
    return Request(
        {"heads": heads, "baselines": baselines, "blocks": blocks}, {"layers": layer_of_file}
    )
