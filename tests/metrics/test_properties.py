"""Every measure of two matrices beside its definition, at any scale, and what leaves it as it
is."""

from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from
from metrics import oracles

import bertshift
from bertshift.errors import UserError
from bertshift.metrics import cka, layer_cka, procrustes, pwcca, rsa, spectra, svcca
from bertshift.metrics.hidden_states import CenteredStates, Comparison, Moments

drawing = settings(max_examples=8, deadline=None, derandomize=True, database=None)
SCALES = (1e-300, 1e-100, 1, 1e100, 1e300)


def moments_of(x, y) -> Moments:
    return Comparison.of(*map(CenteredStates.of, (x, y))).moments


def by_svcca(x, y, variant):
    return svcca.svcca(x, y)[variant]["value"]


def by_variates(x, y, share, weighing):
    moments = moments_of(x, y)
    sides = moments.principal()
    rho, *coordinates = pwcca.variates(
        *sides, moments.xy, *(side.count_for(share) for side in sides)
    )
    return pwcca.distance(rho, pwcca.weights(sides[weighing], coordinates[weighing]))


def of_layers(x, y):
    return layer_cka.all_pairs([CenteredStates.of(x), CenteredStates.of(y)])[0][0, 1]


class Measure(NamedTuple):
    """`invariances` are the CHANGES of x that leave it as it is; `same`: of x and x turned."""

    of: Callable
    definition: Callable
    same: float | None = 0
    invariances: tuple[str, ...] = ("turned", "shifted")
    within: float = 1e-9


CHANGES = {
    "turned": lambda rng, x: x @ np.linalg.qr(rng.normal(size=(x.shape[1],) * 2))[0],
    "shifted": lambda rng, x: x - 7,
    "stretched": lambda rng, x: x @ rng.normal(size=(x.shape[1],) * 2),
    "rows scaled": lambda rng, x: x * rng.uniform(0.1, 10, (len(x), 1)),
}
ANY_MAP = ("turned", "shifted", "stretched")
MEASURES = {
    "rsa": Measure(bertshift.rsa, oracles.pearson_of_distances, 1, ("turned", "rows scaled"), 1e-12),
    "svcca99": Measure(bertshift.svcca, oracles.cca),
    "google_mean98": Measure(partial(by_svcca, variant="google_mean98"), oracles.google_mean),
    "cca_full": Measure(partial(by_svcca, variant="cca_full"), partial(oracles.cca, share=1), 0, ANY_MAP),
    "pwcca weighted by x": Measure(
        partial(by_variates, share=0.99, weighing=0),
        partial(oracles.pwcca, share=0.99, weighing=0), 0, ("shifted",)
    ),
    "pwcca weighted by y": Measure(
        partial(by_variates, share=1, weighing=1), partial(oracles.pwcca, share=1, weighing=1),
        0, ANY_MAP
    ),
    "cka_biased": Measure(lambda x, y: cka.biased(moments_of(x, y)), oracles.biased_cka, 1),
    "cka_debiased": Measure(bertshift.cka, oracles.debiased_cka, 1),
    "layer_cka": Measure(of_layers, oracles.debiased_cka, 1),
    "procrustes": Measure(lambda x, y: procrustes.distance(moments_of(x, y)), oracles.procrustes, within=1e-12),
    "cosine": Measure(lambda x, y: bertshift.cosine(abs(x[:, :2]), abs(y[:, :2])),
                      lambda x, y: oracles.cosine_of_maps(abs(x[:, :2]), abs(y[:, :2])), None, ()),
    "spectra": Measure(lambda x, y: spectra.shares(np.linalg.svd(x / 4)[1], 1),
                       lambda x, y: 1 / ((s := np.linalg.svd(x, compute_uv=False) / np.linalg.norm(x, 2)) @ s), None,
                       ("turned",)),
}  # fmt: skip
OF_STATES = [name for name in MEASURES if MEASURES[name].same is not None]


