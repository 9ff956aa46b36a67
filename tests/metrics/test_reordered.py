import numpy as np
import pytest

import bertshift
from bertshift.errors import UserError
from bertshift.metrics import reordered
from bertshift.metrics.pairs import Pair

LENGTHS = [9, 7, 12, 8, 11, 10, 9, 13]
WIDTH = 6
KEYS = {"metric": "rsa", "init": 1, "seed": 1, "stimuli": "texts"}
MEASURES = {
    "rsa": (reordered.rsa_in, bertshift.rsa),
    "cka": (reordered.cka_in, bertshift.cka),
    "svcca": (reordered.svcca_in, lambda x, y: 1 - bertshift.svcca(x, y)),
    "a function": (reordered.of_function(bertshift.rsa), bertshift.rsa),
}


@pytest.fixture
def states():
    """Of two models, [layers, tokens, width]: the second is like the first in layer 1 alone."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(2, sum(LENGTHS), WIDTH)).astype(np.float32)
    y = generator.normal(size=x.shape).astype(np.float32)
    y[1] = x[1] + 0.5 * y[1]
    return x, y


@pytest.mark.parametrize("values, definition", MEASURES.values(), ids=MEASURES)
def test_each_order_is_the_measure_of_states_that_were_moved(values, definition, states):
    x, y = states[0][1], states[1][1]
    orders = [np.random.default_rng(seed).permutation(len(x)) for seed in range(3)]
    by_hand = [definition(x, y[order]) for order in orders]
    assert values(x, y, orders) == pytest.approx(by_hand, abs=1e-9)


def test_texts_change_places_and_their_tokens_stay_together():
    text_of = np.repeat([0, 1, 2, 4], [3, 1, 2, 2])
    orders = reordered.orders_of(text_of, 50, "texts")
    texts = {(0, 1, 2), (3,), (4, 5), (6, 7)}
    for order in orders:
        moved = text_of[order]
        starts = np.flatnonzero(np.diff(moved, prepend=-1))
        assert {tuple(part) for part in np.split(order, starts[1:])} == texts
    assert len({tuple(order) for order in orders}) > 10


def test_a_layer_that_is_alike_differs_from_texts_in_another_order(make_file, states):
    pair = Pair(*(make_file(name, one, LENGTHS) for name, one in zip("xy", states)), KEYS)
    rows = reordered.compare(reordered.rsa_in, [pair], 19)
    values = rows.pivot(index="order", columns="layer", values="value")
    assert values.shape == (20, 2)
    ranks = values.rank(ascending=False).loc[0]
    assert ranks[1] == 1 and ranks[0] > 1


def test_one_text_has_no_other_order(make_file, states):
    x, y = states
    pair = Pair(make_file("x", x, [len(x[0])]), make_file("y", y, [len(x[0])]), KEYS)
    with pytest.raises(UserError, match="one text has no other order; give several texts"):
        reordered.compare(reordered.rsa_in, [pair], 3)
