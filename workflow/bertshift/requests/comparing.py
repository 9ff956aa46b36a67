"""Metrics of two models: `results/<metric>/<model>_vs_<reference>.tsv`."""

from collections.abc import Mapping

from bertshift.data.stimuli import stimuli_of
from bertshift.errors import UserError
from bertshift.metrics.registry import METRICS
from bertshift.naming import Model, Run, nearest, pair_runs, parse_comparison, parse_model, runs_of
from bertshift.requests import Request
from bertshift.requests.activations import dump, recipe
from bertshift.requests.data import description, rows
from bertshift.requests.runs import (
    WEIGHTS,
    checkpoints_of,
    files,
    names_of,
    outcomes,
    records,
    training_scores,
    unique,
)

PADDED = "cosine"  # cosine_padded looks at the inputs of this metric


def compare(config: Mapping, model: str, reference: str, metric: str) -> Request:
    """One metric of two models, on dumps of both, for every pair of replicates."""
    one, other = parse_comparison(model, reference, config)
    how, stimuli = METRICS[metric], stimuli_of(metric, one, other, config)
    runs = runs_compared(one, other, config)
    inputs = {side: dump(how.dump, each, stimuli) for side, each in (("model", one), ("reference", other))}
    inputs |= inputs_of_comparison(one, other, stimuli, config)
    settings = settings_of_comparison(one, other, stimuli, config) | {"dump": recipe(how.dump, config)}
    if how.tokens:
        settings["tokens"] = config["samples"][how.tokens]
    if how.weights:
        inputs["weights"] = files(runs, WEIGHTS)
        settings["folders"] = folders(one, other, runs)
    if how.annotations:
        inputs |= {
            "annotations": [f"results/annotations/{name}.jsonl" for name in stimuli],
            "annotators": [f"results/annotations/{name}.json" for name in stimuli],
        }
        # Its table has rows of the reference by itself.
        settings["reference_checkpoints"] = checkpoints_of(
            [run for run in runs if run.model == other], config
        )
    return Request(inputs, settings)


def cosine_padded(config: Mapping, model: str, reference: str) -> Request:
    """Both models side by side on inputs padded to one length: maps of these are too many to be stored."""
    one, other = parse_comparison(model, reference, config)
    stimuli, runs = stimuli_of(PADDED, one, other, config), runs_compared(one, other, config)
    samples = config["samples"]
    return Request(
        {
            **inputs_of_comparison(one, other, stimuli, config),
            "models": files(runs),
            "stimuli": list(map(rows, stimuli)),
        },
        settings_of_comparison(one, other, stimuli, config)
        | {
            "folders": folders(one, other, runs),
            "inputs": samples["padded"],
            "pad_to": samples["padded_length"],
        },
    )


def runs_compared(model: Model, reference: Model, config: Mapping) -> list[Run]:
    """Every replicate of either model that is compared, once."""
    return unique(run for pair in pair_runs(model, reference, config) for run in pair)


def inputs_of_comparison(model: Model, reference: Model, stimuli: list[str], config: Mapping) -> dict:
    """The files that say what the rows of a comparison were made from, and which runs failed to train."""
    runs = runs_compared(model, reference, config)
    return {
        "descriptions": list(map(description, stimuli)),
        "scores": training_scores(config, model, reference),
        "outcomes": outcomes(runs),
        "sources": records(runs),
    }


def settings_of_comparison(model: Model, reference: Model, stimuli: list[str], config: Mapping) -> dict:
    """Which replicate meets which, by name, and the provenance that every row carries."""
    pairs = pair_runs(model, reference, config)
    return {
        "model": str(model),
        "reference": str(reference),
        "stimuli": stimuli,
        "pairs": [[[run.name, run.init, run.seed] for run in pair] for pair in pairs],
        "trained": names_of(runs_compared(model, reference, config)),
        "scale": config["scale"],
        "checkpoints": checkpoints_of([run for run, _ in pairs], config),
    }


def folders(model: Model, reference: Model, runs: list[Run]) -> dict[str, dict[str, str]]:
    """Of each side, where each run's weights are."""
    sides = {"model": model, "reference": reference}
    return {side: {run.name: run.folder for run in runs if run.model == one} for side, one in sides.items()}


def annotators(config: Mapping) -> list[Run]:
    """The runs that say what the words of a stimulus are: the first replicates of a tagger and of a parser."""
    return [runs_of(parse_model(config["annotators"][kind], config), config)[0] for kind in ("tags", "trees")]


def annotations(config: Mapping, stimulus: str) -> Request:
    runs = annotators(config)
    return Request(
        {"rows": rows(stimulus), "models": files(runs), "scores": files(runs, ["scores.json"])},
        [run.folder for run in runs],
    )


def check_analyses(config: Mapping) -> None:
    """UserError for inputs of a metric that does not exist."""
    for metric in config["analyses"]:
        if metric not in METRICS:
            raise UserError(
                f"analyses.{metric}: no metric of this name looks at inputs; {nearest(metric, sorted(METRICS))}."
            )
