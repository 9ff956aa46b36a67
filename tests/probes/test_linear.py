import numpy as np
import pytest
from scipy.special import softmax

from bertshift.probes.linear import STRENGTHS, Linear, logistic_regression, probe, ridge


@pytest.fixture(scope="module")
def data():
    """Features of unequal scale, three unbalanced classes and a number, all noisy functions of some of the features."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(240, 6)) @ rng.normal(size=(6, 6)) + rng.normal(size=6)
    logits = features[:, :3] + rng.gumbel(size=(240, 3)) * 2 + [0, 1, 2]
    return features, logits.argmax(1), features @ rng.normal(size=6) + rng.normal(size=240) * 3 + 7


def newton(features, targets, classes, l2):
    """The same minimum by Newton's method with the whole Hessian, which is singular in a shift of all biases."""
    x = np.hstack([features, np.ones((len(features), 1))])
    penalty = np.kron(np.diag([1.0] * features.shape[1] + [0.0]) * l2, np.eye(classes))
    weights = np.zeros((x.shape[1], classes))
    for _ in range(40):
        p = softmax(x @ weights, axis=1)
        gradient = (x.T @ (p - np.eye(classes)[targets]) / len(x)).ravel() + penalty @ weights.ravel()
        curvature = p[:, :, None] * np.eye(classes) - p[:, :, None] * p[:, None, :]
        hessian = np.einsum("ni,nj,nab->iajb", x, x, curvature) / len(x)
        hessian = hessian.reshape(weights.size, weights.size) + penalty
        weights -= (np.linalg.pinv(hessian) @ gradient).reshape(weights.shape)
    assert np.abs(gradient).max() < 1e-10
    return Linear(weights[:-1], weights[-1])


@pytest.mark.parametrize("l2", [1.0, 1e-2, 1e-4])
def test_logistic_regression_is_newtons_minimum(data, l2):
    features, targets, _ = data
    ours, theirs = logistic_regression(features, targets, 3, l2), newton(features, targets, 3, l2)
    assert ours.weights == pytest.approx(theirs.weights, abs=2e-4)
    assert ours.bias - ours.bias.mean() == pytest.approx(theirs.bias - theirs.bias.mean(), abs=5e-4)


def test_where_it_starts_does_not_matter(data):
    features, targets, _ = data
    start = Linear(np.ones((6, 3)) * [1, -2, 3], np.array([4.0, 0, -4]))
    cold, warm = (logistic_regression(features, targets, 3, 1e-2, first) for first in (None, start))
    assert warm(features) - warm(features).mean(1, keepdims=True) == pytest.approx(
        cold(features) - cold(features).mean(1, keepdims=True), abs=1e-3
    )


@pytest.mark.parametrize("l2", [10.0, 1e-3])
def test_ridge_is_least_squares_with_the_penalty_as_rows(data, l2):
    features, _, values = data
    n, width = features.shape
    rows = np.hstack([features, np.ones((n, 1))])
    penalty = np.hstack([np.sqrt(n * l2) * np.eye(width), np.zeros((width, 1))])
    solution, *_ = np.linalg.lstsq(np.vstack([rows, penalty]), np.append(values, np.zeros(width)), rcond=None)
    ours = ridge(features, values, l2)
    assert np.append(ours.weights, ours.bias) == pytest.approx(solution, rel=1e-8)


def test_without_weights_a_probe_says_the_shares_of_the_classes(data):
    features, targets, values = data
    strong = logistic_regression(features, targets, 4, 1e6)
    shares = np.bincount(targets, minlength=4) / len(targets)
    assert softmax(strong(features), axis=1) == pytest.approx(np.tile(shares, (240, 1)), abs=1e-4)
    assert ridge(features, values, 1e9)(features) == pytest.approx(values.mean(), rel=1e-6)


def test_units_and_origin_of_features_do_not_matter(data):
    features, targets, values = data
    other = features * [1, 10, 0.1, 5, 1, 2] + 3
    for gold, classes in ((targets, 3), (values, None)):
        (one, l2), (two, same) = probe(features, gold, classes, "x"), probe(other, gold, classes, "x")
        assert l2 == same and two(other) == pytest.approx(one(features), abs=1e-3)


def test_the_strength_is_chosen_on_examples_left_out():
    """Many features of few examples: nothing to learn calls for the strongest, a clear rule for a weak one."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(100, 60))
    noise, rule = rng.integers(0, 2, 100), (features[:, 0] > 0).astype(int)
    assert probe(features, noise, 2, "x")[1] == STRENGTHS[0]
    assert probe(features, rule, 2, "x")[1] < 0.1
    assert probe(features, 3 * features[:, 0], None, "x")[1] == STRENGTHS[-1]


def test_features_that_do_not_vary_are_harmless(data):
    features, targets, _ = data
    flat = np.hstack([features, np.full((240, 2), 0.3) + 1e-9 * targets[:, None]])
    (with_flat, _), (without, _) = probe(flat, targets, 3, "x"), probe(features, targets, 3, "x")
    assert with_flat(flat) == pytest.approx(without(features), abs=1e-3)
