"""The value without a block of examples is that of files without these examples."""

from functools import partial

import numpy as np
import pytest

from bertshift.metrics import cosine, jensen_shannon, rsa, similarity, svcca
from bertshift.metrics.pairs import Pair, head_rows
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
}


@pytest.mark.parametrize("metric", METRICS)
def test_a_value_without_a_block_is_that_of_files_without_it(metric, files):
    keys = [*KEYS, "tokens"] if metric == "similarity" else KEYS
    table = METRICS[metric]([files(np.ones(EXAMPLES, bool))]).set_index(keys)
    known = table[~table.index.get_level_values("variant").str.endswith("_null")]
    assert known[WITHOUT].notna().all(axis=None) and len(known) > 3
    for block in (0, 7, BLOCKS - 1):
        rest = METRICS[metric]([files(block_of(EXAMPLES) != block)]).set_index(keys)
        expected = rest.loc[known.index, "value"].to_numpy()
        assert known[WITHOUT[block]].to_numpy() == pytest.approx(expected, abs=1e-9)
        assert np.abs(expected - known["value"]).max() > 1e-5


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
