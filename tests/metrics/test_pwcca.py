import numpy as np
import pytest

from bertshift.metrics import pwcca
from bertshift.metrics.scatter import Centred, scatter
from bertshift.metrics.svcca import Principal, null_distance


def by_both(x, y, share=1.0):
    """(distance weighted by x, by y)."""
    x, y = Centred.of(x), Centred.of(y)
    sides = [Principal.of(scatter(side, side)) for side in (x, y)]
    rho, *coordinates = pwcca.variates(*sides, scatter(x, y), *(side.kept(share) for side in sides))
    return [pwcca.distance(rho, pwcca.weights(*side)) for side in zip(sides, coordinates, strict=True)]


def by_definition(x, y, share):
    """Variates [n, c] themselves, from decompositions of the n x d matrices."""
    x, y = (z - z.mean(axis=0) for z in (x, y))
    bases = []
    for z in (x, y):
        u, s, _ = np.linalg.svd(z, full_matrices=False)
        bases.append(u[:, : int(np.argmax(np.cumsum(s**2) / np.sum(s**2) >= share - 1e-12)) + 1])
    a, rho, b = np.linalg.svd(bases[0].T @ bases[1], full_matrices=False)
    found = []
    for z, variates in ((x, bases[0] @ a), (y, bases[1] @ b.T)):
        alpha = np.abs(variates.T @ z).sum(axis=1)
        found.append(1 - alpha @ rho / alpha.sum())
    return found


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 20)) @ rng.normal(size=(20, 20)) * np.geomspace(5, 0.05, 20) + 4
    return x, (x + rng.normal(size=x.shape) * 0.5)[:, :16]


@pytest.mark.parametrize("share", [0.99, 1.0])
def test_same_as_the_definition(states, share):
    assert by_both(*states, share) == pytest.approx(by_definition(*states, share), abs=1e-9)


def test_invariant_to_maps_of_the_side_that_does_not_weigh(states):
    x, y = states
    rng = np.random.default_rng(1)
    by_x, by_y = by_both(x, y)
    assert by_both(x, 2 * y @ rng.normal(size=(16, 16)) + 5)[0] == pytest.approx(by_x, abs=1e-8)
    assert by_both(3 * x - 1, y) == pytest.approx([by_x, by_y], abs=1e-9)
    rotation = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    assert abs(by_both(x, y @ rotation)[1] - by_y) > 1e-3
    assert by_both(x, x @ rng.normal(size=(20, 20))) == pytest.approx([0, 0], abs=1e-7)


def test_independent_states_are_as_far_apart_as_by_svcca():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1000, 90)), rng.normal(size=(1000, 60))
    assert by_both(x, y) == pytest.approx([null_distance(1000, 90, 60)] * 2, abs=0.02)
