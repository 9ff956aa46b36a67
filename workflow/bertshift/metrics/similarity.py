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
from itertools import chain

import numpy as np
import pandas as pd

from bertshift.activations.sampling import sample_tokens
from bertshift.errors import UserError
from bertshift.metrics import cka, procrustes, pwcca
from bertshift.metrics.hidden_states import (
    FEWEST,
    CenteredStates,
    Comparison,
    Moments,
    Representation,
    scatter,
    token_classes,
)
from bertshift.metrics.pairs import (
    Pair,
    frame,
    matched_layers,
    opened_by_reference,
    tell_undefined,
    token_blocks,
)
from bertshift.metrics.svcca import SHARE, comparable
from bertshift.seeds import seed_from

DRAWS = 3
# Variants of the measures that compare some directions alone.
CANONICAL = ("svcca99", "pwcca_reference", "pwcca_model")


def distances(moments: Moments, k_x: int, k_y: int) -> dict[str, float]:
    """Measure the distance of two sides by every measure: variant -> value.

    k_x, k_y: how many principal directions SVCCA and PWCCA compare. The two are left out where
    tokens are too few for that.
    """
    values = {}
    if comparable(moments, k_x, k_y):
        x, y = moments.principal()
        rho, x_variates, y_variates = pwcca.variates(x, y, moments.xy, k_x, k_y)
        values["svcca99"] = float(1 - rho.mean())
        values["pwcca_reference"] = pwcca.distance(rho, pwcca.weights(y, y_variates))
        values["pwcca_model"] = pwcca.distance(rho, pwcca.weights(x, x_variates))
    values |= cka.distances(moments)
    values["procrustes"] = procrustes.distance(moments)
    return values


def metric_of(variant: str) -> str:
    """Name the metric that a variant belongs to, as `cka` of `cka_debiased`."""
    return "svcca" if variant == "svcca99" else variant.partition("_")[0]


def rows(comparison: Comparison, orders: Sequence[np.ndarray] = ()) -> Iterator[dict]:
    """Yield rows of metric, variant, value, sd, jackknife, k_model and k_reference.

    orders: permutations [n] of the reference's tokens. Their distances are those of unrelated
    states: a row `<variant>_null` has their mean, and as sd that between permutations.
    `jackknife` has the values of the tokens outside each block, decomposed anew, NaN where there
    is none; it is empty for nulls, which do not depend on the text. k counts directions compared:
    those of 99 % of the variance for SVCCA and PWCCA, also without a block (see `svcca.rows`),
    else all.
    """
    x, y = comparison.moments.principal()
    k_x = x.count_for(SHARE)
    k_y = y.count_for(SHARE)
    measure = partial(distances, k_x=k_x, k_y=k_y)
    nulls = [measure(_permute_reference(comparison, order)) for order in orders]
    for variant, value, jackknife in comparison.measure(measure):
        if np.isnan(value):
            continue
        if variant in CANONICAL:
            k = {"k_model": k_x, "k_reference": k_y}
        else:
            k = {"k_model": len(x.variances), "k_reference": len(y.variances)}
        keys = {"metric": metric_of(variant), "variant": variant}
        yield keys | {"value": value, "sd": np.nan, "jackknife": jackknife} | k
        if nulls:
            values = np.array([null[variant] for null in nulls])
            keys["variant"] = f"{variant}_null"
            null = {"value": values.mean(), "sd": values.std(ddof=1), "jackknife": ()}
            yield keys | null | k


def _permute_reference(comparison: Comparison, order: np.ndarray) -> Moments:
    """Calculate the moments with the reference's tokens in another order."""
    x = comparison.model.states
    y = comparison.reference.states
    xy = scatter(x, y.permuted(order))
    return replace(comparison.moments, xy=xy, squares=lambda: (x.squares, y.squares[order]))


def compare(pairs: list[Pair], tokens: int | None = 20_000) -> pd.DataFrame:
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
        pair, model, reference = group[0]
        drawn = sample_tokens(reference.special, tokens, "svcca", pair.stimuli)
        width = max(model.width, reference.width)
        too_few = f"{len(drawn)} tokens cannot be compared at width {width}: ask for more stimuli."
        if len(drawn) - 1 <= width:
            raise UserError(too_few)
        rows_of_pairs = [[] for _ in group]
        for name, is_member in token_classes(reference).items():
            positions = drawn[is_member[drawn]]
            blocks = token_blocks(reference.offsets, positions)
            generator = np.random.default_rng(seed_from("similarity", pair.stimuli, name))
            orders = [generator.permutation(len(positions)) for _ in range(DRAWS)]
            for layer, ref_layer in matched_layers(model.layers, reference.layers):
                keys = {"tokens": name, "layer": layer, "ref_layer": ref_layer, "head": 0}
                keys |= {"n": len(positions)}
                y = Representation(CenteredStates(reference.hidden(ref_layer), positions, blocks))
                for pair_rows, (pair, model, _) in zip(rows_of_pairs, group, strict=True):
                    x = Representation(CenteredStates(model.hidden(layer), positions, blocks))
                    if len(positions) < FEWEST or not (x.states.varies and y.states.varies):
                        tokens_named = f"{len(positions)} tokens '{name}'"
                        tell_undefined("similarity", pair, layer, tokens_named)
                        continue
                    layer_rows = list(rows(Comparison(x, y), orders))
                    if name == "all" and not any(row["metric"] == "svcca" for row in layer_rows):
                        raise UserError(too_few)
                    pair_rows += [pair.keys | keys | row for row in layer_rows]
        yield from chain.from_iterable(rows_of_pairs)