def states_of(seed, x_width=5, y_width=4):
    """Anisotropic, about another mean than 0, and related; the generator that drew them first."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, x_width)) * np.geomspace(2, 0.05, x_width) + 0.5
    return rng, x, x @ rng.normal(size=(x_width, y_width)) + 0.5 * rng.normal(size=(60, y_width))


_, X, Y = states_of(0)


@pytest.mark.parametrize("name", MEASURES)
@drawing
@given(integers(0, 2**32), integers(4, 8), integers(2, 4), sampled_from(SCALES))
def test_same_as_its_definition_at_any_scale(name, seed, x_width, y_width, scale):
    of, definition, *_, within = MEASURES[name]
    _, x, y = states_of(seed, x_width, y_width)
    values = [of(scale * x, y), of(x, scale * y), of(scale * x, scale * y)]
    assert values == pytest.approx([definition(x, y)] * 3, rel=within)


@pytest.mark.parametrize("name", OF_STATES)
@drawing
@given(integers(0, 2**32))
def test_what_leaves_it_as_it_is(name, seed):
    of, _, same, invariances, within = MEASURES[name]
    rng, x, y = states_of(seed)
    order = rng.permutation(len(x))
    changed = [CHANGES[change](rng, x) for change in invariances]
    values = [of(x[order], y[order]), *(of(z, y) for z in changed)]
    assert values == pytest.approx([of(x, y)] * len(values), abs=within)
    if "turned" in invariances:
        least = 1e-7 if invariances == ANY_MAP else within  # the root of rounding
        assert of(x, CHANGES["turned"](rng, x)) == pytest.approx(same, abs=least)


@pytest.mark.parametrize("offset", [30, 1e4, 1e7, 1e10])
@pytest.mark.parametrize("name", ["rsa", "cka_debiased"])
def test_a_common_offset_costs_less_than_a_millionth(name, offset):
    of, definition, *_ = MEASURES[name]
    x = X + offset
    for y in (Y, Y - offset):
        assert of(x, y) == pytest.approx(definition(x, y), abs=1e-7)


@pytest.mark.parametrize("of", [bertshift.rsa, bertshift.svcca, bertshift.cka])
def test_what_is_rounding_alone_is_refused(of):
    narrow = (X + 1e7).astype(np.float32)  # of float32, the rounding is 1
    for flat in (np.full((60, 5), 0.1), X + 1e13, narrow, torch.tensor(narrow)):
        with pytest.raises(UserError, match="do not vary|equally similar"):
            of(flat, Y)
    for number in (np.nan, np.inf):
        with pytest.raises(UserError, match="y has a number that is not finite"):
            of(X, np.where(Y == Y[3, 1], number, Y))


@pytest.mark.parametrize("offset", [0, 1, 1e4, 1e8])
@pytest.mark.parametrize("tokens", [8, 60])
def test_one_token_apart_from_all_others(tokens, offset):
    """The unbiased HSIC of such states with themselves is 0; their RSA is defined."""
    x, y = np.full((tokens, 5), 1.0 + offset), Y[:tokens]
    x[3] += X[3]
    with pytest.raises(UserError, match="All tokens but one are equal"):
        bertshift.cka(x, y)
    cells, _ = layer_cka.all_pairs([CenteredStates.of(x), CenteredStates.of(y)])
    assert np.isnan(cells[0]).all() and cells[1, 1] == pytest.approx(1)
    assert bertshift.rsa(x, y) == pytest.approx(oracles.pearson_of_distances(x, y), abs=1e-7)


EQUALLY_FAR = np.linalg.qr(np.random.default_rng(1).normal(size=(60, 60)))[0]


@pytest.mark.parametrize(
    ("of", "x", "y", "message"),
    [
        (bertshift.rsa, EQUALLY_FAR, Y, "equally similar"),
        (bertshift.cka, EQUALLY_FAR, Y, "equally far apart"),
        (rsa.rsa, np.where(np.arange(60)[:, None] == 3, 0, X), Y, "Row 3 .* zero"),
        (rsa.rsa, X[:2], Y[:2], "at least 3 tokens"),
        (bertshift.cka, X[:3], Y[:3], "at least 4 tokens and got 3"),
        (of_layers, X[:3], Y[:3], "at least 4 tokens and got 3"),
        (svcca.svcca, X[:5], Y[:5], "5 tokens is degenerate at width 5"),
        (svcca.svcca, np.ones((60, 5)), Y, "do not vary"),
    ],
)
def test_states_of_which_a_measure_is_undefined_are_refused(of, x, y, message):
    with pytest.raises(UserError, match=message):
        of(x, y)


def test_three_tokens_are_enough_for_rsa():
    assert rsa.rsa(X[:3], Y[:3]) == pytest.approx(oracles.pearson_of_distances(X[:3], Y[:3]))


def test_mean_of_cka_over_all_orders_is_the_null():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    orders = [y[list(order)] for order in permutations(range(5))]
    assert np.mean([bertshift.cka(x, z) for z in orders]) == pytest.approx(0, abs=1e-12)
    biased = np.mean([cka.biased(moments_of(x, z)) for z in orders])
    assert biased == pytest.approx(cka.null_biased(moments_of(x, y)), rel=1e-9)


def test_independent_states_have_the_null_distance():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1200, 100)), rng.normal(size=(1200, 60))
    rows, expected = svcca.svcca(x, y), svcca.null_distance(1200, 100, 60)
    assert rows["cca_full"]["value"] == pytest.approx(expected, abs=0.01)
    null = rows["cca_full_null"]
    assert (null["value"], null["k_model"], null["k_reference"]) == (expected, 100, 60)
    assert svcca.null_distance(20_480, 1024, 1024) == pytest.approx(1 - 0.191, abs=0.001)


def test_subspaces_that_must_intersect_say_nothing():
    """Two sets of 64 directions in the 89 dimensions of 90 centred tokens share 39, though the
    data share nothing."""
    x, y = np.random.default_rng(0).normal(size=(2, 90, 64))
    moments = moments_of(x, y)
    rho = svcca.correlations(*moments.principal(), moments.xy, 64, 64)
    assert np.sum(rho > 1 - 1e-9) == 39
    assert 1 - rho.mean() == pytest.approx(svcca.null_distance(90, 64, 64), abs=0.02)
    with pytest.raises(UserError, match="90 tokens is degenerate at width 64"):
        svcca.svcca(x, y)
    # Fewer directions hold 99 % of the variance: that variant is left.
    scales = np.geomspace(4, 0.01, 64)
    rows = svcca.svcca(x * scales, y * scales)
    assert set(rows) == {"svcca99", "google_mean98", "svcca99_null"}
    assert rows["svcca99"]["k_model"] + rows["svcca99"]["k_reference"] <= 89
    assert {"cca_full", "cca_full_null"} < set(svcca.svcca(x[:, :44], y[:, :45]))


def test_rank_deficient_states_count_their_rank_only():
    doubled = np.hstack([X, X[:, :3], np.ones((60, 1))])
    row, expected = (svcca.svcca(x, Y)["cca_full"] for x in (doubled, X))
    assert row["value"] == pytest.approx(expected["value"], abs=1e-7)
    assert (row["k_model"], row["k_reference"]) == (5, 4)
