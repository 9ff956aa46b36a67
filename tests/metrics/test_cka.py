from itertools import permutations

import numpy as np
import pytest

from bertshift.errors import UserError
from bertshift.metrics import cka
from bertshift.metrics.scatter import Centred, scatter


def parts(x, y):
    x, y = Centred.of(x), Centred.of(y)
    return scatter(x, x), scatter(x, y), scatter(y, y), x.squares, y.squares


def biased(x, y):
    return cka.biased(*parts(x, y)[:3])


def debiased(x, y):
    return cka.debiased(*parts(x, y))


def hsic(k, l):
    """Song et al. 2012, term by term from n x n kernels."""
    n, ones = len(k), np.ones(len(k))
    k, l = (kernel - np.diag(np.diag(kernel)) for kernel in (k, l))
    products = np.trace(k @ l) + ones @ k @ ones * (ones @ l @ ones) / ((n - 1) * (n - 2))
    return (products - 2 / (n - 2) * ones @ k @ l @ ones) / (n * (n - 3))


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 20)) * np.geomspace(5, 0.1, 20) + 30
    return x, x[:, :15] + rng.normal(size=(120, 15)) + 3


def test_same_as_gram_matrices(states):
    k, l = (z @ z.T for z in states)
    assert debiased(*states) == pytest.approx(hsic(k, l) / np.sqrt(hsic(k, k) * hsic(l, l)), rel=1e-9)
    centring = np.eye(120) - 1 / 120
    k, l = (centring @ kernel @ centring for kernel in (k, l))
    expected = np.sum(k * l) / np.linalg.norm(k) / np.linalg.norm(l)
    assert biased(*states) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("of", [biased, debiased])
def test_invariances(states, of):
    x, y = states
    rng = np.random.default_rng(1)
    rotation = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    assert of(3 * x @ rotation - 7, y) == pytest.approx(of(x, y), rel=1e-9)
    assert of(x, 0.1 * x @ rotation) == pytest.approx(1, abs=1e-9)
    assert abs(of(x @ rng.normal(size=(20, 20)), y) - of(x, y)) > 0.01


def test_mean_over_all_orders_is_the_null():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    orders = [y[list(order)] for order in permutations(range(6))]
    xx, _, yy, *_ = parts(x, y)
    assert np.mean([debiased(x, z) for z in orders]) == pytest.approx(0, abs=1e-12)
    assert np.mean([biased(x, z) for z in orders]) == pytest.approx(cka.null_biased(6, xx, yy), rel=1e-9)


def test_wide_independent_states_look_alike_only_to_the_biased_form():
    x, y = np.random.default_rng(0).normal(size=(2, 150, 150))
    assert biased(x, y) > 0.4 and abs(debiased(x, y)) < 0.05


def test_too_few_tokens():
    with pytest.raises(UserError, match="at least 4 tokens and got 3"):
        debiased(np.eye(3), np.eye(3))
