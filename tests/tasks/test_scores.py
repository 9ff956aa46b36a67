import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from bertshift.tasks import scores

rng = np.random.default_rng(0)


@pytest.mark.parametrize("classes", [2, 3])
def test_class_scores_agree_with_sklearn(classes):
    gold, predicted = rng.integers(classes, size=(2, 200))
    assert scores.accuracy(gold, predicted) == pytest.approx(
        metrics.accuracy_score(gold, predicted)
    )
    assert scores.mcc(gold, predicted) == pytest.approx(metrics.matthews_corrcoef(gold, predicted))
    expected = metrics.f1_score(gold, predicted, labels=[1], average="macro")
    assert scores.f1(gold, predicted) == pytest.approx(expected)
    for said in (predicted, np.full(200, 3)):  # of a class that gold has not, too
        expected = metrics.f1_score(gold, said, average="macro")
        assert scores.macro_f1(gold, said) == pytest.approx(expected)


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
    assert (
        scores.normalise_answer(' The "Norman"  conquest, of a\tland. ')
        == "norman conquest of land"
    )
    assert scores.normalise_answer("theatre-an") == "theatrean"
    assert scores.exact_match("the Eiffel Tower!", "Eiffel tower") == 1
    # 2 common words of 3 and 4: precision 2/3, recall 2/4
    assert scores.token_f1("cold river water", "the river of cold rain") == pytest.approx(
        2 * 2 / 7
    )
    assert scores.token_f1("b b c", "b c c") == pytest.approx(2 * 2 / 6)
    assert scores.token_f1("the", "") == 1 and scores.token_f1("x", "") == 0 == scores.token_f1(
        "x", "y"
    )


def test_best_threshold_is_the_best_of_all_by_brute_force():
    for _ in range(20):
        margin = rng.integers(-4, 5, size=12).astype(float)  # with ties
        spoken, silent = rng.random((2, 12)).round(1)

        def at(threshold, margin=margin, spoken=spoken, silent=silent):
            return np.where(margin > threshold, silent, spoken).mean()

        best, threshold = scores.best_threshold(margin, spoken, silent)
        assert best == pytest.approx(max(at(t) for t in (-99, *margin)))
        assert at(threshold) == pytest.approx(best)


def test_ties_of_the_most_frequent_go_to_training_then_to_the_first():
    assert scores.most_frequent("abc", "aabbc", "ccb") == "b"
    assert scores.most_frequent("abc", "aabbc", "ccba") == "a"
    assert scores.most_frequent("bc", "aaa", "") == "b"
