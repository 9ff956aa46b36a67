"""Rows of runs that differ in one thing, say one layer more frozen each time."""

from collections.abc import Mapping

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
    unique,
)
from bertshift.requests.shapes import shape_of_model


def samples(task: str, config: Mapping) -> dict[str, int]:
    shared, own = config["sweeps"], config["sweeps"]["tasks"].get(task, {})
    sizes = {key: own.get(key, shared.get(key)) for key in ("max_train", "max_dev")}
    return {key: size for key, size in sizes.items() if size is not None}


def row_of(run: Run, sweep: str, config: Mapping) -> dict[str, tuple[int, Run]]:
    """Return (position on the axis, run) of each member of a row, by its name."""
    if run not in sweep_runs_of(run.model, config):
        raise UserError(
            f"'{run.model}.{sweep}' has no replicate {run.name}; raise sweeps.seeds or "
            f"sweeps.pretraining_runs, or those of sweeps.per_base.{run.model.base}."
        )
    return {
        str(one.model) if one.seed == run.seed else f"{one.model}_seed{one.seed}": (position, one)
        for position, one in sweep_of(run, sweep, config)
    }


def plain_runs(
    model: Model, members: Mapping[str, tuple[int, Run]], config: Mapping
) -> dict[str, Run]:
    """Select the runs of a row that `finetune` makes with the same settings: replicates of the
    plain model."""
    runs = runs_of(model, config)
    task = settings_of_run(runs[0], config)["task"]
    if task | samples(model.task, config) != task:
        return {}
    return {name: one for name, (_, one) in members.items() if one in runs}


def row(config: Mapping, model: str, sweep: str, init: str, seed: str) -> Request:
    run = run_named(config, model, init, seed)
    members = row_of(run, sweep, config)
    plain = plain_runs(run.model, members, config)
    runs = {
        name: settings_of_run(one, config)
        for name, (_, one) in members.items()
        if name not in plain
    }
    for each in runs.values():
        each["task"] |= samples(run.model.task, config)
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
            "models": {name: one.folder for name, one in plain.items()},
            "row": {
                name: {
                    "model": str(one.model),
                    "init": one.init,
                    "seed": one.seed,
                    "position": position,
                }
                for name, (position, one) in members.items()
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
    """Estimate the most MB of a GPU that a run of a row takes: with every input of a batch as long
    as can be."""
    largest = 0.0
    for run in row(config, model, sweep, init, seed).settings["runs"].values():
        shape = shape_of_model(model, config, run["variants"])
        tokens = run["training"]["batch_size"] * run["task"]["max_length"]
        largest = max(largest, shape.training_bytes(tokens, run["task"]["max_length"]))
    return round(largest / 1e6)


def rows_of(name: str, sweep: str, config: Mapping, ending: str = "tsv") -> list[str]:
    """Name the files of all replicates' rows."""
    model, _ = scored_model(name, config)
    return [
        f"results/sweeps/{name}.{sweep}/{run.name}.{ending}"
        for run in sweep_runs_of(model, config)
    ]


def sweep_table(config: Mapping, model: str, sweep: str) -> Request:
    scores, losses = rows_of(model, sweep, config), rows_of(model, sweep, config, "losses.tsv")
    return Request(
        {"scores": scores, "blocks": list(map(blocks_beside, scores)), "losses": losses}
    )


def reinit_heads(config: Mapping, model: str) -> Request:
    """Ask for the rows of single heads drawn anew. settings: the layer of each file of `heads`,
    counted from 1 where the configuration counts from the top."""
    layers = shape_of(config["bases"][parse_model(model, config).base])["layers"]
    wanted = unique(n if n > 0 else layers + 1 + n for n in config["sweeps"]["head_layers"])
    rows = {file: layer for layer in wanted for file in rows_of(model, f"reinitL{layer}", config)}
    baselines = rows_of(model, "seeds", config)
    beside = list(map(blocks_beside, [*rows, *baselines]))
    return Request(
        {"heads": list(rows), "baselines": baselines, "blocks": beside}, {"layers": rows}
    )
