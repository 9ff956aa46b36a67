"""Linear CKA of two models, layer by layer: the rows of `similarity` for CKA of content, without
its decompositions.

Distances, 1 - CKA. The formulas are in `cka`.
"""

from collections.abc import Iterator

import numpy as np

from bertshift.activations.sampling import sample_tokens
from bertshift.activations.store import Activations
from bertshift.metrics import cka
from bertshift.metrics.hidden_states import Comparison, rows_by_layer, token_classes
from bertshift.metrics.pairs import Pair, frame
from bertshift.rows.table import Table

CLASS = "content"
TOKENS = 20_000


def sample(activations: Activations, tokens: int | None, stimuli: str) -> np.ndarray:
    """Draw the positions of the content tokens that are compared."""
    drawn = sample_tokens(activations.special, tokens, "svcca", stimuli)
    return drawn[token_classes(activations)[CLASS][drawn]]


def compare(pairs: list[Pair], tokens: int | None = TOKENS) -> Table:
    """Tabulate 1 - CKA, one row for each pair, layer and variant ("cka_debiased", "cka_biased",
    nulls).

    n counts tokens. A layer in which the tokens do not differ has no rows.

    pairs: models to compare
    tokens: how many are drawn, as in `similarity`, before special and first ones are left out

    UserError where tokens of a pair differ.
    """

    def draw(reference: Activations, stimuli: str) -> np.ndarray:
        return sample(reference, tokens, stimuli)

    return frame(rows_by_layer("cka", pairs, draw, _rows_of_comparison))


def _rows_of_comparison(comparison: Comparison) -> Iterator[dict]:
    nulls = cka.null_distances(comparison.moments)
    for variant, value, jackknife in comparison.measure(cka.distances):
        if not np.isnan(value):
            row = {"variant": variant, "value": value, "sd": np.nan, "jackknife": jackknife}
            yield row
            null = {"variant": f"{variant}_null", "value": nulls[variant], "jackknife": ()}
            yield row | null
