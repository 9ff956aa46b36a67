"""Metrics of two models: `results/<metric>/<model>_vs_<reference>.tsv`."""

from collections.abc import Mapping

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


def compare(config: Mapping, model: str, reference: str, metric: str) -> Request:
    """Ask for one metric of two models, on dumps of both, for every pair of replicates."""
    one, other, pairs, asked = _of_pairs(config, model, reference, metric)
    how, runs, stimuli = METRICS[metric], in_pairs(pairs), asked.settings["stimuli"]
    inputs = {
        side: dump(how.reads, each, stimuli)
        for side, each in (("model", one), ("reference", other))
    }
    settings = {
        "module": how.module,
        "dump": recipe(how.reads, config),
        "tokens": config["samples"][how.tokens] if how.tokens else None,
        "folders": folders(one, other, runs) if how.weights else None,
        "reference_checkpoints": None,
    }
    if how.weights:
        inputs["weights"] = files(runs, WEIGHTS)
    if how.annotations:
        inputs["annotations"] = [f"results/annotations/{name}.jsonl" for name in stimuli]
        inputs["annotators"] = [f"results/annotations/{name}.json" for name in stimuli]
        # Its table has rows of the reference by itself.
        of_reference = [run for run in runs if run.model == other]
        settings["reference_checkpoints"] = checkpoints_of(of_reference, config)
    return asked.plus(inputs, **settings)


def cosine_padded(config: Mapping, model: str, reference: str) -> Request:
    one, other, pairs, asked = _of_pairs(config, model, reference, PADDED)
    runs, samples = in_pairs(pairs), config["samples"]
    inputs = {"models": files(runs), "stimuli": list(map(rows, asked.settings["stimuli"]))}
    padded = {"inputs": samples["padded"], "pad_to": samples["padded_length"]}
    return asked.plus(inputs, **padded, folders=folders(one, other, runs))


def spectra(config: Mapping, model: str, reference: str) -> Request:
    """Compare weights alone."""
    one, other, pairs, asked = _of_pairs(config, model, reference)
    same = {"metric": "spectra", "model": str(one), "reference": str(other)}
    compared = [[run.folder, ref.folder, same | numbers_of(run, ref)] for run, ref in pairs]
    return asked.plus({"weights": files(in_pairs(pairs), WEIGHTS)}, folders=compared)


def _of_pairs(
    config: Mapping, model: str, reference: str, metric: str = ""
) -> tuple[Model, Model, list[tuple[Run, Run]], Request]:
    """Return both models, their pairs of runs, and what every comparison asks for.

    It asks for the files that say what its rows were made from and which runs failed to train; for
    which replicate meets which, by name; for the provenance that every row carries; and for the
    `metric`'s inputs, if it looks at some."""
    one, other = parse_comparison(model, reference, config)
    pairs = pair_runs(one, other, config)
    runs = in_pairs(pairs)
    scores = training_scores(config, one, other)
    asked = Request(
        {"scores": scores, "outcomes": outcomes(runs), "sources": records(runs)},
        {
            "model": str(one),
            "reference": str(other),
            "pairs": [[[run.name, run.init, run.seed] for run in pair] for pair in pairs],
            "trained": names_of(runs),
            "scale": config["scale"],
            "checkpoints": checkpoints_of([run for run, _ in pairs], config),
        },
    )
    if metric:
        stimuli = stimuli_of(metric, one, other, config)
        asked = asked.plus({"descriptions": list(map(description, stimuli))}, stimuli=stimuli)
    return one, other, pairs, asked


def folders(model: Model, reference: Model, runs: list[Run]) -> dict[str, dict[str, str]]:
    """Name the folders of the runs' weights, by side and run."""
    sides = {"model": model, "reference": reference}
    return {
        side: {run.name: run.folder for run in runs if run.model == one}
        for side, one in sides.items()
    }


def annotations(config: Mapping, stimulus: str) -> Request:
    runs = [scored_model(config["annotators"][kind], config)[1][0] for kind in ("tags", "trees")]
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
