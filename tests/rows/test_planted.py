"""Whether planted changes are found and placed, against loops over models and blocks."""

import numpy as np
import pytest

from bertshift.edits import Edit
from bertshift.rows.planted import FOUND, PLACED, Profile, rows

LAYERS, HEADS, BLOCKS = 3, 2, 4


def profile(values, first=0, heads=False):
    """A profile of values [1 + blocks, layers] or [1 + blocks, layers, heads]."""
    shape = values.shape[1:]
    layers = np.repeat(np.arange(first, first + shape[0]), shape[1] if heads else 1)
    numbers = np.tile(np.arange(1, shape[1] + 1), shape[0]) if heads else 0 * layers
    return Profile(layers, numbers, values.reshape(len(values), -1))


def drawn(rng):
    return {
        "states": profile(rng.random((1 + BLOCKS, LAYERS + 1))),
        "maps": profile(rng.random((1 + BLOCKS, LAYERS)), first=1),
        "heads": profile(rng.random((1 + BLOCKS, LAYERS, HEADS)), first=1, heads=True),
    }


EDITS = [
    Edit("head", 2, 1, 0.3),
    Edit("feed_forward", 3, size=0.3),
    Edit("words", size=0.3, words=("the",)),
    Edit("all_layers", size=0.3),
    Edit("heads_reordered", 1),
    Edit("nothing"),
]


@pytest.mark.parametrize("seed", range(5))
def test_outcomes_are_those_of_a_loop_over_models_and_blocks(seed):
    rng = np.random.default_rng(seed)
    backgrounds = [drawn(rng) for _ in range(3)]
    edits = [(edit, drawn(rng)) for edit in EDITS]
    seen = set()
    for row in rows(edits, backgrounds):
        [(edit, profiles)] = [pair for pair in edits if pair[0].kind == row["variant"]]
        one = profiles[row["measure"]]
        outcomes = []
        for block in range(1 + BLOCKS):
            places = dict(zip(zip(one.layers, one.heads), one.values[block]))
            layer, head = max(places, key=places.get)
            if row["outcome"] == FOUND:
                others = [other[row["measure"]].values[block] for other in backgrounds]
                outcomes.append(all(max(places.values()) > max(values) for values in others))
            elif row["measure"] == "heads" and edit.kind == "head":
                outcomes.append((layer, head) == (2, 1))
            else:
                outcomes.append(layer == edit.layer)
        assert [row["value"], *row["jackknife"]] == outcomes
        assert row["largest"] == one.values[0].max()
        assert row["largest_layer"] == one.layers[one.values[0].argmax()]
        seen.add((row["variant"], row["measure"], row["outcome"]))
    placed = {pair[:2] for pair in seen if pair[2] == PLACED}
    assert len([pair for pair in seen if pair[2] == FOUND]) == 3 * len(EDITS)
    # Attention has no layer 0, where words are, and a change of all layers has no place.
    assert {pair for pair in placed if pair[0] == "words"} == {("words", "states")}
    assert {kind for kind, _ in placed} == {"head", "feed_forward", "words", "heads_reordered"}


def test_what_equals_the_largest_background_is_not_found():
    values = np.array([[0.1, 0.4]])
    [row, _] = rows(
        [(Edit("feed_forward", 1, size=1.0), {"rsa": profile(values)})], [{"rsa": profile(values)}]
    )
    assert row["outcome"] == FOUND and row["value"] == 0
