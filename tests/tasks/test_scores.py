import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from bertshift.tasks import scores

rng = np.random.default_rng(0)


@pytest.mark.parametrize("classes", [2, 3])
def test_class_scores_agree_with_sklearn(classes):
    gold, predicted = rng.integers(classes, size=(2, 200))
    expected = {
        scores.accuracy: metrics.accuracy_score(gold, predicted),
        scores.mcc: metrics.matthews_corrcoef(gold, predicted),
        scores.f1: metrics.f1_score(gold, predicted, labels=[1], average="macro"),
        scores.macro_f1: metrics.f1_score(gold, predicted, average="macro"),
    }
    for score, value in expected.items():
        assert score(gold, predicted) == pytest.approx(value)
    assert scores.macro_f1(gold, gold * 0 + 3) == 0  # a class that gold lacks


def test_correlations_agree_with_scipy():
    gold = rng.integers(6, size=200) / 5  # with ties
    predicted = gold + rng.normal(size=200)
    assert scores.pearson(gold, predicted) == pytest.approx(stats.pearsonr(gold, predicted)[0])
    assert scores.spearman(gold, predicted) == pytest.approx(stats.spearmanr(gold, predicted)[0])


def test_constant_predictions_correlate_with_nothing():
    gold = np.array([0, 1, 1, 0])
    collapsed = np.float32(2.5) + np.float32([0, 2e-7, 0, -2e-7])
    assert scores.mcc(gold, np.ones(4, int)) == 0
    assert scores.pearson(gold, collapsed) == scores.spearman(gold, collapsed) == 0
    assert scores.pearson(gold, np.zeros(4)) == 0
    assert scores.f1([0, 0], [0, 0]) == 0


def test_answers_are_normalised_as_the_official_scripts_do():
    normalised = scores.normalise_answer(' The "Norman"  conquest, of a\tland. ')
    assert normalised == "norman conquest of land"
    assert scores.normalise_answer("theatre-an") == "theatrean"
    assert scores.exact_match("the Eiffel Tower!", "Eiffel tower") == 1


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        ("cold river water", "the river of cold rain", 2 * 2 / 7),  # precision 2/3, recall 2/4
        ("b b c", "b c c", 2 * 2 / 6),
        ("the", "", 1),
        ("x", "", 0),
        ("x", "y", 0),
    ],
)
def test_f1_of_words(prediction, gold, expected):
    assert scores.token_f1(prediction, gold) == pytest.approx(expected)


def test_best_threshold_is_the_best_of_all_by_brute_force():
    for _ in range(20):
        margin = rng.integers(-4, 5, size=12).astype(float)  # with ties
        answered, empty = rng.random((2, 12)).round(1)
        best, threshold = scores.best_threshold(margin, answered, empty)
        means = {
            t: np.where(margin > t, empty, answered).mean() for t in (-99, threshold, *margin)
        }
        assert best == pytest.approx(max(means.values())) == pytest.approx(means[threshold])


def test_ties_of_the_most_frequent_go_to_training_then_to_the_first():
    assert scores.most_frequent("abc", "aabbc", "ccb") == "b"
    assert scores.most_frequent("abc", "aabbc", "ccba") == "a"
    assert scores.most_frequent("bc", "aaa", "") == "b"
