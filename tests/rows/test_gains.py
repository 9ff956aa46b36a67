import numpy as np
import pandas as pd
import pytest

from bertshift.errors import UserError
from bertshift.rows.blocks import JACKKNIFE_COLUMNS, block_of
from bertshift.rows.gains import Scored, gain_table, gains
from bertshift.rows.significance import SCORES, mcnemar, paired_bootstrap

RNG = np.random.default_rng(0)
LABELS = ["no", "yes"]


def scored(metrics, majority=0.5, **columns):
    scores = {"dataset": "toys", "metric": next(iter(metrics)), "scores": metrics,
              "majority": dict.fromkeys(metrics, majority), "data": {"dev": "toys dev 80 of 80 (generated)"}}  # fmt: skip
    table = pd.DataFrame(columns)
    return Scored(scores, table.assign(id=table.index.astype(str)))


@pytest.fixture
def classes():
    """Gold and two predictions of 80 examples, as class numbers."""
    gold = RNG.integers(0, 2, 80)
    return [
        gold,
        *(np.where(RNG.uniform(size=80) < share, gold, 1 - gold) for share in (0.7, 0.8)),
    ]


def test_classes_are_tested_by_their_order(classes):
    """F1 counts the second label, whatever its name; a test that took the other would give another
    p."""
    gold, before, after = classes
    names = np.array(LABELS)
    reference, run = (scored({"f1": f1, "mcc": 0.0, "accuracy": 0.0}, gold=names[gold], prediction=names[predicted])
                  for f1, predicted in ((0.25, before), (0.75, after)))  # fmt: skip
    rows = {row["score"]: row for row in gains(run, reference, LABELS)}
    assert rows["accuracy"]["p"] == mcnemar(before == gold, after == gold)
    for score in ("f1", "mcc"):
        assert [rows[score]["p"]] == paired_bootstrap(
            SCORES[score], gold, before, after[None], "toys"
        )
    flipped = paired_bootstrap(SCORES["f1"], 1 - gold, 1 - before, (1 - after)[None], "toys")
    assert rows["f1"]["p"] != flipped[0]
    gained, lost = (
        ((before != gold) & (after == gold)).sum(),
        ((before == gold) & (after != gold)).sum(),
    )
    values = [
        rows["f1"][name] for name in ("gained", "lost", "changed", "value", "before", "delta")
    ]
    assert values == [gained, lost, gained + lost, 0.75, 0.25, 0.5]


def test_ratings_and_answers_have_tests_of_their_own():
    gold = RNG.normal(size=60)
    predictions = gold + RNG.normal(size=(2, 60))
    reference, run = (
        scored({"pearson": 0.5}, gold=gold, prediction=predicted) for predicted in predictions
    )
    [row] = gains(run, reference, None)
    assert (
        row["p"]
        == paired_bootstrap(SCORES["pearson"], gold, predictions[0], predictions[1][None], "toys")[
            0
        ]
    )
    assert row["changed"] == 60 and np.isnan([row["gained"], row["lost"]]).all()

    texts = pd.Series([np.nan, "a", "b"])  # an empty answer reads back as a missing one
    reference, run = (
        scored(
            {"f1": 0.8, "exact_match": 0.7},
            gold=texts,
            prediction=answers,
            f1=[1, 1, f1],
            exact_match=[1, 1, exact],
        )
        for answers, f1, exact in ((texts, 0.4, 0), (texts.replace("b", "c"), 1.0, 1))
    )
    f1, exact = gains(run, reference, None)
    assert (f1["changed"], f1["gained"], f1["lost"]) == (1, 1, 0)
    assert (
        exact["p"] == 1 and 0.5 < f1["p"] < 1
    )  # in (2/3) ** 3 of the samples the third answer is missing


def test_every_pair_is_a_row_and_other_examples_are_refused(classes):
    gold, *predictions = classes
    names = np.array(LABELS)
    before, after = (
        scored(
            {"accuracy": (predicted == gold).mean()},
            majority,
            gold=names[gold],
            prediction=names[predicted],
        )
        for predicted, majority in zip(predictions, (1.0, 0.5), strict=True)
    )
    settings = {"model": "wnli+toy", "reference": "toy", "task": "toy", "scale": "demo",
                "checkpoints": {"1": {"label": "a"}, "2": {"label": "b"}}, "pairs": [[[1, 1], [1, 1]], [[2, 1], [2, 1]]]}  # fmt: skip
    table = gain_table(
        [(after, before), (before, after)], settings, {"labels": LABELS}, "toys train"
    )
    assert table["failed"].tolist() == [False, True] and table["ref_failed"].tolist() == [
        True,
        False,
    ]
    assert table["checkpoint"].tolist() == ["a", "b"] and table["delta"].sum() == pytest.approx(0)
    outside_block = block_of(80) != 7
    less = np.subtract(*((predicted == gold)[outside_block].mean() for predicted in predictions))
    assert table[JACKKNIFE_COLUMNS[7]].tolist() == pytest.approx([-less, less])
    assert table["data"][0] == "toys dev 80 of 80 (generated); trained on toys train"
    fewer = before._replace(predictions=before.predictions.iloc[:50])
    with pytest.raises(UserError, match="wnli\\+toy and toy were scored on other examples"):
        gain_table(
            [(after, fewer)],
            settings | {"pairs": settings["pairs"][:1]},
            {"labels": LABELS},
            "toys train",
        )
