"""The value without a block of examples is that of files without these examples."""

from functools import partial

import numpy as np
import pytest

from bertshift.metrics import cosine, jensen_shannon, layer_cka, rsa, similarity, svcca
from bertshift.metrics.pairs import Pair, head_rows
from bertshift.metrics.scatter import Centred, scatter
from bertshift.rows.blocks import BLOCKS, WITHOUT, block_of

EXAMPLES, WIDTH, KEYS = 53, 6, ["variant", "layer", "head"]


@pytest.fixture
def files(make_file):
    """files(kept [examples] bool) -> a Pair of those examples alone; states anisotropic, tokens of an example alike."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(4, 12, size=EXAMPLES)
    example = np.repeat(np.arange(EXAMPLES), lengths)
    base = rng.normal(size=(2, len(example), WIDTH)) * np.geomspace(3, 0.05, WIDTH) + 1
    base += rng.normal(size=(2, EXAMPLES, WIDTH))[:, example]
    moved = base + 0.3 * rng.normal(size=base.shape)
    maps = [[rng.dirichlet(np.ones(n), size=(3, n)).astype(np.float32) for n in lengths] for _ in "ab"]

    def make(kept):
        name, tokens = f"{kept.sum()}{np.argmin(kept)}", kept[example]
        paths = [
            make_file(f"{side}{name}.npz", states[:, tokens].astype(np.float32), lengths[kept],
                      [[one for one, there in zip(of, kept, strict=True) if there]])
            for side, states, of in (("model", moved, maps[0]), ("base", base, maps[1]))
        ]  # fmt: skip
        return Pair(*paths, {"stimuli": "wiki"})

    return make


METRICS = {
    "cosine": cosine.compare,
    "js": jensen_shannon.compare,
    "rsa": rsa.compare,
    "svcca": partial(svcca.compare, tokens=None),
    "similarity": partial(similarity.compare, tokens=None),
    "layer_cka": partial(layer_cka.compare, tokens=None),
}


@pytest.mark.parametrize("metric", METRICS)
def test_a_value_without_a_block_is_that_of_files_without_it(metric, files):
    keys = KEYS + {"similarity": ["tokens"], "layer_cka": ["tokens", "ref_layer"]}.get(metric, [])
    table = METRICS[metric]([files(np.ones(EXAMPLES, bool))]).set_index(keys)
    known = table[~table.index.get_level_values("variant").str.endswith("_null")]
    assert known[WITHOUT].notna().all(axis=None) and len(known) > 3
    for block in (0, 7, BLOCKS - 1):
        rest = METRICS[metric]([files(block_of(EXAMPLES) != block)]).set_index(keys)
        expected = rest.loc[known.index, "value"].to_numpy()
        if "k_model" in rest:  # the cut is the same there
            assert (
                rest.loc[known.index, ["k_model", "k_reference"]] == known[["k_model", "k_reference"]]
            ).all(axis=None)
        assert known[WITHOUT[block]].to_numpy() == pytest.approx(expected, abs=1e-9)
        assert np.abs(expected - known["value"]).max() > 1e-5


def test_as_many_directions_are_kept_without_a_block():
    """Some of the blocks would keep one more or fewer, at which the distance jumps."""
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(400, 8))
    scales = np.array([3.0, 2, 1, 1, 0.5, 0.5, 0.5, (15.75 / 99) ** 0.5])  # of all rows, the last has 1 %
    x = 20 * np.linalg.qr(columns - columns.mean(axis=0))[0] * scales
    y = x + rng.normal(size=x.shape) * np.array([0.1] * 7 + [0.5])
    blocks = [slice(first, first + 20) for first in range(0, 400, 20)]
    of_all = [scatter(one, one) for one in map(Centred.of, (x, y))]
    kept = tuple(svcca.Principal.of(one).kept(0.99) for one in of_all)
    both = [svcca.Side(Centred.of(one, blocks)) for one in (x, y)]
    found = svcca.without_blocks(*both, both[0].across(both[1]), kept)["svcca99"]
    cuts = set()
    for number, block in enumerate(blocks):
        a, b = (Centred.of(np.delete(one, block, axis=0)) for one in (x, y))
        sides = [svcca.Principal.of(scatter(one, one)) for one in (a, b)]
        cuts.add(tuple(side.kept(0.99) for side in sides))
        expected = 1 - svcca.correlations(*sides, scatter(a, b), *kept).mean()
        assert found[number] == pytest.approx(expected, abs=1e-9)
    assert len(cuts) > 1


def test_examples_without_the_kind_count_for_no_block():
    values = np.random.default_rng(1).normal(size=(4, 2))  # of examples 0, 1, 2 and 5 of 6
    head = next(row for row in head_rows(values, 6, np.array([0, 1, 2, 5])) if row["head"] == 2)
    mean = values[:, 1].mean()
    assert head["without"] == pytest.approx(
        [np.delete(values[:, 1], i).mean() for i in (0, 1, 2)] + [mean, mean, values[:3, 1].mean()]
    )


def test_states_that_one_block_alone_tells_apart_have_no_value_without_it(make_file):
    rng = np.random.default_rng(2)
    states = np.ones((2, 200, 4), np.float32)
    states[:, :10] = rng.normal(size=(2, 10, 4))
    pair = Pair(make_file("model.npz", states, [10] * 20), make_file("base.npz", states[::-1], [10] * 20))
    for metric in (partial(svcca.compare, tokens=None), partial(similarity.compare, tokens=None)):
        table = metric([pair])
        table = table[~table["variant"].str.endswith("_null")]
        assert table["value"].notna().all() and table[WITHOUT[0]].isna().all()
        every = table[table["tokens"] == "all"] if "tokens" in table else table
        assert every[WITHOUT[1:]].notna().all(axis=None)
