import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from bertshift.errors import UserError
from bertshift.files import read_tsv, write_json, write_tsv
from bertshift.rows.blocks import (
    BLOCKS,
    block_of,
    interval,
    outside,
    read_with_blocks,
    write_with_blocks,
)
from bertshift.rows.ranges import SHARE
from bertshift.rows.scored import read_scored, with_blocks, without_blocks
from bertshift.tasks.scores import pearson

EXAMPLES = 110
BLOCK = block_of(EXAMPLES)


@pytest.fixture
def read(tmp_path):
    """Columns as they come back from a predictions.tsv."""

    def make(**columns):
        write_tsv(tmp_path / "predictions.tsv", pd.DataFrame(columns))
        return read_tsv(tmp_path / "predictions.tsv")

    return make


def each_without(function, *columns):
    return [function(*(column[BLOCK != block] for column in columns)) for block in range(BLOCKS)]


def test_classes_and_ratings_are_scored_again(read):
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 3, EXAMPLES)
    predicted = np.where(rng.uniform(size=EXAMPLES) < 0.7, gold, rng.integers(0, 3, EXAMPLES))
    names = np.array(["2", "0", "1"])  # a class's number is its place
    classes = read(gold=names[gold], prediction=names[predicted])
    numbers = gold + rng.normal(size=EXAMPLES).astype(np.float32).astype(float)
    ratings = read(gold=gold, prediction=numbers)
    for name, table, values, oracle in (
        ("accuracy", classes, predicted, accuracy_score),
        ("f1", classes, predicted, lambda a, b: f1_score(a == 1, b == 1)),
        ("mcc", classes, predicted, matthews_corrcoef),
        ("pearson", ratings, numbers, lambda a, b: stats.pearsonr(a, b).statistic),
        ("spearman", ratings, numbers, lambda a, b: stats.spearmanr(a, b).statistic),
    ):
        scores = without_blocks([name], table, list(names) if table is classes else None)[name]
        within = 1e-12 if table is classes else 1e-9
        assert scores == pytest.approx(each_without(oracle, gold, values), abs=within)
    [alone] = without_blocks(["accuracy"], classes.iloc[:1], list(names)).values()
    assert np.isnan(alone).all()


def test_answers_are_averaged_over_the_questions_that_a_score_is_about(read):
    rng = np.random.default_rng(1)
    silent, f1 = rng.uniform(size=EXAMPLES) < 0.3, rng.uniform(size=EXAMPLES)
    table = read(gold=np.where(silent, "", "NA"), prediction="", f1=f1, exact_match=np.round(f1))
    exact = each_without(lambda f, s: np.round(f)[~s].mean(), f1, silent)
    for name, expected in (
        ("f1", each_without(np.mean, f1)),
        ("no_answer_f1", each_without(lambda f, s: f[s].mean(), f1, silent)),
        ("has_answer_exact_match", exact),
        ("best_f1", [np.nan] * BLOCKS),
        ("best_f1_threshold", [np.nan] * BLOCKS),
    ):
        scores = without_blocks([name], table, None)[name]
        assert scores == pytest.approx(np.array(expected), abs=1e-9, nan_ok=True)


def test_words_of_a_sentence_stay_together(read):
    rng = np.random.default_rng(2)
    gold = [
        [f"{head}:nmod:{kind}" for head, kind in zip(rng.integers(0, 3, n), "tp" * n)]
        for n in rng.integers(1, 9, EXAMPLES)
    ]
    predicted = [
        [rng.choice([arc, arc, "-1:_", arc[:-1] + "x", arc[0] + ":obj"]) for arc in arcs]
        for arcs in gold
    ]
    table = read(
        gold=list(map(" ".join, gold)), prediction=list(map(" ".join, predicted)), correct=0.5
    )
    words = np.array(list(map(len, gold)))
    for name, depth in (("uas", 1), ("las_ud", 2), ("las_full", 3), ("accuracy", 3)):
        right = [
            sum(a.split(":")[:depth] == b.split(":")[:depth] for a, b in zip(*pair))
            for pair in zip(gold, predicted)
        ]
        expected = each_without(lambda r, w: r.sum() / w.sum(), np.array(right), words)
        assert without_blocks([name], table, None)[name] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(without_blocks(["las_nopunct"], table, None)["las_nopunct"]).all()


def test_a_table_of_scores_and_its_blocks(read, tmp_path):
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 2, EXAMPLES)
    predictions_of_runs = [
        np.where(rng.uniform(size=EXAMPLES) < share, gold, 1 - gold) for share in (0.6, 0.9)
    ]
    value = np.array([accuracy_score(gold, predicted) for predicted in predictions_of_runs])
    table = pd.DataFrame({"model": "rte", "metric": "accuracy", "value": value, "majority": 0.5})
    runs = [{"scores": {"accuracy": score}} for score in value]
    predictions = [read(gold=gold, prediction=predicted) for predicted in predictions_of_runs]
    write_with_blocks(tmp_path / "rte.tsv", with_blocks(table, runs, predictions, ["0", "1"]))
    back = read_with_blocks(tmp_path / "rte.tsv")
    assert list(back)[:6] == ["model", "metric", "value", "low", "high", "majority"]
    jackknife = np.array(
        [each_without(accuracy_score, gold, predicted) for predicted in predictions_of_runs]
    )
    expected = np.array(interval(value, jackknife, SHARE)).T
    assert back[["low", "high"]].to_numpy() == pytest.approx(expected, abs=1e-9)
    write_with_blocks(tmp_path / "other.tsv", back.assign(delta=5 + back["value"]), "delta")
    low = read_tsv(tmp_path / "other.tsv")["low"].to_numpy()
    assert low == pytest.approx(interval(5 + value, jackknife)[0], abs=1e-9)


def test_predictions_that_were_not_scored_are_refused(tmp_path):
    gold = ["yes", "no"] * 20
    scores, predictions = tmp_path / "scores.json", tmp_path / "predictions.tsv"
    write_json(scores, {"scores": {"accuracy": 0.5, "f1": 2 / 3}, "rows": {"dev": 40}})
    write_tsv(predictions, pd.DataFrame({"gold": gold, "prediction": "yes"}))
    text = predictions.read_text()
    assert len(read_scored(scores, predictions, ["no", "yes"])[1]) == 40
    for damaged in (text[: len(text) // 2], text.replace("no\tyes", "yes\tyes", 1), ""):
        predictions.write_text(damaged)
        with pytest.raises(UserError, match=r"predictions\.tsv "):
            read_scored(scores, predictions, ["no", "yes"])


def test_a_collapsed_regressions_predictions_are_those_that_were_scored(tmp_path):
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 51, 40) / 10
    predicted = (2.5 + rng.uniform(0, 4e-6, 40)).astype(np.float32).astype(float)  # 17 values
    scores, predictions = tmp_path / "scores.json", tmp_path / "predictions.tsv"
    write_json(scores, {"scores": {"pearson": pearson(gold, predicted)}, "rows": {"dev": 40}})
    write_tsv(predictions, pd.DataFrame({"gold": gold, "prediction": predicted}))
    _, table = read_scored(scores, predictions, None)
    assert (table["prediction"] == predicted).all() and pearson(gold, predicted) != 0
    expected = [
        pearson(gold[outside_block], predicted[outside_block]) for outside_block in outside(40)
    ]
    assert without_blocks(["pearson"], table, None)["pearson"] == pytest.approx(
        expected, abs=1e-12
    )
