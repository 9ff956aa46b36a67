"""The value without a block of examples is that of files without these examples."""

from functools import partial

import numpy as np
import pytest
from made_tables import WITHOUT, in_columns

from bertshift.metrics import (
    cosine,
    hidden_states,
    jensen_shannon,
    layer_cka,
    linear_cka,
    rsa,
    similarity,
    svcca,
)
from bertshift.metrics.hidden_states import CenteredStates, Comparison
from bertshift.metrics.pairs import Pair, head_rows
from bertshift.rows.blocks import BLOCKS, block_of

EXAMPLES, WIDTH = 53, 6
METRICS = {
    "cosine": cosine.compare,
    "js": jensen_shannon.compare,
    "rsa": rsa.compare,
    "svcca": partial(svcca.compare, tokens=None),
    "similarity": partial(similarity.compare, tokens=None),
    "linear_cka": partial(linear_cka.compare, tokens=None),
    "layer_cka": partial(layer_cka.compare, tokens=None),
}


@pytest.fixture
def files(make_file):
    """files(is_kept [examples], offsets) -> a Pair of those examples alone; states anisotropic,
    tokens of an example alike."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(4, 12, size=EXAMPLES)
    example = np.repeat(np.arange(EXAMPLES), lengths)
    base = rng.normal(size=(2, len(example), WIDTH)) * np.geomspace(3, 0.05, WIDTH) + 1
    base += rng.normal(size=(2, EXAMPLES, WIDTH))[:, example]
    tuned = base + 0.3 * rng.normal(size=base.shape)
    maps = [rng.dirichlet(np.ones(n), size=(2, 3, n)).astype(np.float32) for n in lengths]

    def make(is_kept, offsets):
        files = []
        for side, states in enumerate((tuned, base)):
            states = (states[:, is_kept[example]] + offsets[side]).astype(np.float32)
            kept_maps = [maps[number][side] for number in np.flatnonzero(is_kept)]
            name = f"{side}-{np.argmin(is_kept)}.npz"
            files.append(make_file(name, states, lengths[is_kept], [kept_maps]))
        return Pair(*files, {"stimuli": "wiki"})

    return make


@pytest.mark.parametrize(
    ("metric", "offsets"),
    [*((name, (0, 0)) for name in METRICS), ("rsa", (1e3, 0)), ("rsa", (1e3, 1e4))],
)
def test_a_value_without_a_block_is_that_of_files_without_it(metric, offsets, files, monkeypatch):
    # All examples are read in many parts, of which some cross blocks.
    with monkeypatch.context() as patch:
        patch.setattr(hidden_states, "ROWS", 16)
        patch.setattr(layer_cka, "BLOCK", 30)
        table = in_columns(METRICS[metric]([files(np.ones(EXAMPLES, bool), offsets)]))
    keys = [name for name in ("variant", "layer", "ref_layer", "head", "tokens") if name in table]
    table = table[~table["variant"].str.endswith("_null")].set_index(keys)
    assert table[WITHOUT].notna().all(axis=None) and len(table) > 3
    for block in (0, 7, BLOCKS - 1):
        rest = in_columns(METRICS[metric]([files(block_of(EXAMPLES) != block, offsets)]))
        rest = rest.set_index(keys).loc[table.index]
        # As many directions are kept.
        assert rest.filter(like="k_").equals(table.filter(like="k_"))
        without = table[WITHOUT[block]]
        np.testing.assert_allclose(without, rest["value"], rtol=0, atol=1e-9)
        assert (rest["value"] - table["value"]).abs().max() > 1e-5


def test_as_many_directions_are_kept_without_a_block():
    """Some of the blocks would keep one more or fewer, at which the distance jumps."""
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(400, 8))
    # Of all rows, the last direction has 1 % of the variance.
    scales = np.array([3.0, 2, 1, 1, 0.5, 0.5, 0.5, (15.75 / 99) ** 0.5])
    x = 20 * np.linalg.qr(columns - columns.mean(axis=0))[0] * scales
    y = x + rng.normal(size=x.shape) * np.array([0.1] * 7 + [0.5])
    blocks = [slice(first, first + 20) for first in range(0, 400, 20)]
    comparison = Comparison.of(CenteredStates.of(x, blocks), CenteredStates.of(y, blocks))

    def counts(moments):
        return tuple(side.count_for(0.99) for side in moments.principal())

    kept = counts(comparison.moments)
    expected, counts_without = [], set()
    for block in blocks:
        rest = (CenteredStates.of(np.delete(states, block, axis=0)) for states in (x, y))
        moments = Comparison.of(*rest).moments
        expected.append(svcca.distances(moments, *kept)["svcca99"])
        counts_without.add(counts(moments))
    jackknife = next(svcca.rows_of_comparison(comparison))["jackknife"]
    assert jackknife == pytest.approx(np.array(expected), abs=1e-9)
    assert len(counts_without) > 1


def test_examples_without_the_kind_count_for_no_block():
    values = np.random.default_rng(1).normal(size=(4, 2))  # of examples 0, 1, 2 and 5 of 6
    head = next(row for row in head_rows(values, 6, np.array([0, 1, 2, 5])) if row["head"] == 2)
    expected = [np.delete(values[:, 1], i).mean() for i in ([0], [1], [2], [], [], [3])]
    assert head["jackknife"] == pytest.approx(expected)


@pytest.mark.parametrize("metric", ["svcca", "similarity"])
def test_states_that_one_block_alone_tells_apart_have_no_value_without_it(metric, make_file):
    states = np.ones((2, 200, 4), np.float32)
    states[:, :10] = np.random.default_rng(2).normal(size=(2, 10, 4))
    model = make_file("model.npz", states, [10] * 20)
    reference = make_file("base.npz", states[::-1], [10] * 20)
    table = in_columns(METRICS[metric]([Pair(model, reference)]))
    table = table[~table["variant"].str.endswith("_null")]
    assert table["value"].notna().all() and table[WITHOUT[0]].isna().all()
    if "tokens" in table:
        table = table[table["tokens"] == "all"]
    assert table[WITHOUT[1:]].notna().all(axis=None)


def test_one_block_has_no_value_without_it(files):
    table = in_columns(rsa.compare([files(np.arange(EXAMPLES) == 0, (0, 0))]))
    assert table["value"].notna().all() and table[WITHOUT].isna().all(axis=None)
