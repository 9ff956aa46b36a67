"""Metrics of two models: `results/<metric>/<model>_vs_<reference>.tsv`."""

from collections.abc import Mapping
from typing import NamedTuple

from bertshift.errors import UserError
from bertshift.measures import METRICS, OF_DUMPS
from bertshift.naming import Model, Run, parse_comparison
from bertshift.replicates import pair_runs
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
    scored_model,
    training_scores,
)
from bertshift.suggestions import nearest

PADDED = "cosine"  # cosine_padded looks at the inputs of this metric


class Comparison(NamedTuple):
    """Two models, their pairs of runs, and the request that every metric of them starts from."""

    model: Model
    reference: Model
    pairs: list[tuple[Run, Run]]
    request: Request

    @property
    def runs(self) -> list[Run]:
        return in_pairs(self.pairs)

    @property
    def folders(self) -> dict[str, dict[str, str]]:
        """The folders of the runs' weights, by side and run."""
        return {
            "model": {run.name: run.folder for run in self.runs if run.model == self.model},
            "reference": {
                run.name: run.folder for run in self.runs if run.model == self.reference
            },
        }


def compare(config: Mapping, model: str, reference: str, metric: str) -> Request:
    """Ask for one metric of two models, on dumps of both, for every pair of replicates."""
    comparison = _compare_models(config, model, reference, metric)
    record = METRICS[metric]
    stimuli = comparison.request.settings["stimuli"]
    inputs = {
        "model": dump(record.reads, str(comparison.model), stimuli),
        "reference": dump(record.reads, str(comparison.reference), stimuli),
    }
    settings = {
        "module": record.module,
        "dump": recipe(record.reads, config),
        "tokens": config["samples"][record.tokens] if record.tokens else None,
        "folders": comparison.folders if record.weights else None,
        "reference_checkpoints": None,
    }
    if record.weights:
        inputs["weights"] = files(comparison.runs, WEIGHTS)
    if record.annotations:
        inputs["annotations"] = [f"results/annotations/{name}.jsonl" for name in stimuli]
        inputs["annotators"] = [f"results/annotations/{name}.json" for name in stimuli]
        # The metric's table also has rows of the reference alone.
        runs = [run for run in comparison.runs if run.model == comparison.reference]
        settings["reference_checkpoints"] = checkpoints_of(runs, config)
    return comparison.request.plus(inputs, **settings)


def cosine_padded(config: Mapping, model: str, reference: str) -> Request:
    comparison = _compare_models(config, model, reference, PADDED)
    stimuli = comparison.request.settings["stimuli"]
    return comparison.request.plus(
        {"models": files(comparison.runs), "stimuli": list(map(rows, stimuli))},
        inputs=config["samples"]["padded"],
        pad_to=config["samples"]["padded_length"],
        folders=comparison.folders,
    )


def spectra(config: Mapping, model: str, reference: str) -> Request:
    """Compare weights alone."""
    comparison = _compare_models(config, model, reference)
    folders = []
    for run, reference_run in comparison.pairs:
        labels = {
            "metric": "spectra",
            "model": str(comparison.model),
            "reference": str(comparison.reference),
            **numbers_of(run, reference_run),
        }
        folders.append([run.folder, reference_run.folder, labels])
    return comparison.request.plus({"weights": files(comparison.runs, WEIGHTS)}, folders=folders)


def _compare_models(config: Mapping, model: str, reference: str, metric: str = "") -> Comparison:
    """Parse and pair two models. The request names the files with the origins of the runs and
    with the runs that failed to train, the pairs, the provenance of every row, and the inputs of
    `metric`, if it has some."""
    models = parse_comparison(model, reference, config)
    pairs = pair_runs(*models, config)
    runs = in_pairs(pairs)
    request = Request(
        {
            "scores": training_scores(config, *models),
            "outcomes": outcomes(runs),
            "sources": records(runs),
        },
        {
            "model": model,
            "reference": reference,
            "pairs": [[[run.name, run.init, run.seed] for run in pair] for pair in pairs],
            "trained": names_of(runs),
            "scale": config["scale"],
            "checkpoints": checkpoints_of([run for run, _ in pairs], config),
        },
    )
    if metric:
        stimuli = stimuli_of(metric, *models, config)
        descriptions = list(map(description, stimuli))
        request = request.plus({"descriptions": descriptions}, stimuli=stimuli)
    return Comparison(*models, pairs, request)


def annotations(config: Mapping, stimulus: str) -> Request:
    runs = []
    for kind in ("tags", "trees"):
        _, replicates = scored_model(config["annotators"][kind], config)
        runs.append(replicates[0])
    return Request(
        {"rows": rows(stimulus), "models": files(runs), "scores": files(runs, ["scores.json"])},
        {"folders": [run.folder for run in runs]},
    )


def check_analyses(config: Mapping) -> None:
    """Raise UserError for `analyses` of a metric that does not exist or reads no dumps."""
    for metric in config["analyses"]:
        if metric not in OF_DUMPS:
            raise UserError(
                f"analyses.{metric}: no metric of this name looks at inputs;"
                f" {nearest(metric, sorted(OF_DUMPS))}."
            )
