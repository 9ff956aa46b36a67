import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from bertshift.errors import UserError
from bertshift.files import read_tsv, write_json, write_tsv
from bertshift.measures import SHARE
from bertshift.rows.blocks import BLOCKS, block_of, interval
from bertshift.rows.scored import (
    as_ratings,
    read_predictions,
    read_scored,
    with_blocks,
    without_blocks,
)
from bertshift.rows.table import Table
from bertshift.tasks.scores import pearson

EXAMPLES = 110
BLOCK = block_of(EXAMPLES)


@pytest.fixture
def read(tmp_path):
    """Columns as they come back from a predictions.tsv."""

    def make(**columns):
        write_tsv(tmp_path / "predictions.tsv", pd.DataFrame(columns))
        return read_predictions(tmp_path / "predictions.tsv")

    return make


def jackknife(function, *columns):
    return [function(*(column[BLOCK != block] for column in columns)) for block in range(BLOCKS)]


def test_classes_are_scored_again(read):
    gold, predicted = np.random.default_rng(0).integers(0, 3, (2, EXAMPLES))
    names = np.array(["2", "0", "1"])  # a class's number is its position
    table = read(gold=names[gold], prediction=names[predicted])
    scores = without_blocks(["f1", "mcc", "accuracy"], table, names)
    accuracy = jackknife(accuracy_score, gold, predicted)
    assert scores["accuracy"] == pytest.approx(accuracy, abs=1e-12)
    f1 = jackknife(lambda a, b: f1_score(a == 1, b == 1), gold, predicted)
    assert scores["f1"] == pytest.approx(f1, abs=1e-12)
    mcc = jackknife(matthews_corrcoef, gold, predicted)
    assert scores["mcc"] == pytest.approx(mcc, abs=1e-12)


def test_ratings_are_scored_again(read):
    gold, predicted = np.random.default_rng(0).normal(size=(2, EXAMPLES))
    predicted = predicted.astype(np.float32).astype(float)  # as a model gives them
    ratings = as_ratings(read(gold=gold, prediction=predicted), "predictions.tsv")
    scores = without_blocks(["spearman", "pearson"], ratings, None)
    expected = jackknife(lambda a, b: stats.spearmanr(a, b).statistic, gold, predicted)
    assert scores["spearman"] == pytest.approx(expected, abs=1e-9)
    expected = jackknife(lambda a, b: stats.pearsonr(a, b).statistic, gold, predicted)
    assert scores["pearson"] == pytest.approx(expected, abs=1e-9)


def test_one_example_has_no_score_without_it(read):
    [scores] = without_blocks(["accuracy"], read(gold=["a"], prediction=["a"]), ["a"]).values()
    assert np.isnan(scores).all()


def test_answers_are_averaged_over_the_questions_that_a_score_is_about(read):
    rng = np.random.default_rng(1)
    silent, f1 = rng.uniform(size=EXAMPLES) < 0.3, rng.uniform(size=EXAMPLES)
    table = read(gold=np.where(silent, "", "NA"), prediction="", f1=f1, exact_match=np.round(f1))
    for name, expected in (
        ("f1", jackknife(np.mean, f1)),
        ("no_answer_f1", jackknife(lambda f, s: f[s].mean(), f1, silent)),
        ("has_answer_exact_match", jackknife(lambda f, s: np.round(f)[~s].mean(), f1, silent)),
        ("best_f1_threshold", [np.nan] * BLOCKS),
    ):
        scores = without_blocks([name], table, None)[name]
        assert scores == pytest.approx(np.array(expected), abs=1e-9, nan_ok=True)


def test_words_of_a_sentence_stay_together(read):
    rng = np.random.default_rng(2)
    gold = np.array([f"{head}:nmod:{kind}" for head in range(3) for kind in "tp"])
    gold = [rng.choice(gold, n) for n in rng.integers(1, 9, EXAMPLES)]
    predicted = [
        [rng.choice([arc, arc, "-1:_", arc[:-1] + "x", arc[0] + ":obj"]) for arc in arcs]
        for arcs in gold
    ]
    columns = {"gold": map(" ".join, gold), "prediction": map(" ".join, predicted)}
    table = read(**columns, correct=0.5)
    words = np.array(list(map(len, gold)))
    for name, depth in (("uas", 1), ("las_ud", 2), ("las_full", 3), ("accuracy", 3)):
        right = [
            sum(a.split(":")[:depth] == b.split(":")[:depth] for a, b in zip(*pair))
            for pair in zip(gold, predicted)
        ]
        expected = jackknife(lambda r, w: r.sum() / w.sum(), np.array(right), words)
        assert without_blocks([name], table, None)[name] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(without_blocks(["las_nopunct"], table, None)["las_nopunct"]).all()


