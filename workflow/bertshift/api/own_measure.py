"""The user's own measure: a function of the hidden states of two models, as rows by layer."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bertshift.activations.sampling import is_special_or_first, sample_tokens
from bertshift.errors import UserError
from bertshift.measures import Shown
from bertshift.metrics.pairs import Pair, frame, matched_layers, opened, token_blocks
from bertshift.rows.table import Table

VARIANT = "content"
TOKENS = 5000
TOLERANCE = 1e-6  # of 0 or 1, the values of equal states

Function = Callable[[np.ndarray, np.ndarray], float]


def compare(function: Function, name: str, pairs: Sequence[Pair], tokens: int = TOKENS) -> Table:
    """Tabulate a function of x and y, [tokens, width] in float64, one row for each pair and layer.

    Tokens are neither special nor the first of a text; at most `tokens` are drawn. The function is
    called again without each block of texts. Raises UserError where it gives no number.
    """
    return frame(_measure_layers(function, name, pairs, tokens))


def shown(function: Function, name: str, pair: Pair, tokens: int = TOKENS) -> Shown:
    """Describe the measure by its value for states and themselves: 1 for a similarity, 0 for a
    distance.

    Raises UserError for any other value.
    """
    _, _, reference = next(opened(name, [pair]))
    positions = _draw_tokens(reference, name, pair, tokens)
    states = _read_states(reference, reference.layers, positions)
    value = _call(function, name, states, states)
    if min(abs(value), abs(value - 1)) > TOLERANCE:
        raise UserError(
            f"{name} gives {value:g} for states and themselves; let it give 1 as a similarity, or"
            " 0 as a distance."
        )
    return Shown(f"Hidden states, {name}", {"variant": VARIANT}, is_similarity=value > 0.5)


def _measure_layers(
    function: Function, name: str, pairs: Sequence[Pair], tokens: int
) -> Iterator[dict]:
    for pair, model, reference in opened(name, list(pairs)):
        positions = _draw_tokens(model, name, pair, tokens)
        blocks = token_blocks(model.offsets, positions)
        for layer, ref_layer in matched_layers(model.layers, reference.layers):
            x = _read_states(model, layer, positions)
            y = _read_states(reference, ref_layer, positions)
            yield pair.keys | {
                "variant": VARIANT,
                "layer": layer,
                "ref_layer": ref_layer,
                "head": 0,
                "value": _call(function, name, x, y),
                "sd": np.nan,
                "n": len(positions),
                "jackknife": [
                    _call_without_block(function, name, x, y, block) for block in blocks
                ],
            }


def _draw_tokens(activations, name: str, pair: Pair, tokens: int) -> np.ndarray:
    """Draw the positions of content tokens, the same for equal texts."""
    is_excluded = is_special_or_first(activations.special, activations.offsets)
    return sample_tokens(is_excluded, tokens, name, pair.stimuli, special=False)


def _read_states(activations, layer: int, positions: np.ndarray) -> np.ndarray:
    return activations.states(layer, positions).astype(np.float64)


def _call_without_block(
    function: Function, name: str, x: np.ndarray, y: np.ndarray, block: slice
) -> float:
    """Measure the tokens outside a block; NaN where there are too few."""
    x, y = np.delete(x, block, axis=0), np.delete(y, block, axis=0)
    try:
        return _call(function, name, x, y)
    except UserError:
        return np.nan


def _call(function: Function, name: str, x: np.ndarray, y: np.ndarray) -> float:
    """Call the user's function. Raise UserError unless it returns a finite number."""
    result = function(x, y)
    try:
        value = float(result)
    except (TypeError, ValueError):
        raise UserError(
            f"{name} gives {type(result).__name__}; let it return one number."
        ) from None
    if not np.isfinite(value):
        raise UserError(
            f"{name} gives {value} for {len(x)} tokens; let it return a finite number."
        )
    return value
