"""Are two models' hidden states alike by more than chance? A permutation test (Pitman 1937, as
calibrated by the largest over layers in arXiv 2602.14486): the same measure, with the reference's
texts in another order.

Two models without a common parent have no change whose size noise could have. Under the hypothesis
that their states of a text have nothing in common, the texts of one can change places. The tokens
of a text stay together, as they are not independent. Order 0 is the texts' own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bertshift.activations.sampling import is_special_or_first, sample_tokens
from bertshift.errors import UserError
from bertshift.metrics import cka, rsa, svcca
from bertshift.metrics.hidden_states import CenteredStates, Comparison, Moments, scatter
from bertshift.metrics.pairs import Pair, matched_layers, opened
from bertshift.seeds import seed_from

TOKENS = 5000
KEYS = ["metric", "init", "seed"]
COLUMNS = [*KEYS, "layer", "order", "value"]
# Values of states x and y [tokens, width], with y in each of these orders [tokens].
Values = Callable[[np.ndarray, np.ndarray, Sequence[np.ndarray]], list[float]]


def compare(
    values: Values, pairs: Sequence[Pair], orders: int, tokens: int | None = None
) -> pd.DataFrame:
    """Tabulate a similarity with the texts in their own order and in `orders` others, one row for
    each pair, layer and order.

    values: `rsa_in`, `cka_in`, `svcca_in` or `of_function`
    tokens: at most how many are drawn, neither special nor the first of a text (TOKENS)

    The orders are the same for every layer, pair and measure. UserError for a single text, and
    where tokens are too few for the measure.
    """
    return pd.DataFrame(_rows(values, pairs, orders, tokens or TOKENS), columns=COLUMNS)


def no_rows() -> pd.DataFrame:
    return pd.DataFrame(columns=COLUMNS)


def _rows(values: Values, pairs: Sequence[Pair], orders: int, tokens: int) -> Iterator[dict]:
    for pair, model, reference in opened("texts in another order", list(pairs)):
        is_excluded = is_special_or_first(model.special, model.offsets)
        positions = sample_tokens(is_excluded, tokens, "reordered", pair.stimuli, special=False)
        text_of = np.searchsorted(model.offsets, positions, side="right")
        drawn = [np.arange(len(positions)), *orders_of(text_of, orders, pair.stimuli)]
        for layer, ref_layer in matched_layers(model.layers, reference.layers):
            x = model.states(layer, positions)
            y = reference.states(ref_layer, positions)
            for order, value in enumerate(values(x, y, drawn)):
                keys = {key: pair.keys[key] for key in KEYS}
                yield keys | {"layer": layer, "order": order, "value": value}


def orders_of(text_of: np.ndarray, count: int, stimuli: str) -> list[np.ndarray]:
    """Draw orders of tokens in which texts change places and the tokens of a text stay together.

    text_of: [tokens], the number of each token's text, rising
    """
    texts = np.split(np.arange(len(text_of)), np.flatnonzero(np.diff(text_of)) + 1)
    if len(texts) < 2:
        raise UserError("one text has no other order; give several texts.")
    orders = []
    for number in range(1, count + 1):
        generator = np.random.default_rng(seed_from("reordered", stimuli, number))
        order = generator.permutation(len(texts))
        orders.append(np.concatenate([texts[text] for text in order]))
    return orders


def rsa_in(x: np.ndarray, y: np.ndarray, orders: Sequence[np.ndarray]) -> list[float]:
    """Calculate RSA (`rsa.rsa`), whose own sums do not depend on the order."""
    u, v = rsa.similarity_rows(x), rsa.similarity_rows(y)
    own_u, own_v = rsa.own_sums(u), rsa.own_sums(v)
    return [float(rsa.correlations(u, v[order], own_u, own_v)[0]) for order in orders]


def cka_in(x: np.ndarray, y: np.ndarray, orders: Sequence[np.ndarray]) -> list[float]:
    """Calculate debiased CKA (`cka.debiased`)."""
    return [float(cka.debiased(moments)) for moments in _moments(x, y, orders)]


def svcca_in(x: np.ndarray, y: np.ndarray, orders: Sequence[np.ndarray]) -> list[float]:
    """Calculate 1 minus the SVCCA distance; UserError where tokens are too few."""
    similarities = []
    for moments in _moments(x, y, orders):
        k_x, k_y = (side.count_for(svcca.SHARE) for side in moments.principal())
        distances = svcca.distances(moments, k_x, k_y)
        if not distances:
            raise UserError(
                f"SVCCA of {moments.tokens} tokens is degenerate at width {moments.width}; give"
                " more texts."
            )
        similarities.append(1 - distances[svcca.HEADLINE])
    return similarities


def of_function(function: Callable[[np.ndarray, np.ndarray], float]) -> Values:
    """Call a user's function of states x and y [tokens, width] in float64."""

    def values(x: np.ndarray, y: np.ndarray, orders: Sequence[np.ndarray]) -> list[float]:
        x, y = x.astype(np.float64), y.astype(np.float64)
        return [float(function(x, y[order])) for order in orders]

    return values


def _moments(x: np.ndarray, y: np.ndarray, orders: Sequence[np.ndarray]) -> Iterator[Moments]:
    """Compute the moments of x and of y in each order: X'Y and the rows of Y alone change."""
    comparison = Comparison.of(CenteredStates.of(x), CenteredStates.of(y))
    rows_x, rows_y = comparison.model.states, comparison.reference.states
    for order in orders:
        permuted = rows_y.permuted(order)
        yield replace(
            comparison.moments,
            xy=scatter(rows_x, permuted),
            squares=lambda order=order: (rows_x.squares, rows_y.squares[order]),
        )
