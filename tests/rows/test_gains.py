import numpy as np
import pandas as pd
import pytest
from made_tables import WITHOUT, in_columns

from bertshift.errors import UserError
from bertshift.rows.blocks import block_of
from bertshift.rows.gains import Scored, gain_table, gains
from bertshift.rows.significance import SCORES, mcnemar, paired_bootstrap

RNG = np.random.default_rng(0)
LABELS = ["no", "yes"]


def scored(metrics, majority=0.5, **columns):
    scores = {"dataset": "toys", "metric": next(iter(metrics)), "scores": metrics,
              "majority": dict.fromkeys(metrics, majority), "data": {"dev": "toys dev 80 of 80 (generated)"}}  # fmt: skip
    table = pd.DataFrame(columns)
    return Scored(scores, table.assign(id=table.index.astype(str)))


def scored_classes(metrics, gold, predicted, majority=0.5):
    names = np.array(LABELS)
    return scored(metrics, majority, gold=names[gold], prediction=names[predicted])


@pytest.fixture
def classes():
    """Gold and two predictions of 80 examples, as class numbers."""
    gold = RNG.integers(0, 2, 80)
    before, after = (np.where(RNG.uniform(size=80) < p, gold, 1 - gold) for p in (0.7, 0.8))
    return gold, before, after


def test_classes_are_tested_by_their_order(classes):
    """F1 counts the second label, whatever its name."""
    gold, before, after = classes
    reference = scored_classes({"f1": 0.25, "mcc": 0.0, "accuracy": 0.0}, gold, before)
    run = scored_classes({"f1": 0.75, "mcc": 0.0, "accuracy": 0.0}, gold, after)
    f1, mcc, accuracy = gains(run, reference, LABELS)
    assert accuracy["p"] == mcnemar(before == gold, after == gold)
    for row in (f1, mcc):
        p = paired_bootstrap(SCORES[row["score"]], gold, before, after[None], "toys")
        assert row["p"] == p
    gained = ((before != gold) & (after == gold)).sum()
    lost = ((before == gold) & (after != gold)).sum()
    assert (f1["gained"], f1["lost"], f1["changed"]) == (gained, lost, gained + lost)
    assert (f1["value"], f1["before"], f1["delta"]) == (0.75, 0.25, 0.5)


def test_ratings_and_answers_have_tests_of_their_own():
    gold, before, after = RNG.normal(size=(3, 60))
    reference, run = (
        scored({"pearson": 0.5}, gold=gold, prediction=ratings) for ratings in (before, after)
    )
    [row] = gains(run, reference, None)
    assert row["p"] == paired_bootstrap(SCORES["pearson"], gold, before, after[None], "toys")
    assert row["changed"] == 60 and np.isnan([row["gained"], row["lost"]]).all()

    answers = pd.Series(["", "a", "b"])
    scores = {"f1": 0.8, "exact_match": 0.7}
    columns = {"gold": answers, "prediction": answers, "f1": 1, "exact_match": 1}
    reference = scored(scores, **columns | {"f1": [1, 1, 0.4], "exact_match": [1, 1, 0]})
    run = scored(scores, **columns | {"prediction": answers.replace("b", "c")})
    f1, exact = gains(run, reference, None)
    assert (f1["changed"], f1["gained"], f1["lost"]) == (1, 1, 0)
    # In (2/3) ** 3 of the samples the third answer is missing.
    assert exact["p"] == 1 and 0.5 < f1["p"] < 1


def test_every_pair_is_a_row_and_other_examples_are_refused(classes):
    gold, *predictions = classes
    before, after = (
        scored_classes({"accuracy": (predicted == gold).mean()}, gold, predicted, majority)
        for predicted, majority in zip(predictions, (1.0, 0.5), strict=True)
    )
    settings = {"model": "wnli+toy", "reference": "toy", "task": "toy", "scale": "demo",
                "checkpoints": {"1": {"label": "a"}, "2": {"label": "b"}}, "pairs": [[[1, 1], [1, 1]], [[2, 1], [2, 1]]]}  # fmt: skip

    def tabulate(*pairs):
        return in_columns(gain_table(pairs, settings, {"labels": LABELS}, "toys train"))

    table = tabulate((after, before), (before, after))
    columns = ["failed", "ref_failed", "checkpoint"]
    assert table[columns].to_numpy().tolist() == [[False, True, "a"], [True, False, "b"]]
    assert table["delta"].sum() == pytest.approx(0)
    gain = np.diff([(predicted == gold)[block_of(80) != 7].mean() for predicted in predictions])
    assert table[WITHOUT[7]].tolist() == pytest.approx([*gain, *-gain])
    assert table["data"][0] == "toys dev 80 of 80 (generated); trained on toys train"
    fewer = before._replace(predictions=before.predictions.iloc[:50])
    with pytest.raises(UserError, match="wnli\\+toy and toy were scored on other examples"):
        tabulate((after, fewer), (after, before))