def test_a_table_of_scores_and_its_blocks(read, tmp_path):
    gold, *runs = np.random.default_rng(3).integers(0, 2, (3, EXAMPLES))
    value = np.array([accuracy_score(gold, predicted) for predicted in runs])
    table = pd.DataFrame({"metric": "accuracy", "value": value, "majority": 0.5})
    scores = [{"scores": {"accuracy": accuracy}} for accuracy in value]
    predictions = [read(gold=gold, prediction=predicted) for predicted in runs]
    with_blocks(table, scores, predictions, ["0", "1"]).write(tmp_path / "rte.tsv")
    table = Table.read(tmp_path / "rte.tsv")
    without = np.array([jackknife(accuracy_score, gold, predicted) for predicted in runs])
    expected = np.array(interval(value, without, SHARE)).T
    assert table.rows[["low", "high"]].to_numpy() == pytest.approx(expected, abs=1e-9)
    table.assign(delta=5 + table["value"]).write(tmp_path / "delta.tsv", "delta")
    low = read_tsv(tmp_path / "delta.tsv")["low"].to_numpy()
    assert low == pytest.approx(interval(5 + value, without)[0], abs=1e-9)


def test_predictions_that_were_not_scored_are_refused(tmp_path):
    gold = ["yes", "no"] * 20
    files = tmp_path / "scores.json", tmp_path / "predictions.tsv"
    write_json(files[0], {"scores": {"accuracy": 0.5, "f1": 2 / 3}, "rows": {"dev": 40}})
    write_tsv(files[1], pd.DataFrame({"gold": gold, "prediction": "yes"}))
    text = files[1].read_text()
    assert len(read_scored(*files, ["no", "yes"])[1]) == 40
    for damaged in (text[: len(text) // 2], text.replace("no\tyes", "yes\tyes", 1), ""):
        files[1].write_text(damaged)
        with pytest.raises(UserError, match=r"predictions\.tsv "):
            read_scored(*files, ["no", "yes"])


@pytest.mark.parametrize("labels", [
    ["false", "true"], ["1e3", "2e3"], ["01", "1"], ["1.0", "1.00"], ["NA", "null"], ["nan", "inf"],
    ["", "None"], [" a", "a "], ["a\rb", 'a"\tb'],
])  # fmt: skip
def test_labels_are_text_whatever_they_look_like(labels, tmp_path):
    gold = labels * 20
    files = tmp_path / "scores.json", tmp_path / "predictions.tsv"
    write_json(files[0], {"scores": {"accuracy": 0.5, "f1": 2 / 3}, "rows": {"dev": 40}})
    write_tsv(files[1], pd.DataFrame({"gold": gold, "prediction": labels[1]}))
    _, table = read_scored(*files, labels)
    assert table["gold"].tolist() == gold and set(table["prediction"]) == {labels[1]}


def test_a_collapsed_regressions_predictions_are_those_that_were_scored(tmp_path):
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 51, 40) / 10
    predicted = (2.5 + rng.uniform(0, 4e-6, 40)).astype(np.float32).astype(float)  # 17 values
    files = tmp_path / "scores.json", tmp_path / "predictions.tsv"
    write_json(files[0], {"scores": {"pearson": pearson(gold, predicted)}, "rows": {"dev": 40}})
    write_tsv(files[1], pd.DataFrame({"gold": gold, "prediction": predicted}))
    _, table = read_scored(*files, None)
    assert (table["prediction"] == predicted).all() and pearson(gold, predicted) != 0
    files[1].write_text(files[1].read_text().replace("2.5", "two", 1))
    with pytest.raises(UserError, match=r"predictions\.tsv is damaged"):
        read_scored(*files, None)
