import numpy as np
import pandas as pd
import pytest

from bertshift.errors import UserError
from bertshift.metrics import layer_cka
from bertshift.metrics.layer_cka import all_pairs, compare, contrast, thirds
from bertshift.metrics.pairs import Pair
from bertshift.metrics.scatter import Centred


def unbiased(x, y):
    """CKA by the unbiased HSIC of Song et al. 2012, term by term from n x n kernels."""

    def hsic(k, l):
        n, ones = len(k), np.ones(len(k))
        k, l = (kernel - np.diag(np.diag(kernel)) for kernel in (k, l))
        products = np.trace(k @ l) + ones @ k @ ones * (ones @ l @ ones) / ((n - 1) * (n - 2))
        return products - 2 / (n - 2) * ones @ k @ l @ ones

    k, l = x @ x.T, y @ y.T
    return hsic(k, l) / np.sqrt(hsic(k, k) * hsic(l, l))


@pytest.fixture
def walk():
    """Four layers' states of 60 tokens, the last one narrower."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(4, 60, 12)) * np.geomspace(3, 0.2, 12)
    *layers, last = steps.cumsum(axis=0) + 5
    return [*layers, last[:, :7]]


@pytest.mark.parametrize("block", [7, 30, 1000])
def test_same_as_gram_matrices_whatever_the_blocks(walk, monkeypatch, block):
    monkeypatch.setattr(layer_cka, "BLOCK", block)
    expected = [[unbiased(x, y) for y in walk] for x in walk]
    assert all_pairs([Centred.of(x) for x in walk])[0] == pytest.approx(np.array(expected), rel=1e-9)


@pytest.mark.parametrize("part", [7, 1000])
def test_without_a_block_as_if_its_tokens_were_not_there(walk, monkeypatch, part):
    monkeypatch.setattr(layer_cka, "BLOCK", part)
    walk[1][20:] = walk[1][20]  # one block alone tells the tokens of this layer apart
    blocks = [slice(0, 20), slice(20, 20), slice(20, 31), slice(31, 60)]
    found, without = all_pairs([Centred.of(x, blocks) for x in walk])
    assert without[1] == pytest.approx(found, abs=1e-9)
    for number in (2, 3):
        rest = [Centred.of(np.delete(x, blocks[number], axis=0)) for x in walk]
        assert without[number] == pytest.approx(all_pairs(rest)[0], abs=1e-9)
    assert np.isnan(without[0]).sum() == 7 and np.isnan(without[0, 1]).all()
    few = all_pairs([Centred.of(x[:6], [slice(0, 3), slice(3, 6)]) for x in walk])[1]
    assert np.isnan(few).all()


def test_a_rotation_a_scale_and_a_shift_change_nothing(walk):
    rng = np.random.default_rng(1)
    moved = [
        0.3 * x @ np.linalg.qr(rng.normal(size=(x.shape[1],) * 2))[0] - rng.normal(size=x.shape[1])
        for x in walk
    ]
    stirred = [x @ rng.normal(size=(x.shape[1],) * 2) for x in walk]
    found, same, other = (all_pairs([Centred.of(x) for x in layers])[0] for layers in (walk, moved, stirred))
    assert same == pytest.approx(found, rel=1e-9) and found.diagonal() == pytest.approx(1)
    assert abs(other - found).max() > 0.01


def test_independent_layers_are_unlike_however_wide():
    x, y = np.random.default_rng(0).normal(size=(2, 150, 150))
    assert abs(all_pairs([Centred.of(x), Centred.of(y)])[0][0, 1]) < 0.05
    with pytest.raises(UserError, match="at least 4 tokens and got 3"):
        all_pairs([Centred.of(x[:3])])


def test_contrast_is_of_the_upper_third():
    assert thirds(12) == ([1, 2, 3, 4], [9, 10, 11, 12])
    assert thirds(4) == ([1, 2], [3, 4]) and thirds(3) == ([], []) and thirds(0) == ([], [])
    index = pd.MultiIndex.from_product([range(7), range(7)])
    cells = pd.Series([1.0 if i == j else 0.8 if min(i, j) >= 5 else 0.3 for i, j in index], index)
    assert contrast(cells) == pytest.approx(0.5)
    assert np.isnan(contrast(cells.drop((6, 1)))) and np.isnan(contrast(cells[:0]))


def test_three_maps_of_a_pair(make_file):
    rng = np.random.default_rng(0)
    lengths = rng.integers(4, 9, size=30)
    reference = rng.normal(size=(3, lengths.sum(), 6)).cumsum(axis=0).astype(np.float32)
    reference[0, np.append(0, lengths.cumsum()[:-1])] = 1  # first tokens are alike in the embeddings
    model = reference[[0, 1, 1]]
    model[2] += 0.5 * rng.normal(size=model[2].shape)
    files = [make_file(name, states, lengths) for name, states in (("a.npz", model), ("b.npz", reference))]
    table = compare([Pair(*files, {"stimuli": "own"})], tokens=100)
    counts = table.groupby(["tokens", "variant"]).size()
    assert counts["content"].tolist() == [9, 9, 9] and counts["cls"].tolist() == [4, 4, 4]
    assert set(table.loc[table["tokens"] == "content", "n"]) == {100}
    assert set(table.loc[table["tokens"] == "cls", "n"]) == {30}
    cells = table[table["tokens"] == "content"].set_index(["variant", "layer", "ref_layer"])["value"]
    assert cells["before", 1, 1] == pytest.approx(1) and cells["across", 1, 1] == pytest.approx(1)
    # The model's last layer is its first one, moved.
    assert (
        cells["after", 1, 2] > 0.7 > cells["before", 1, 2] and cells["across", 2, 1] > cells["across", 1, 2]
    )
    special = np.ones(lengths.sum(), bool)
    special[np.append(0, lengths.cumsum()[:-1])] = special[lengths.cumsum() - 1] = False
    few = np.flatnonzero(special)
    everything = compare([Pair(*files, {"stimuli": "own"})], tokens=None)
    whole = everything.set_index(["tokens", "variant", "layer", "ref_layer"])["value"]
    assert whole["content", "across", 2, 1] == pytest.approx(
        unbiased(model[2][few], reference[1][few]), rel=1e-5
    )
