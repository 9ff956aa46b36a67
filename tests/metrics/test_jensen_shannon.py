import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from bertshift.metrics import jensen_shannon
from bertshift.metrics.pairs import Pair


def divergence(p, q):
    return jensen_shannon.terms(np.array(p, np.float32), np.array(q, np.float32)).sum() / 2


def test_closed_forms():
    assert divergence([1, 0], [0.5, 0.5]) == pytest.approx(0.2157616, abs=5e-8)
    assert divergence([1, 0], [0, 1]) == pytest.approx(np.log(2), abs=1e-15)
    assert divergence([0.3, 0.7, 0], [0.3, 0.7, 0]) == 0


def test_same_as_scipy_row_by_row(attention_pair):
    model, base, maps, base_maps = attention_pair
    table = jensen_shannon.compare([Pair(model, base)])
    for layer in (1, 2):
        per_example = [
            (jensenshannon(p.astype(float), q.astype(float), axis=2) ** 2).mean(axis=1)
            for p, q in zip(maps[layer - 1], base_maps[layer - 1], strict=True)
        ]
        rows = table[(table.layer == layer) & (table.variant == "nats")].sort_values("head")
        np.testing.assert_allclose(rows.value[1:], np.mean(per_example, axis=0), rtol=1e-6)
        np.testing.assert_allclose(rows.sd[1:], np.std(per_example, axis=0, ddof=1), rtol=1e-6)
        assert rows.value.iloc[0] == pytest.approx(np.mean(per_example), rel=1e-6)
        bits = table[(table.layer == layer) & (table.variant == "bits")].sort_values("head")
        np.testing.assert_allclose(bits.value * np.log(2), rows.value, rtol=1e-12)
    assert (table.n == 40).all()


@pytest.mark.parametrize("size", [1e-2, 1e-3])
def test_small_divergences_keep_their_digits(size):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(50)).astype(np.float32)
    q = (p * (1 + size * rng.choice([-1, 1], 50))).astype(np.float32)
    exact_p, exact_q = p.astype(np.longdouble), q.astype(np.longdouble)
    middle = (exact_p + exact_q) / 2
    exact = (exact_p * np.log(exact_p / middle) + exact_q * np.log(exact_q / middle)).sum() / 2
    assert 1e-8 < exact < 1e-4
    assert divergence(p, q) == pytest.approx(float(exact), rel=1e-7)


def test_model_against_itself_is_zero(attention_pair):
    model = attention_pair[0]
    assert (jensen_shannon.compare([Pair(model, model)]).value == 0).all()
