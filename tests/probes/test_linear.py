import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from bertshift.probes.linear import STRENGTHS, Linear, logistic_regression, probe, ridge


@pytest.fixture(scope="module")
def data():
    """Features of unequal scale, three unbalanced classes and a number, all noisy functions of
    some of the features."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(240, 6)) @ rng.normal(size=(6, 6)) + rng.normal(size=6)
    logits = features[:, :3] + rng.gumbel(size=(240, 3)) * 2 + [0, 1, 2]
    return features, logits.argmax(1), features @ rng.normal(size=6) + rng.normal(size=240) * 3 + 7


@pytest.mark.parametrize(
    "start", [None, Linear(np.ones((6, 3)) * [1, -2, 3], np.array([4.0, 0, -4]))]
)
@pytest.mark.parametrize("l2", [1.0, 1e-2, 1e-4])
def test_logistic_regression_is_scikit_learns_wherever_it_starts(data, l2, start):
    features, targets, _ = data
    ours = logistic_regression(features, targets, 3, l2, start)
    theirs = LogisticRegression(C=1 / (240 * l2), tol=1e-9, solver="newton-cg", max_iter=1000)
    theirs.fit(features, targets)
    centered = ours.weights - ours.weights.mean(1, keepdims=True)
    assert centered == pytest.approx(theirs.coef_.T, abs=2e-4)
    intercept = theirs.intercept_ - theirs.intercept_.mean()
    assert ours.bias - ours.bias.mean() == pytest.approx(intercept, abs=5e-4)


@pytest.mark.parametrize("l2", [10.0, 1e-3])
def test_ridge_is_scikit_learns(data, l2):
    features, _, values = data
    ours, theirs = ridge(features, values, l2), Ridge(alpha=240 * l2).fit(features, values)
    expected = np.append(theirs.coef_, theirs.intercept_)
    assert np.append(ours.weights, ours.bias) == pytest.approx(expected, rel=1e-8)


def test_units_and_origin_of_features_do_not_matter_nor_do_features_that_do_not_vary(data):
    features, targets, values = data
    constant = np.full((240, 2), 0.3) + 1e-9 * targets[:, None]
    scaled = np.hstack([features * [1, 10, 0.1, 5, 1, 2] + 3, constant])
    for gold, classes in ((targets, 3), (values, None)):
        expected, expected_l2 = probe(features, gold, classes, "x")
        ours, l2 = probe(scaled, gold, classes, "x")
        assert l2 == expected_l2 and ours(scaled) == pytest.approx(expected(features), abs=1e-3)


def test_the_strength_is_chosen_on_examples_left_out():
    """Many features of few examples: noise calls for the strongest, a clear rule for a weak
    one."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(100, 60))
    noise, rule = rng.integers(0, 2, 100), (features[:, 0] > 0).astype(int)
    assert probe(features, noise, 2, "x")[1] == STRENGTHS[0]
    assert probe(features, rule, 2, "x")[1] < 0.1
    assert probe(features, 3 * features[:, 0], None, "x")[1] == STRENGTHS[-1]
