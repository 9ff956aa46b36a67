import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import f1_score, matthews_corrcoef

from bertshift.errors import UserError
from bertshift.files import read_tsv, write_json, write_tsv
from bertshift.rows.blocks import BLOCKS, block_of, interval, outside, read_with_blocks, write_with_blocks
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
    said = np.where(rng.uniform(size=EXAMPLES) < 0.7, gold, rng.integers(0, 3, EXAMPLES))
    names = np.array(["2", "0", "1"])  # a class's number is its place
    table = read(gold=names[gold], prediction=names[said])
    found = without_blocks(["accuracy", "f1", "mcc"], table, list(names))
    one = [side == 1 for side in (gold, said)]
    assert found["f1"] == pytest.approx(each_without(f1_score, *one), abs=1e-12)
    assert found["mcc"] == pytest.approx(each_without(matthews_corrcoef, gold, said), abs=1e-12)
    assert found["accuracy"] == pytest.approx(each_without(lambda a, b: (a == b).mean(), gold, said))

    gold = rng.integers(0, 6, EXAMPLES) / 2
    said = (gold + rng.normal(size=EXAMPLES)).astype(np.float32).astype(float)
    found = without_blocks(["pearson", "spearman"], read(gold=gold, prediction=said), None)
    for name, oracle in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        assert found[name] == pytest.approx(
            each_without(lambda a, b, r=oracle: r(a, b).statistic, gold, said), abs=1e-9
        )


def test_answers_are_averaged_over_the_questions_that_a_score_is_about(read):
    rng = np.random.default_rng(1)
    silent, f1 = rng.uniform(size=EXAMPLES) < 0.3, rng.uniform(size=EXAMPLES)
    table = read(gold=np.where(silent, "", "NA"), prediction="", f1=f1, exact_match=np.round(f1))
    names = ["f1", "exact_match", "no_answer_f1", "has_answer_exact_match", "best_f1", "best_f1_threshold"]
    found = without_blocks(names, table, None)
    assert found["f1"] == pytest.approx(each_without(np.mean, f1), abs=1e-9)
    assert found["no_answer_f1"] == pytest.approx(each_without(lambda f, s: f[s].mean(), f1, silent))
    exact = each_without(lambda f, s: np.round(f)[~s].mean(), f1, silent)
    assert found["has_answer_exact_match"] == pytest.approx(exact)
    assert np.isnan([found["best_f1"], found["best_f1_threshold"]]).all()


def test_words_of_a_sentence_stay_together(read):
    rng = np.random.default_rng(2)
    gold = [[f"{head}:nmod:{kind}" for head, kind in zip(rng.integers(0, 3, n), "tp" * n)] for n in rng.integers(1, 9, EXAMPLES)]  # fmt: skip
    said = [
        [
            arc if rng.uniform() < 0.6 else rng.choice(["-1:_", arc[:-1] + "x", arc[0] + ":obj"])
            for arc in arcs
        ]
        for arcs in gold
    ]
    cut = {"uas": lambda arc: arc.split(":")[:1], "las_ud": lambda arc: arc.split(":")[:2], "las_full": str}
    table = read(gold=list(map(" ".join, gold)), prediction=list(map(" ".join, said)), correct=0.5)
    found = without_blocks([*cut, "accuracy", "las_nopunct"], table, None)
    for name, part in {**cut, "accuracy": str}.items():
        right = np.array([sum(part(a) == part(b) for a, b in zip(*pair)) for pair in zip(gold, said)])
        words = np.array(list(map(len, gold)))
        expected = each_without(lambda r, w: r.sum() / w.sum(), right, words)
        assert found[name] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(found["las_nopunct"]).all()


def test_a_table_of_scores_and_its_blocks(read, tmp_path):
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 2, EXAMPLES)
    both = [np.where(rng.uniform(size=EXAMPLES) < share, gold, 1 - gold) for share in (0.6, 0.9)]
    value = [(said == gold).mean() for said in both]
    table = pd.DataFrame({"model": "rte", "metric": "accuracy", "value": value, "majority": 0.5})
    runs = [{"scores": {"accuracy": one}} for one in value]
    predictions = [read(gold=gold, prediction=said) for said in both]
    write_with_blocks(tmp_path / "rte.tsv", with_blocks(table, runs, predictions, ["0", "1"]))
    back = read_with_blocks(tmp_path / "rte.tsv")
    assert list(back)[:6] == ["model", "metric", "value", "low", "high", "majority"]
    left = np.array([each_without(lambda a, b: (a == b).mean(), gold, said) for said in both])
    assert back[["low", "high"]].to_numpy() == pytest.approx(
        np.array(interval(np.array(value), left, SHARE)).T, abs=1e-9
    )
    write_with_blocks(tmp_path / "other.tsv", back.assign(delta=5 + back["value"]), "delta")
    assert read_tsv(tmp_path / "other.tsv")["low"].to_numpy() == pytest.approx(
        interval(5 + np.array(value), left)[0], abs=1e-9
    )
    [alone] = without_blocks(["accuracy"], predictions[0].iloc[:1], ["0", "1"]).values()
    assert np.isnan(alone).all()


def test_predictions_that_were_not_scored_are_refused(tmp_path):
    gold = ["yes", "no"] * 20
    scores, predictions = tmp_path / "scores.json", tmp_path / "predictions.tsv"
    write_json(scores, {"scores": {"accuracy": 0.5, "f1": 2 / 3}, "rows": {"dev": 40}})
    write_tsv(predictions, pd.DataFrame({"gold": gold, "prediction": "yes"}))
    whole = predictions.read_text()
    assert len(read_scored(scores, predictions, ["no", "yes"])[1]) == 40
    for damaged in (whole[: len(whole) // 2], whole.replace("no\tyes", "yes\tyes", 1), ""):
        predictions.write_text(damaged)
        with pytest.raises(UserError, match=r"predictions\.tsv "):
            read_scored(scores, predictions, ["no", "yes"])


def test_a_collapsed_regressions_predictions_are_those_that_were_scored(tmp_path):
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 51, 40) / 10
    said = (2.5 + rng.uniform(0, 4e-6, 40)).astype(np.float32).astype(float)  # 17 values
    score = pearson(gold, said)
    assert score != 0
    write_json(tmp_path / "scores.json", {"scores": {"pearson": score}, "rows": {"dev": 40}})
    write_tsv(tmp_path / "predictions.tsv", pd.DataFrame({"gold": gold, "prediction": said}))
    _, table = read_scored(tmp_path / "scores.json", tmp_path / "predictions.tsv", None)
    assert (table["prediction"] == said).all()
    assert without_blocks(["pearson"], table, None)["pearson"] == pytest.approx(
        [pearson(gold[kept], said[kept]) for kept in outside(40)], abs=1e-12
    )
