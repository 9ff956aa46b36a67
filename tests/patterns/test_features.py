import numpy as np
import pytest
import torch

from bertshift.patterns.features import CLASSES, features, propose

PAIR = np.array([0] * 10 + [1] * 6)  # [CLS] 8 words [SEP] 5 words [SEP]
SPECIAL = np.isin(np.arange(16), [0, 9, 15])


def features_of(weights, special=SPECIAL, segment=PAIR):
    return features(torch.as_tensor(np.asarray(weights, np.float32)), special, segment)


def brute(a):
    """v, d and b of one map of the pair, term by term."""
    content = np.flatnonzero(~SPECIAL)
    neighbours, own_segment = [], []
    for i in content:
        neighbours.append(a[i, i - 1 : i + 2].sum())
        segment = content[PAIR[content] == PAIR[i]]
        own_segment.append(a[i, segment].sum() - len(segment) / len(content))
    return [sum(sorted(a.mean(0))[-3:]), np.mean(neighbours), np.mean(own_segment)]


def test_features_are_what_their_definitions_say():
    maps = np.random.default_rng(0).dirichlet(np.full(16, 0.3), (2, 3, 16)).astype(np.float32)
    values = features_of(maps)
    assert values.shape == (2, 3, 3) and values.dtype == np.float64
    for index in np.ndindex(2, 3):
        np.testing.assert_allclose(values[index], brute(maps[index].astype(float)), rtol=1e-6)
    single = features_of(maps, segment=np.zeros(16))
    np.testing.assert_array_equal(single[..., 2], 0)
    np.testing.assert_array_equal(single[..., :2], values[..., :2])


def test_textbook_maps_get_their_class():
    onto_sep, neighbours = np.eye(16)[[9] * 16], np.eye(16)
    blocks = (PAIR[:, None] == PAIR) & ~SPECIAL
    blocks = blocks / blocks.sum(axis=1, keepdims=True)
    uniform = np.full((16, 16), 1 / 16)
    maps = [onto_sep, neighbours, (onto_sep + neighbours) / 2, blocks, uniform]
    assert propose(features_of(maps), 16).tolist() == [*range(len(CLASSES))]
    np.testing.assert_allclose(features_of(blocks)[2], 1 - (8 * 8 + 5 * 5) / 13**2, rtol=1e-6)


@pytest.mark.parametrize("length", [2, 3, 4, 5, 6, 10, 29])
def test_uniform_attention_is_heterogeneous_at_any_length(length):
    special = np.isin(np.arange(length), [0, length - 1])
    values = features_of(np.full((length, length), 1 / length), special, np.zeros(length))
    assert values[0] == pytest.approx(min(3 / length, 1))
    assert CLASSES[propose(values, length)] == "heterogeneous"
    causal = np.tril(np.ones((length, length))) / np.arange(1, length + 1)[:, None]
    values = features_of(causal, np.arange(length) == 0, np.zeros(length))
    assert CLASSES[propose(values, length, causal=True)] == "heterogeneous"
    if length > 2:
        for k, least in enumerate((0.6, 0.5)):  # vertical, diagonal
            bound = np.eye(3)[k] * max(least, 1.5 * values[k])
            assert CLASSES[propose(bound * (1 - 1e-6), length, causal=True)] == "heterogeneous"
            assert CLASSES[propose(bound * (1 + 1e-6), length, causal=True)] == CLASSES[k]


def test_bounds_of_classes():
    """Of six tokens 0.6 would be vertical, but uniform attention has 0.5 there."""
    for values, length, name in (((0.7, 0, 0), 6, "heterogeneous"), ((0.76, 0, 0), 6, "vertical"),
                                ((0.3, 0.3, 0), 15, "vertical_diagonal")):  # fmt: skip
        assert CLASSES[propose(np.array(values), length)] == name
