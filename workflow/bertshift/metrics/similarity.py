"""Other measures than SVCCA of the change of hidden states: do Hao et al.'s conclusions (2020,
section 4) need theirs?

All of them are distances: 0 for hidden states that agree, and `<variant>_null` for unrelated ones:

    svcca       svcca99                       1 - mean canonical correlation, as in its own table
    pwcca       pwcca_reference, pwcca_model  the same, weighted by how much of that side it holds
    cka         cka_debiased, cka_biased      1 - linear CKA
    procrustes  procrustes                    the difference that the best rotation leaves

Tokens: all; content, without special and first tokens; cls, the first tokens; sep, the other
special ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from bertshift.activations.sampling import sample_tokens
from bertshift.errors import UserError
from bertshift.metrics import cka, procrustes, pwcca
from bertshift.metrics.hidden_states import (
    Comparison,
    Moments,
    compared_layers,
    in_order_of_pairs,
    scatter,
    token_classes,
)
from bertshift.metrics.pairs import Pair, frame, opened_by_reference
from bertshift.metrics.svcca import SHARE, comparable
from bertshift.rows.table import Table
from bertshift.seeds import seed_from

DRAWS = 3
# Variants of the measures that compare some directions alone.
CANONICAL = ("svcca99", "pwcca_reference", "pwcca_model")


def distances(moments: Moments, k_x: int, k_y: int) -> dict[str, float]:
    """Measure the distance of two sides by every measure: variant -> value.

    k_x, k_y: how many principal directions SVCCA and PWCCA compare. The two are left out where
    tokens are too few for that.
    """
    canonical = _canonical_distances(moments, k_x, k_y)
    return canonical | cka.distances(moments) | {"procrustes": procrustes.distance(moments)}


def _canonical_distances(moments: Moments, k_x: int, k_y: int) -> dict[str, float]:
    if not comparable(moments, k_x, k_y):
        return {}
    x, y = moments.principal()
    rho, x_variates, y_variates = pwcca.variates(x, y, moments.xy, k_x, k_y)
    return {
        "svcca99": float(1 - rho.mean()),
        "pwcca_reference": pwcca.distance(rho, pwcca.weights(y, y_variates)),
        "pwcca_model": pwcca.distance(rho, pwcca.weights(x, x_variates)),
    }


def null_distances(
    comparison: Comparison, orders: Sequence[np.ndarray], k_x: int, k_y: int
) -> dict[str, tuple[float, float]]:
    """Measure unrelated states: variant -> the mean of `distances` over orders of the reference's
    tokens, and their standard deviation.

    orders: some permutations [n], two or more. CKA has a formula for the mean over all of them,
    and no deviation.
    """
    drawn = []
    for order in orders:
        moments = _permute_reference(comparison, order)
        canonical = _canonical_distances(moments, k_x, k_y)
        drawn.append(canonical | {"procrustes": procrustes.distance(moments)})
    values = {variant: np.array([null[variant] for null in drawn]) for variant in drawn[0]}
    nulls = {variant: (null.mean(), null.std(ddof=1)) for variant, null in values.items()}
    formulas = cka.null_distances(comparison.moments)
    return nulls | {variant: (null, np.nan) for variant, null in formulas.items()}


def metric_of(variant: str) -> str:
    """Name the metric that a variant belongs to, as `cka` of `cka_debiased`."""
    return "svcca" if variant == "svcca99" else variant.partition("_")[0]


def rows_of_comparison(comparison: Comparison, orders: Sequence[np.ndarray]) -> Iterator[dict]:
    """Yield rows of metric, variant, value, sd, jackknife, k_model and k_reference, each followed
    by `<variant>_null` for unrelated states, with the numbers of `null_distances`.

    `jackknife` has the values of the tokens outside each block, decomposed anew, NaN where there
    is none; it is empty for nulls, which do not depend on the text. k counts directions compared:
    those of 99 % of the variance for SVCCA and PWCCA, also without a block (see
    `svcca.rows_of_comparison`), else all.
    """
    x, y = comparison.moments.principal()
    k_x = x.count_for(SHARE)
    k_y = y.count_for(SHARE)
    nulls = null_distances(comparison, orders, k_x, k_y)
    for variant, value, jackknife in comparison.measure(partial(distances, k_x=k_x, k_y=k_y)):
        if np.isnan(value):
            continue
        if variant in CANONICAL:
            k = {"k_model": k_x, "k_reference": k_y}
        else:
            k = {"k_model": len(x.variances), "k_reference": len(y.variances)}
        keys = {"metric": metric_of(variant), "variant": variant}
        yield keys | {"value": value, "sd": np.nan, "jackknife": jackknife} | k
        mean, deviation = nulls[variant]
        keys["variant"] = f"{variant}_null"
        yield keys | {"value": mean, "sd": deviation, "jackknife": ()} | k


def _permute_reference(comparison: Comparison, order: np.ndarray) -> Moments:
    """Calculate the moments with the reference's tokens in another order."""
    x = comparison.model.states
    y = comparison.reference.states
    xy = scatter(x, y.permuted(order))
    return replace(comparison.moments, xy=xy, squares=lambda: (x.squares, y.squares[order]))


def compare(pairs: list[Pair], tokens: int | None = 20_000) -> Table:
    """Tabulate `distances`, one row for each pair, layer, class of tokens and variant, nulls
    included.

    n counts tokens. A class has no rows in a layer where fewer than 4 of its tokens are drawn, or
    where they do not differ: first tokens in the embeddings, or all tokens if a training
    collapsed.

    pairs: models to compare
    tokens: how many are drawn, the same as SVCCA draws from the same stimuli; classes are parts of
        the draw

    UserError where tokens of a pair differ, or all that are drawn are too few for SVCCA.
    """
    return frame(_rows(pairs, tokens), extra=("k_model", "k_reference"))


def _rows(pairs: list[Pair], tokens: int | None) -> Iterator[dict]:
    for group in opened_by_reference("similarity", pairs):
        pair, _, reference = group[0]
        drawn = sample_tokens(reference.special, tokens, "svcca", pair.stimuli)
        width = max(states.width for _, model, _ in group for states in (model, reference))
        too_few = f"{len(drawn)} tokens cannot be compared at width {width}: ask for more stimuli."
        if len(drawn) - 1 <= width:
            raise UserError(too_few)
        rows: list[tuple[int, dict]] = []
        for name, is_member in token_classes(reference).items():
            positions = drawn[is_member[drawn]]
            tokens_named = f"{len(positions)} tokens '{name}'"
            generator = np.random.default_rng(seed_from("similarity", pair.stimuli, name))
            orders = [generator.permutation(len(positions)) for _ in range(DRAWS)]
            for number, keys, comparison in compared_layers(
                "similarity", group, positions, tokens_named
            ):
                layer_rows = list(rows_of_comparison(comparison, orders))
                if name == "all" and not any(row["metric"] == "svcca" for row in layer_rows):
                    raise UserError(too_few)
                rows += [(number, {**keys, "tokens": name, **row}) for row in layer_rows]
        yield from in_order_of_pairs(rows)
