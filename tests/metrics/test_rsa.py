import numpy as np
import pytest

from bertshift.errors import UserError
from bertshift.metrics.pairs import Pair
from bertshift.metrics.rsa import Moments, compare, rsa


def direct(x, y):
    """Pearson of the strict upper triangles of the two n x n cosine matrices."""
    upper = np.triu_indices(len(x), 1)
    matrices = [(z / np.linalg.norm(z, axis=1, keepdims=True)) for z in (x.astype(float), y.astype(float))]
    return np.corrcoef(*[(u @ u.T)[upper] for u in matrices])[0, 1]


@pytest.fixture
def states():
    """Anisotropic like BERT's: a common mean and one outlier dimension; y a moved x with fewer dimensions."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 24)) * np.geomspace(3, 0.1, 24) + 1
    x[:, 5] += 8
    return x, (x + rng.normal(size=x.shape))[:, :20]


def test_same_as_the_direct_form(states):
    x, y = states
    assert rsa(x, y) == pytest.approx(direct(x, y), abs=1e-12)
    assert 0.1 < rsa(x, y) < 0.99
    assert abs(rsa(x, y[np.random.default_rng(1).permutation(400)])) < 0.02


def test_invariances(states):
    x, y = states
    rng = np.random.default_rng(2)
    rotation = np.linalg.qr(rng.normal(size=(24, 24)))[0]
    value = rsa(x, y)
    assert rsa(x @ rotation, y) == pytest.approx(value, abs=1e-12)
    assert rsa(x * rng.uniform(0.1, 10, (400, 1)), y) == pytest.approx(value, abs=1e-12)
    order = rng.permutation(400)
    assert rsa(x[order], y[order]) == pytest.approx(value, abs=1e-12)
    assert rsa(x, x) == 1.0
    assert rsa(x, x @ rotation) == pytest.approx(1, abs=1e-12)


def test_streaming_is_the_same_as_one_shot(states):
    x, y = states
    moments = Moments()
    for first in (0, 7, 107, 300):
        last = {0: 7, 7: 107, 107: 300, 300: 400}[first]
        moments.update(x[first:last], y[first:last])
    assert moments.correlation() == pytest.approx(rsa(x, y), abs=1e-12)


def test_compare_and_its_jackknife(states, make_file):
    x = states[0].astype(np.float32)
    y = x + np.random.default_rng(3).normal(size=x.shape).astype(np.float32)
    lengths = [8] * 50
    model, base = make_file("model.npz", [x, y], lengths), make_file("base.npz", [x, x], lengths)
    table = compare([Pair(model, base, {"seed": 1}), Pair(base, base, {"seed": 2})])
    row = table[(table.seed == 1) & (table.variant == "all_tokens") & (table.layer == 1)].iloc[0]
    assert row.n == 400 and row.value == pytest.approx(direct(y, x), abs=1e-12)
    block = np.arange(400) // 8
    left_out = np.array([direct(y[block != b], x[block != b]) for b in range(50)])
    assert row.sd == pytest.approx(np.sqrt(49 / 50 * np.sum((left_out - left_out.mean()) ** 2)), rel=1e-9)
    content = table[(table.seed == 1) & (table.variant == "content") & (table.layer == 1)].iloc[0]
    inner = np.tile([False] + [True] * 6 + [False], 50)
    assert content.n == 300 and content.value == pytest.approx(direct(y[inner], x[inner]), abs=1e-12)
    same = table[(table.seed == 2) | (table.layer == 0)]
    assert (same.value == 1).all() and (same.sd == 0).all()


def test_models_of_other_depth_and_width(make_file):
    rng = np.random.default_rng(0)
    model = make_file("model.npz", rng.normal(size=(3, 30, 4)), [10] * 3)
    base = make_file("base.npz", rng.normal(size=(5, 30, 6)), [10] * 3)
    table = compare([Pair(model, base)], tokens=20)
    assert table[table.variant == "content"].ref_layer.tolist() == [0, 2, 4] and (table.n == 20).all()


def test_refusals(states):
    x, y = states
    zero = x.copy()
    zero[3] = 0
    with pytest.raises(UserError, match="Row 3 .* zero"):
        rsa(zero, y)
    with pytest.raises(UserError, match="at least 3 tokens"):
        rsa(x[:2], y[:2])
    with pytest.raises(UserError, match="equally similar"):
        rsa(np.eye(4), x[:4])
