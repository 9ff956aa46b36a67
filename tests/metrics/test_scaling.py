"""Measures at extreme magnitudes, about large offsets, and where they are undefined.

Oracles are written out in extended precision.
"""

import numpy as np
import pytest
import torch

import bertshift
from bertshift.errors import UserError
from bertshift.metrics import cka, layer_cka, procrustes, pwcca, spectra
from bertshift.metrics.rsa import Deleted, similarity_rows
from bertshift.metrics.scatter import Centred, scatter
from bertshift.metrics.svcca import Principal


def exact(x):
    """x in extended precision, divided by its largest magnitude."""
    return x.astype(np.longdouble) / np.abs(x).max()


def pearson_of_distances(x, y):
    """RSA from the squared distances of unit rows, 2 - 2 cos, one for each pair."""
    upper, found = np.triu_indices(len(x), 1), []
    for z in (exact(x), exact(y)):
        unit = z / np.sqrt((z**2).sum(axis=1, keepdims=True))
        distances = ((unit[:, None] - unit) ** 2).sum(axis=-1)[upper]
        found.append(distances - distances.mean())
    a, b = found
    return float(a @ b / np.sqrt(a @ a * (b @ b)))


def kernel_alignment(x, y):
    """Debiased CKA from n x n kernels (Song et al. 2012)."""
    k, l = ((z - z.mean(0)) @ (z - z.mean(0)).T for z in (exact(x), exact(y)))
    k, l = (one - np.diag(np.diag(one)) for one in (k, l))
    n = len(k)

    def hsic(a, b):
        means = a.sum() * b.sum() / ((n - 1) * (n - 2))
        return np.sum(a * b) + means - 2 * (a.sum(0) @ b.sum(0)) / np.longdouble(n - 2)

    return float(hsic(k, l) / np.sqrt(hsic(k, k) * hsic(l, l)))


def cosine_of_maps(x, y):
    p, q = exact(x).ravel(), exact(y).ravel()
    return float(p @ q / np.sqrt(p @ p * (q @ q)))


def parts(x, y):
    x, y = Centred.of(x), Centred.of(y)
    return scatter(x, x), scatter(x, y), scatter(y, y)


def weighted_by_x(x, y):
    xx, xy, yy = parts(x, y)
    side, other = Principal.of(xx), Principal.of(yy)
    rho, coordinates, _ = pwcca.variates(side, other, xy, 3, 3)
    return pwcca.distance(rho, pwcca.weights(side, coordinates))


MEASURES = {
    "rsa": bertshift.rsa,
    "svcca": bertshift.svcca,
    "cka": bertshift.cka,
    "cosine": lambda x, y: bertshift.cosine(abs(x[:, :4]), abs(y)),
    "cka_biased": lambda x, y: cka.biased(*parts(x, y)),
    "layer_cka": lambda x, y: layer_cka.all_pairs([Centred.of(x), Centred.of(y)])[0][0, 1],
    "procrustes": lambda x, y: procrustes.distance(*parts(x, y)),
    "pwcca": weighted_by_x,
    "spectra": lambda x, y: spectra.shares(np.linalg.svd(x / 4)[1], 1),
}
ORACLES = {
    "rsa": pearson_of_distances,
    "cka": kernel_alignment,
    "layer_cka": kernel_alignment,
    "cosine": lambda x, y: cosine_of_maps(abs(x[:, :4]), abs(y)),
}


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 5)) + 0.5
    return x, x @ rng.normal(size=(5, 4)) + rng.normal(size=(60, 4))


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e100, 1e300])
@pytest.mark.parametrize("measure", MEASURES)
def test_no_measure_depends_on_scale(measure, scale, states):
    x, y = states
    of = MEASURES[measure]
    expected = ORACLES.get(measure, of)(x, y)
    assert [of(scale * x, y), of(x, scale * y), of(scale * x, scale * y)] == pytest.approx(
        [expected] * 3, rel=1e-9
    )


@pytest.mark.parametrize("offset", [30, 1e4, 1e7, 1e10])
@pytest.mark.parametrize("measure", ["rsa", "cka"])
def test_a_common_offset_costs_less_than_a_millionth(measure, offset, states):
    x, y = states
    for a, b in ((x + offset, y), (x + offset, y - offset)):
        assert MEASURES[measure](a, b) == pytest.approx(ORACLES[measure](a, b), abs=1e-7)


@pytest.mark.parametrize("measure", ["rsa", "svcca", "cka"])
def test_what_is_rounding_alone_is_refused(measure, states):
    x, y = states
    narrow = (x + 1e7).astype(np.float32)  # of float32, the rounding is 1
    for flat in (np.full((60, 5), 0.1), x + 1e13, narrow, torch.tensor(narrow)):
        with pytest.raises(UserError, match="do not vary|equally similar"):
            MEASURES[measure](flat, y)
    for number in (np.nan, np.inf):
        with pytest.raises(UserError, match="y has a number that is not finite"):
            MEASURES[measure](x, np.where(y == y[3, 1], number, y))


@pytest.mark.parametrize("offset", [0, 1, 1e4, 1e8])
@pytest.mark.parametrize("tokens", [8, 60])
def test_one_token_apart_from_all_others(tokens, offset, states):
    """The unbiased HSIC of such states with themselves is 0; their RSA is defined."""
    x, y = (one[:tokens] for one in states)
    apart = np.ones_like(x) + offset
    apart[3] += x[3]
    with pytest.raises(UserError, match="All tokens but one are equal"):
        bertshift.cka(apart, y)
    found, _ = layer_cka.all_pairs([Centred.of(apart), Centred.of(y)])
    assert np.isnan(found[0]).all() and found[1, 1] == pytest.approx(1)
    assert bertshift.rsa(apart, y) == pytest.approx(pearson_of_distances(apart, y), abs=1e-7)


def test_tokens_that_are_all_equally_far_apart(states):
    orthogonal = np.linalg.qr(np.random.default_rng(1).normal(size=(60, 60)))[0]
    with pytest.raises(UserError, match="equally similar"):
        bertshift.rsa(orthogonal, states[1])
    with pytest.raises(UserError, match="equally far apart"):
        bertshift.cka(orthogonal, states[1])


@pytest.mark.parametrize("offsets", [(1e3, 0), (1e3, 1e4)])
def test_rsa_of_narrow_states_without_each_block(offsets, states):
    x, y = (one + offset for one, offset in zip(states, offsets, strict=True))
    blocks = [slice(0, 20), slice(20, 24), slice(24, 60)]
    deleted, u, v = Deleted(blocks), similarity_rows(x), similarity_rows(y)
    expected = [
        pearson_of_distances(*(np.delete(one, block, axis=0) for one in (x, y)))
        for block in (slice(0, 0), *blocks)
    ]
    assert deleted.correlations(u, v, deleted.own(v)) == pytest.approx(expected, abs=1e-9)
