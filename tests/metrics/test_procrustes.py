import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from bertshift.metrics import procrustes
from bertshift.metrics.scatter import Centred, scatter


def distance(x, y):
    x, y = Centred.of(x), Centred.of(y)
    return procrustes.distance(scatter(x, x), scatter(x, y), scatter(y, y))


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 12)) * np.geomspace(5, 0.1, 12) + 9
    return x, x + rng.normal(size=x.shape)


def test_half_of_what_the_best_rotation_leaves(states):
    x, y = (z - z.mean(axis=0) for z in states)
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    rotation, _ = orthogonal_procrustes(y, x)
    left = np.linalg.norm(x - y @ rotation) ** 2 / 2
    assert distance(*states) == pytest.approx(left, abs=1e-12) and left > 0.01
    # narrower states are compared as if their missing dimensions were 0
    padded = np.hstack([states[1][:, :7], np.zeros((200, 5))])
    assert distance(states[0], padded[:, :7]) == pytest.approx(distance(states[0], padded), abs=1e-12)


def test_invariances(states):
    x, y = states
    rng = np.random.default_rng(1)
    rotation = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    assert distance(3 * x @ rotation - 7, y) == pytest.approx(distance(x, y), abs=1e-12)
    assert distance(x, 0.1 * x @ rotation) == pytest.approx(0, abs=1e-12)
    assert abs(distance(x @ rng.normal(size=(12, 12)), y) - distance(x, y)) > 0.01
