"""Linear CKA of two models, layer by layer: the rows of `similarity` for CKA of content, without
its decompositions.

Distances, 1 - CKA. `<variant>_null` is the mean over all orders of the reference's tokens, by its
formula; `similarity` draws three orders. The formulas are in `cka`.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bertshift.activations.sampling import sample_tokens
from bertshift.activations.store import Activations
from bertshift.metrics import cka
from bertshift.metrics.hidden_states import (
    FEWEST,
    CenteredStates,
    Comparison,
    token_classes,
)
from bertshift.metrics.pairs import (
    Pair,
    frame,
    matched_layers,
    opened,
    tell_undefined,
    token_blocks,
)

CLASS = "content"
TOKENS = 20_000


def sample(activations: Activations, tokens: int | None, stimuli: str) -> np.ndarray:
    """Draw the positions of the content tokens that are compared."""
    drawn = sample_tokens(activations.special, tokens, "svcca", stimuli)
    return drawn[token_classes(activations)[CLASS][drawn]]


def compare(pairs: list[Pair], tokens: int | None = TOKENS) -> pd.DataFrame:
    """Tabulate 1 - CKA, one row for each pair, layer and variant ("cka_debiased", "cka_biased",
    nulls).

    n counts tokens. A layer in which the tokens do not differ has no rows.

    pairs: models to compare
    tokens: how many are drawn, as in `similarity`, before special and first ones are left out

    UserError where tokens of a pair differ.
    """
    return frame(_rows(pairs, tokens))


def _rows(pairs: list[Pair], tokens: int | None) -> Iterator[dict]:
    for pair, model, reference in opened("cka", pairs):
        positions = sample(model, tokens, pair.stimuli)
        blocks = token_blocks(model.offsets, positions)
        for layer, ref_layer in matched_layers(model.layers, reference.layers):
            x = CenteredStates(model.hidden(layer), positions, blocks)
            y = CenteredStates(reference.hidden(ref_layer), positions, blocks)
            if len(x) < FEWEST or not x.varies or not y.varies:
                tell_undefined("cka", pair, layer)
                continue
            keys = {"layer": layer, "ref_layer": ref_layer, "head": 0, "sd": np.nan, "n": len(x)}
            for row in _value_rows(Comparison.of(x, y)):
                yield pair.keys | keys | row


def _value_rows(comparison: Comparison) -> Iterator[dict]:
    nulls = {"cka_debiased": 1.0, "cka_biased": 1 - cka.null_biased(comparison.moments)}
    for variant, value, jackknife in comparison.measure(cka.distances):
        if not np.isnan(value):
            yield {"variant": variant, "value": value, "jackknife": jackknife}
            yield {"variant": f"{variant}_null", "value": nulls[variant], "jackknife": ()}
