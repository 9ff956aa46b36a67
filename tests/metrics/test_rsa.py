from functools import partial

import numpy as np
import pandas as pd
import pytest

from bertshift.activations.sampling import sampled
from bertshift.errors import UserError
from bertshift.metrics.pairs import Pair
from bertshift.metrics.rsa import Deleted, compare, rsa, unit_rows
from bertshift.rows.blocks import WITHOUT, block_of, interval, jackknife, slices


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


def test_compare_tells_tokens_apart(states, make_file):
    x = states[0][:300].astype(np.float32)
    y = x + np.random.default_rng(3).normal(size=x.shape).astype(np.float32)
    lengths = np.tile([2, 8, 5, 5], 15)  # the twos have no content
    model, base = make_file("model.npz", [x, y], lengths), make_file("base.npz", [x, x], lengths)
    table = compare([Pair(model, base, {"stimuli": "wiki"}), Pair(base, base, {"stimuli": "own"})])
    example = np.repeat(np.arange(60), lengths)
    inner = (np.diff(example, prepend=-1) == 0) & (np.diff(example, append=60) == 0)
    for variant, kept in (("all_tokens", example >= 0), ("content", inner)):
        row = table[(table.stimuli == "wiki") & (table.variant == variant) & (table.layer == 1)].iloc[0]
        assert row.n == kept.sum() and row.value == pytest.approx(rsa(y[kept], x[kept]), abs=1e-12)
    same = table[(table.stimuli == "own") | (table.layer == 0)]
    assert (same[["value", *WITHOUT]] == 1).all(axis=None)


def test_a_file_of_the_sampled_tokens_is_enough(states, make_file):
    x = states[0][:300].astype(np.float32)
    y = x + np.random.default_rng(3).normal(size=x.shape).astype(np.float32)

    def table(**kept):
        files = [
            make_file(f"{name}.npz", [x, one], [10] * 30, **kept) for name, one in (("model", y), ("base", x))
        ]
        return compare([Pair(*files, {"stimuli": "wiki"})], tokens=100)

    pd.testing.assert_frame_equal(table(), table(kept=partial(sampled, count=100, stimuli="wiki")))
    with pytest.raises(UserError, match="other tokens"):
        table(kept=partial(sampled, count=90, stimuli="wiki"))


def test_intervals_hold_the_score_of_the_population():
    """Tokens of a sentence move together, so an interval that took them for independent would be far too narrow."""
    rng = np.random.default_rng(0)

    def sentences(count, tokens=8, width=8):
        shared = rng.normal(size=(2, count, 1, width))
        x = shared[0] + rng.normal(size=(count, tokens, width))
        y = x + shared[1] + rng.normal(size=x.shape)
        return [unit_rows(z.reshape(-1, width)) for z in (x, y)]

    def scores(u, v, examples):
        block = np.repeat(block_of(examples), len(u) // examples)
        deleted = Deleted(slices(block, block[-1] + 1))
        return deleted.correlations(u, v, deleted.own(v))

    def coverage(shuffled):
        found = []
        for u, v in drawn:
            order = rng.permutation(len(u)) if shuffled else slice(None)
            value, *rest = scores(u[order], v[order], 80)
            low, high = interval(value, np.array(rest))
            found.append(low < population < high)
        return np.mean(found)

    population = rsa(*sentences(20_000))
    drawn = [sentences(80) for _ in range(100)]
    assert coverage(shuffled=False) >= 0.85
    assert coverage(shuffled=True) < 0.75
    few, many = (np.mean([jackknife(scores(*sentences(n), n)[1:])[0] for _ in range(5)]) for n in (50, 200))
    assert few / many == pytest.approx(2, rel=0.25)


def test_one_block_has_no_interval(make_file):
    x = np.random.default_rng(0).normal(size=(2, 9, 4))
    table = compare([Pair(make_file("model.npz", x, [9]), make_file("base.npz", x + 1, [9]))])
    assert table.value.notna().all() and table[WITHOUT].isna().all(axis=None)


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
