"""A measure of one's own: a function of the hidden states of two models, as rows by layer."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from bertshift.activations.sampling import is_special_or_first, sample_tokens
from bertshift.errors import UserError
from bertshift.measures import Shown
from bertshift.metrics.pairs import Pair, frame, matched_layers, opened, token_blocks

VARIANT = "content"
TOKENS = 5000
SAME = 1e-6  # how far from 0 or 1 the value of equal states may be

Function = Callable[[np.ndarray, np.ndarray], float]


def compare(
    function: Function, name: str, pairs: Sequence[Pair], tokens: int = TOKENS
) -> pd.DataFrame:
    """Tabulate a function of x and y, [tokens, width] in float64, one row for each pair and layer.

    Tokens are neither special nor the first of a text, and at most so many. The function is called
    once more without each block of texts. Raises UserError where it gives no number.
    """
    return frame(_rows(function, name, pairs, tokens))


def shown(function: Function, name: str, pair: Pair, tokens: int = TOKENS) -> Shown:
    """Describe the measure by what it gives for states and themselves: 1 for a similarity, 0 for a
    distance.

    Raises UserError for any other value.
    """
    _, _, reference = next(opened(name, [pair]))
    y = _states(reference, reference.layers, _positions(reference, name, pair, tokens))
    same = _value(function, name, y, y)
    if min(abs(same), abs(same - 1)) > SAME:
        raise UserError(
            f"{name} gives {same:g} for states and themselves; let it give 1 as a similarity, or 0"
            " as a distance."
        )
    return Shown(f"Hidden states, {name}", {"variant": VARIANT}, is_similarity=same > 0.5)


def _rows(function: Function, name: str, pairs: Sequence[Pair], tokens: int) -> Iterator[dict]:
    for pair, model, reference in opened(name, list(pairs)):
        positions = _positions(model, name, pair, tokens)
        blocks = token_blocks(model.offsets, positions)
        for layer, ref_layer in matched_layers(model.layers, reference.layers):
            x, y = _states(model, layer, positions), _states(reference, ref_layer, positions)
            yield pair.keys | {
                "variant": VARIANT,
                "layer": layer,
                "ref_layer": ref_layer,
                "head": 0,
                "value": _value(function, name, x, y),
                "sd": np.nan,
                "n": len(positions),
                "jackknife": [_without(function, name, x, y, block) for block in blocks],
            }


def _positions(activations, name: str, pair: Pair, tokens: int) -> np.ndarray:
    content = is_special_or_first(activations.special, activations.offsets)
    return sample_tokens(content, tokens, name, pair.stimuli, special=False)


def _states(activations, layer: int, positions: np.ndarray) -> np.ndarray:
    return activations.states(layer, positions).astype(np.float64)


def _without(function: Function, name: str, x: np.ndarray, y: np.ndarray, block: slice) -> float:
    """Measure the tokens outside a block; NaN where there are too few."""
    try:
        return _value(function, name, np.delete(x, block, axis=0), np.delete(y, block, axis=0))
    except UserError:
        return np.nan


def _value(function: Function, name: str, x: np.ndarray, y: np.ndarray) -> float:
    found = function(x, y)
    try:
        value = float(found)
    except (TypeError, ValueError):
        raise UserError(
            f"{name} gives {type(found).__name__}; let it return one number."
        ) from None
    if not np.isfinite(value):
        raise UserError(
            f"{name} gives {value} for {len(x)} tokens; let it return a finite number."
        )
    return value
