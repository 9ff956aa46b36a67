"""Gains in score of one model over another of the same task, replicate by replicate, tested on the
examples."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertshift.errors import UserError
from bertshift.models.source import origins
from bertshift.rows.provenance import failed
from bertshift.rows.scored import without_blocks
from bertshift.rows.significance import SCORES, mcnemar, paired_bootstrap
from bertshift.rows.table import Table

RIGHT_OR_WRONG = ("accuracy", "exact_match")


class Scored(NamedTuple):
    """The results of one run: its scores.json and its predictions.tsv."""

    scores: Mapping
    predictions: pd.DataFrame


def gain_table(
    pairs: Sequence[tuple[Scored, Scored]], settings: Mapping, sidecar: Mapping, data: str
) -> Table:
    """Tabulate `gains` for every pair of replicates (model, reference), in the order of
    settings["pairs"].

    `sidecar` is the data set's; `data` says what both models were trained on. `failed` and
    `ref_failed`: whether the run and the other learned nothing. Values without blocks are those of
    `delta`. UserError where a pair was not scored on the same examples.
    """
    keys = {"metric": "gain", **{key: settings[key] for key in ("model", "reference", "task")}}
    origin_of_run = origins(settings["checkpoints"])
    rows = []
    for (run, reference), (names, ref_names) in zip(pairs, settings["pairs"], strict=True):
        if not run.predictions["id"].equals(reference.predictions["id"]):
            raise UserError(
                f"{settings['model']} and {settings['reference']} were scored on other examples;"
                " delete their runs in results/models and run the rule again."
            )
        (init, seed), (ref_init, ref_seed) = names, ref_names
        replicate = {"init": init, "seed": seed, "ref_init": ref_init, "ref_seed": ref_seed}
        provenance = {
            "failed": failed(run.scores),
            "ref_failed": failed(reference.scores),
            "scale": settings["scale"],
            **origin_of_run[str(init)],
            "data": f"{run.scores['data']['dev']}; trained on {data}",
        }
        for row in gains(run, reference, sidecar["labels"]):
            rows.append(keys | replicate | row | provenance)
    return Table.of_records(rows)


def gains(run: Scored, other: Scored, labels: Sequence[str] | None) -> Iterator[dict]:
    """Yield a row for each score: value, before (the other's value), delta, and p of "no
    difference" on the same examples. `jackknife` has the delta without each block of these
    examples.

    p is from an exact McNemar test where an example is right or wrong, else from a paired
    bootstrap. Among `n` examples, `changed` are predicted otherwise, `gained` are right in `run`
    alone and `lost` in `other` alone (both missing where an example has no right or wrong).
    `labels` are the classes in their order, None for other tasks.
    """
    counts = turns(other.predictions, run.predictions, labels)
    scores = run.scores["scores"]
    jackknife = without_blocks(scores, run.predictions, labels)
    jackknife_before = without_blocks(scores, other.predictions, labels)
    for score, value in scores.items():
        before = other.scores["scores"][score]
        yield {
            "score": score,
            "headline": score == run.scores["metric"],
            "value": value,
            "before": before,
            "delta": value - before,
            "jackknife": jackknife[score] - jackknife_before[score],
            "p": p_value(score, other.predictions, run.predictions, labels, run.scores["dataset"]),
            **counts,
            "n": len(run.predictions),
            "majority": run.scores["majority"].get(score, np.nan),
        }


def turns(
    before: pd.DataFrame, after: pd.DataFrame, labels: Sequence[str] | None
) -> dict[str, float]:
    """Count the examples that are predicted differently, turn right and turn wrong."""
    changed = before["prediction"] != after["prediction"]
    counts = {"changed": int(changed.sum()), "gained": np.nan, "lost": np.nan}
    if labels or "exact_match" in before:
        score = "accuracy" if labels else "exact_match"
        right_before = right(score, before)
        right_after = right(score, after)
        counts["gained"] = int((~right_before & right_after).sum())
        counts["lost"] = int((right_before & ~right_after).sum())
    return counts


def right(score: str, predictions: pd.DataFrame) -> np.ndarray:
    """Tell which examples are right, for a score in RIGHT_OR_WRONG."""
    if score == "exact_match":
        return (predictions[score] == 1).to_numpy()
    return (predictions["gold"] == predictions["prediction"]).to_numpy()


def p_value(
    score: str,
    before: pd.DataFrame,
    after: pd.DataFrame,
    labels: Sequence[str] | None,
    dataset: str,
) -> float:
    """Test "both score alike", two-sided; all models of a data set are tested on the same samples
    of its examples."""
    if score in RIGHT_OR_WRONG:
        return float(mcnemar(right(score, before), right(score, after)))
    if score in before:  # answers have a score each, whose mean is the model's
        columns = [0 * before[score], before[score], after[score]]
        score = "mean"
    else:
        columns = [before["gold"], before["prediction"], after["prediction"]]
        if labels:
            codes = {label: number for number, label in enumerate(labels)}
            columns = [column.map(codes) for column in columns]
    gold, predicted_before, predicted_after = [column.to_numpy() for column in columns]
    p = paired_bootstrap(SCORES[score], gold, predicted_before, predicted_after[None], dataset)
    return float(p[0])
