import numpy as np
import pandas as pd
import pytest

from bertshift.errors import UserError
from bertshift.rows.blocks import WITHOUT, block_of
from bertshift.rows.gains import Scored, gain_table, gains
from bertshift.rows.significance import SCORES, mcnemar, paired_bootstrap

RNG = np.random.default_rng(0)
LABELS = ["no", "yes"]


def scored(metrics, **columns):
    size = len(columns["gold"])
    return Scored(
        {
            "dataset": "toys",
            "metric": next(iter(metrics)),
            "scores": metrics,
            "majority": dict.fromkeys(metrics, 0.5),
            "data": {"dev": "toys dev 80 of 80 (generated)"},
        },
        pd.DataFrame({"id": [f"dev-{i}" for i in range(size)], **columns}),
    )


@pytest.fixture
def classes():
    """Gold and two predictions of 80 examples, as class numbers."""
    gold = RNG.integers(0, 2, 80)
    return (
        gold,
        np.where(RNG.uniform(size=80) < 0.7, gold, 1 - gold),
        np.where(RNG.uniform(size=80) < 0.8, gold, 1 - gold),
    )


def test_classes_are_tested_by_their_order(classes):
    """F1 counts the second label, whatever its name; a test that took the other would give another p."""
    gold, was, now = classes
    names = np.array(LABELS)
    other, run = (scored({"f1": f1, "mcc": 0.0, "accuracy": 0.0}, gold=names[gold], prediction=names[said])
                  for f1, said in ((0.25, was), (0.75, now)))  # fmt: skip
    rows = {row["score"]: row for row in gains(run, other, LABELS)}
    assert rows["accuracy"]["p"] == mcnemar(was == gold, now == gold)
    for score in ("f1", "mcc"):
        [p] = paired_bootstrap(SCORES[score], gold, was, now[None], "toys")
        assert rows[score]["p"] == p
    flipped = paired_bootstrap(SCORES["f1"], 1 - gold, 1 - was, (1 - now)[None], "toys")
    assert rows["f1"]["p"] != flipped[0]
    turned = ((was != gold) & (now == gold)).sum(), ((was == gold) & (now != gold)).sum()
    assert (rows["f1"]["gained"], rows["f1"]["lost"]) == turned and rows["f1"]["changed"] == sum(turned)
    assert (rows["f1"]["value"], rows["f1"]["before"], rows["f1"]["delta"]) == (0.75, 0.25, 0.5)


def test_ratings_and_answers_have_tests_of_their_own():
    gold = RNG.normal(size=60)
    other, run = (
        scored({"pearson": 0.5}, gold=gold, prediction=gold + RNG.normal(size=60)) for _ in range(2)
    )
    [row] = gains(run, other, None)
    said = [each.predictions["prediction"].to_numpy() for each in (other, run)]
    assert row["p"] == paired_bootstrap(SCORES["pearson"], gold, said[0], said[1][None], "toys")[0]
    assert row["changed"] == 60 and np.isnan([row["gained"], row["lost"]]).all()

    texts = pd.Series([np.nan, "a", "b"])  # an empty answer reads back as a missing one
    other = scored(
        {"f1": 0.8, "exact_match": 2 / 3}, gold=texts, prediction=texts, f1=[1, 1, 0.4], exact_match=[1, 1, 0]
    )
    run = scored({"f1": 0.9, "exact_match": 1.0}, gold=texts, prediction=texts.replace("b", "c"), f1=[1, 1, 1.0],
                 exact_match=[1, 1, 1])  # fmt: skip
    f1, exact = gains(run, other, None)
    assert (f1["changed"], f1["gained"], f1["lost"]) == (1, 1, 0)
    assert exact["p"] == 1 and 0.5 < f1["p"] < 1  # in (2/3) ** 3 of the samples the third answer is missing


def test_every_pair_is_a_row_and_other_examples_are_refused(classes):
    gold, was, now = classes
    names = np.array(LABELS)
    runs = [
        scored({"accuracy": (said == gold).mean()}, gold=names[gold], prediction=names[said])
        for said in (was, now)
    ]
    runs[0] = runs[0]._replace(scores=runs[0].scores | {"majority": {"accuracy": 1.0}})
    settings = {"model": "wnli+toy", "reference": "toy", "task": "toy", "scale": "demo",
                "checkpoints": {"1": {"label": "a"}, "2": {"label": "b"}}, "pairs": [[[1, 1], [1, 1]], [[2, 1], [2, 1]]]}  # fmt: skip
    sidecar = {"labels": LABELS}
    table = gain_table([(runs[1], runs[0]), (runs[0], runs[1])], settings, sidecar, "toys train")
    assert table["failed"].tolist() == [False, True] and table["ref_failed"].tolist() == [True, False]
    assert table["checkpoint"].tolist() == ["a", "b"] and table["delta"].sum() == pytest.approx(0)
    kept = block_of(80) != 7
    alone = [(said == gold)[kept].mean() for said in (was, now)]
    assert table[WITHOUT[7]].tolist() == pytest.approx([alone[1] - alone[0], alone[0] - alone[1]])
    assert table["data"][0] == "toys dev 80 of 80 (generated); trained on toys train"
    fewer = Scored(runs[0].scores, runs[0].predictions.iloc[:50])
    with pytest.raises(UserError, match="wnli\\+toy and toy were scored on other examples"):
        gain_table([(runs[1], fewer)], settings | {"pairs": settings["pairs"][:1]}, sidecar, "toys train")
