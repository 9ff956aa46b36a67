"""How much more one model scores than another of the same task, replicate by replicate, tested on
the examples."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertshift.errors import UserError
from bertshift.models.source import origins
from bertshift.rows.blocks import in_columns
from bertshift.rows.provenance import failed
from bertshift.rows.scored import without_blocks
from bertshift.rows.significance import SCORES, mcnemar, paired_bootstrap

RIGHT_OR_WRONG = ("accuracy", "exact_match")


class Scored(NamedTuple):
    """The results of one run: its scores.json and its predictions.tsv."""

    scores: Mapping
    predictions: pd.DataFrame


def gain_table(
    pairs: Sequence[tuple[Scored, Scored]], settings: Mapping, sidecar: Mapping, data: str
) -> pd.DataFrame:
    """Tabulate `gains` for every pair of replicates (model, reference), in the order of
    settings["pairs"].

    `sidecar` is the data set's; `data` says what both models were trained on. `failed` and
    `ref_failed`: whether the run and the other learned nothing. Values without blocks are those of
    `delta`. UserError where a pair was not scored on the same examples.
    """
    keys = {"metric": "gain", **{key: settings[key] for key in ("model", "reference", "task")}}
    known, rows = origins(settings["checkpoints"]), []
    for (run, other), (names, ref_names) in zip(pairs, settings["pairs"], strict=True):
        if not run.predictions["id"].equals(other.predictions["id"]):
            raise UserError(
                f"{settings['model']} and {settings['reference']} were scored on other examples;"
                " delete their runs in results/models and run the rule again."
            )
        replicate = dict(zip(("init", "seed", "ref_init", "ref_seed"), (*names, *ref_names)))
        made_from = {
            "failed": failed(run.scores),
            "ref_failed": failed(other.scores),
            "scale": settings["scale"],
            **known[str(names[0])],
            "data": f"{run.scores['data']['dev']}; trained on {data}",
        }
        rows += [
            keys | replicate | row | made_from for row in gains(run, other, sidecar["labels"])
        ]
    table = pd.DataFrame(rows)
    return pd.concat([table, in_columns(table.pop("jackknife"))], axis=1)


def gains(run: Scored, other: Scored, labels: Sequence[str] | None) -> Iterator[dict]:
    """Yield a row for each score: value, before (the other's value), delta, and p of "no
    difference" on the same examples. `jackknife` has the delta without each block of these
    examples.

    p is from an exact McNemar test where an example is right or wrong, else from a paired
    bootstrap. Of `n` examples `changed` are predicted otherwise, `gained` are right in `run` alone
    and `lost` in `other` alone (both missing where an example has no right or wrong). `labels` are
    the classes in their order, None for other tasks.
    """
    turned = turns(other.predictions, run.predictions, labels)
    names = run.scores["scores"]
    now, was = (without_blocks(names, each.predictions, labels) for each in (run, other))
    for score, value in names.items():
        before = other.scores["scores"][score]
        yield {
            "score": score,
            "headline": score == run.scores["metric"],
            "value": value,
            "before": before,
            "delta": value - before,
            "jackknife": now[score] - was[score],
            "p": p_value(score, other.predictions, run.predictions, labels, run.scores["dataset"]),
            **turned,
            "n": len(run.predictions),
            "majority": run.scores["majority"].get(score, np.nan),
        }


def turns(
    before: pd.DataFrame, after: pd.DataFrame, labels: Sequence[str] | None
) -> dict[str, float]:
    """Count the examples that are predicted differently, turn right and turn wrong."""
    said = [table["prediction"].fillna("") for table in (before, after)]
    counts = {"changed": int((said[0] != said[1]).sum()), "gained": np.nan, "lost": np.nan}
    if labels or "exact_match" in before:
        score = "accuracy" if labels else "exact_match"
        was, now = (right(score, table) for table in (before, after))
        counts |= {"gained": int((~was & now).sum()), "lost": int((was & ~now).sum())}
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
    columns = [before["gold"], before["prediction"], after["prediction"]]
    if score in before:  # answers have a score each, whose mean is the model's
        score, columns = "mean", [0 * before[score], before[score], after[score]]
    elif labels:
        codes = {label: number for number, label in enumerate(labels)}
        columns = [column.astype(str).map(codes) for column in columns]
    gold, was, now = (column.to_numpy() for column in columns)
    return float(paired_bootstrap(SCORES[score], gold, was, now[None], dataset)[0])
