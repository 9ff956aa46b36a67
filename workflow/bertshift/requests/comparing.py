"""Metrics of two models: `results/<metric>/<model>_vs_<reference>.tsv`."""

from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.metrics.registry import METRICS
from bertshift.naming import Model, Run, nearest, pair_runs, parse_comparison, parse_model, runs_of
from bertshift.requests import Request
from bertshift.requests.activations import dump, recipe
from bertshift.requests.data import description, rows, stimuli_of
from bertshift.requests.runs import (
    WEIGHTS,
    checkpoints_of,
    files,
    in_pairs,
    names_of,
    numbers_of,
    outcomes,
    records,
    training_scores,
)

PADDED = "cosine"  # cosine_padded looks at the inputs of this metric


def compare(config: Mapping, model: str, reference: str, metric: str) -> Request:
    """One metric of two models, on dumps of both, for every pair of replicates."""
    one, other = parse_comparison(model, reference, config)
    how, pairs = METRICS[metric], pair_runs(one, other, config)
    said, runs = _comparison(one, other, pairs, metric, config), in_pairs(pairs)
    stimuli = said.settings["stimuli"]
    inputs = {side: dump(how.dump, each, stimuli) for side, each in (("model", one), ("reference", other))}
    inputs |= said.inputs
    settings = said.settings | {"dump": recipe(how.dump, config)}
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
        of_reference = [run for run in runs if run.model == other]
        settings["reference_checkpoints"] = checkpoints_of(of_reference, config)
    return Request(inputs, settings)


def cosine_padded(config: Mapping, model: str, reference: str) -> Request:
    one, other = parse_comparison(model, reference, config)
    pairs, samples = pair_runs(one, other, config), config["samples"]
    said, runs = _comparison(one, other, pairs, PADDED, config), in_pairs(pairs)
    inputs = {"models": files(runs), "stimuli": list(map(rows, said.settings["stimuli"]))}
    padded = {"inputs": samples["padded"], "pad_to": samples["padded_length"]}
    return Request(said.inputs | inputs, said.settings | padded | {"folders": folders(one, other, runs)})


def spectra(config: Mapping, model: str, reference: str) -> Request:
    """Compared from weights alone."""
    one, other = parse_comparison(model, reference, config)
    pairs = pair_runs(one, other, config)
    said = _of_pairs(one, other, pairs, config)
    same = {"metric": "spectra", "model": str(one), "reference": str(other)}
    compared = [[run.folder, ref.folder, same | numbers_of(run, ref)] for run, ref in pairs]
    weights = {"weights": files(in_pairs(pairs), WEIGHTS)}
    return Request(said.inputs | weights, said.settings | {"folders": compared})


def _of_pairs(model: Model, reference: Model, pairs: list[tuple[Run, Run]], config: Mapping) -> Request:
    """What every comparison asks for: the files that say what its rows were made from and which runs failed to train;
    which replicate meets which, by name, and the provenance that every row carries."""
    runs = in_pairs(pairs)
    scores = training_scores(config, model, reference)
    return Request(
        {"scores": scores, "outcomes": outcomes(runs), "sources": records(runs)},
        {
            "model": str(model),
            "reference": str(reference),
            "pairs": [[[run.name, run.init, run.seed] for run in pair] for pair in pairs],
            "trained": names_of(runs),
            "scale": config["scale"],
            "checkpoints": checkpoints_of([run for run, _ in pairs], config),
        },
    )


def _comparison(
    model: Model, reference: Model, pairs: list[tuple[Run, Run]], metric: str, config: Mapping
) -> Request:
    """As `_of_pairs`, on the metric's inputs."""
    stimuli, said = stimuli_of(metric, model, reference, config), _of_pairs(model, reference, pairs, config)
    descriptions = list(map(description, stimuli))
    return Request({**said.inputs, "descriptions": descriptions}, said.settings | {"stimuli": stimuli})


def folders(model: Model, reference: Model, runs: list[Run]) -> dict[str, dict[str, str]]:
    """Of each side, where each run's weights are."""
    sides = {"model": model, "reference": reference}
    return {side: {run.name: run.folder for run in runs if run.model == one} for side, one in sides.items()}


def annotations(config: Mapping, stimulus: str) -> Request:
    models = [parse_model(config["annotators"][kind], config) for kind in ("tags", "trees")]
    runs = [runs_of(model, config)[0] for model in models]
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
