import numpy as np
import pandas as pd
import pytest

from bertshift.errors import UserError
from bertshift.metrics.pairs import Pair
from bertshift.metrics.scatter import Centred, scatter
from bertshift.metrics.svcca import Principal, compare, correlations, null_distance, svcca
from bertshift.rows.blocks import BLOCKS


def two_svd(x, y, share=0.99):
    """(distance, k_x, k_y) by the definition: decompose the two n x d matrices themselves."""
    bases = []
    for z in (np.asarray(x, np.float64), np.asarray(y, np.float64)):
        u, s, _ = np.linalg.svd(z - z.mean(axis=0), full_matrices=False)
        k = int(np.argmax(np.cumsum(s**2) / np.sum(s**2) >= share - 1e-12)) + 1
        bases.append(u[:, :k])
    rho = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
    return 1 - rho.mean(), bases[0].shape[1], bases[1].shape[1], rho


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 30)) @ rng.normal(size=(30, 30)) * np.geomspace(5, 0.05, 30) + 40
    return x, (x + rng.normal(size=x.shape) * 0.5)[:, :25]


def test_same_as_two_decompositions(states):
    x, y = states
    result = svcca(x, y)
    distance, k_x, k_y, rho = two_svd(x, y)
    assert result["svcca99"] == (pytest.approx(distance, abs=1e-9), k_x, k_y) and k_x < 30
    assert result["cca_full"] == (pytest.approx(two_svd(x, y, 1.0)[0], abs=1e-9), 30, 25)
    leading = next(i for i in range(1, len(rho) + 1) if rho[:i].sum() / rho.sum() >= 0.98)
    assert result["google_mean98"][0] == pytest.approx(1 - rho[:leading].mean(), abs=1e-9)


def test_invariances(states):
    x, y = states
    rng = np.random.default_rng(1)
    order, rotation = rng.permutation(900), np.linalg.qr(rng.normal(size=(30, 30)))[0]
    whole = svcca(x, y)
    assert svcca(3 * x @ rotation - 7, y)["svcca99"][0] == pytest.approx(whole["svcca99"][0], abs=1e-9)
    assert svcca(x @ rng.normal(size=(30, 30)), y)["cca_full"][0] == pytest.approx(
        whole["cca_full"][0], abs=1e-8
    )
    assert svcca(x[order], y[order])["svcca99"][0] == pytest.approx(whole["svcca99"][0], abs=1e-9)
    assert svcca(x, x)["svcca99"][0] == pytest.approx(0, abs=1e-9)
    assert svcca(x, x @ rng.normal(size=(30, 30)))["cca_full"][0] == pytest.approx(0, abs=1e-7)


def test_independent_data_have_the_null_mean():
    rng = np.random.default_rng(0)
    n, d, e = 1200, 100, 60
    x, y = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    a, b = Centred.of(x), Centred.of(y)
    rho = correlations(Principal.of(scatter(a, a)), Principal.of(scatter(b, b)), scatter(a, b), d, d)
    assert np.mean(rho**2) == pytest.approx(d / (n - 1), abs=0.01)
    assert 1 - rho.mean() == pytest.approx(null_distance(n, d, d), abs=0.01)
    narrow = svcca(x, y[:, :e])["cca_full"][0]
    assert narrow == pytest.approx(null_distance(n, d, e), abs=0.01)
    assert null_distance(20_480, 1024, 1024) == pytest.approx(1 - 0.191, abs=0.001)
    assert svcca(x, y)["cca_full_null"] == (null_distance(n, d, d), d, d)


def test_subspaces_that_must_intersect_say_nothing():
    """Two sets of 64 directions in the 89 dimensions of 90 centred tokens share 39, though the data share nothing."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 90, 64))
    a, b = Centred.of(x), Centred.of(y)
    rho = correlations(Principal.of(scatter(a, a)), Principal.of(scatter(b, b)), scatter(a, b), 64, 64)
    assert np.sum(rho > 1 - 1e-9) == 39
    assert 1 - rho.mean() == pytest.approx(null_distance(90, 64, 64), abs=0.02)
    with pytest.raises(UserError, match="90 tokens is degenerate at width 64"):
        svcca(x, y)
    falling = np.geomspace(4, 0.01, 64)  # fewer directions hold 99 % of the variance: that reading is left
    cut = svcca(x * falling, y * falling)
    assert set(cut) == {"svcca99", "google_mean98", "svcca99_null"} and sum(cut["svcca99"][1:]) <= 89
    assert "cca_full" in svcca(x[:, :44], y[:, :45]) and "cca_full_null" in svcca(x[:, :44], y[:, :45])


def test_rank_deficient_states_count_their_rank_only(states):
    x, y = states
    doubled = np.hstack([x, x[:, :4], np.ones((900, 1))])
    result = svcca(doubled, y)
    assert result["cca_full"] == (pytest.approx(svcca(x, y)["cca_full"][0], abs=1e-7), 30, 25)


def test_compare_draws_tokens_and_shares_the_parent(states, make_file):
    x, y = (z.astype(np.float32) for z in states)
    model = make_file("model.npz", [x[:, :25], y], [9] * 100)
    base = make_file("base.npz", [x, x, x], [9] * 100)
    table = compare([Pair(model, base, {"seed": 1})], tokens=None)
    assert list(table.columns)[-2 - BLOCKS : -BLOCKS] == ["k_model", "k_reference"]
    row = table[(table.variant == "svcca99") & (table.layer == 1)].iloc[0]
    assert (row.value, row.k_model, row.k_reference) == pytest.approx(two_svd(y, x)[:3], abs=1e-9)
    assert row.ref_layer == 2 and row.n == 900
    assert (compare([Pair(model, base)], tokens=500).n == 500).all()
    other = make_file("other.npz", [y, x[:, :25]], [9] * 100)
    together = [Pair(model, base, {"seed": 1}), Pair(other, base, {"seed": 2})]
    apart = pd.concat([compare([pair], tokens=None) for pair in together], ignore_index=True)
    assert compare(together, tokens=None).equals(apart)


def test_refusals(states):
    x, y = states
    with pytest.raises(UserError, match="30 tokens is degenerate at width 30"):
        svcca(x[:30], y[:30])
    with pytest.raises(UserError, match="do not vary"):
        svcca(np.ones((50, 3)), y[:50])
