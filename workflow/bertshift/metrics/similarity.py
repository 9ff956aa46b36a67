"""Other measures than SVCCA of the change of hidden states: do Hao et al.'s conclusions (2020,
section 4) need theirs?

All of them are distances, 0 for hidden states that agree and, for unrelated ones, what
`<variant>_null` says:

    svcca       svcca99                       1 - mean canonical correlation, as in its own table
    pwcca       pwcca_reference, pwcca_model  the same, weighted by what it holds of that side
    cka         cka_debiased, cka_biased      1 - linear CKA
    procrustes  procrustes                    what is left after the best rotation

Tokens: all; content, without special and first tokens; cls, the first tokens; sep, the other
special ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

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
    scatter,
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
    found = cka.distances(moments) | {"procrustes": procrustes.distance(moments)}
    if not comparable(moments, k_x, k_y):
        return found
    principal = moments.principal()
    rho, *coordinates = pwcca.variates(*principal, moments.xy, k_x, k_y)
    by_model, by_reference = map(pwcca.weights, principal, coordinates)
    return {
        "svcca99": float(1 - rho.mean()),
        "pwcca_reference": pwcca.distance(rho, by_reference),
        "pwcca_model": pwcca.distance(rho, by_model),
    } | found


def metric_of(variant: str) -> str:
    """Name the metric that a variant belongs to, as `cka` of `cka_debiased`."""
    return "svcca" if variant == "svcca99" else variant.partition("_")[0]


def rows(compared: Comparison, orders: Sequence[np.ndarray] = ()) -> Iterator[dict]:
    """Yield rows of metric, variant, value, sd, k_model, k_reference, without.

    orders: permutations [n] of the reference's tokens. The mean of their distances is what
    unrelated states would have: a row `<variant>_null`, whose sd is that between permutations.
    `jackknife` has the values of the tokens outside each block, decomposed anew, NaN where there
    is none; of nulls, which no text decides, it is empty. k counts directions compared: those of
    99 % of the variance for SVCCA and PWCCA, also without a block (see `svcca.rows`), else all.
    """
    moments = compared.moments
    principal = moments.principal()
    kept, full = [one.kept(SHARE) for one in principal], [len(one.variances) for one in principal]
    measure = partial(distances, k_x=kept[0], k_y=kept[1])
    nulls = [measure(_reordered(compared, order)) for order in orders]
    for variant, value, without in compared.measured(measure):
        if np.isnan(value):
            continue
        sizes = kept if variant in CANONICAL else full
        k = dict(zip(("k_model", "k_reference"), sizes, strict=True))
        keys = {"metric": metric_of(variant), "variant": variant}
        yield keys | {"value": value, "sd": np.nan, "jackknife": without} | k
        if nulls:
            null = np.array([each[variant] for each in nulls])
            spread = {"value": null.mean(), "sd": null.std(ddof=1), "jackknife": ()}
            yield keys | {"variant": f"{variant}_null"} | spread | k


def _reordered(compared: Comparison, order: np.ndarray) -> Moments:
    """Calculate the moments where the reference's tokens are in another order."""
    x, y = compared.model.states, compared.reference.states
    xy = scatter(x, y.permuted(order))
    return replace(compared.moments, xy=xy, squares=lambda: (x.squares, y.squares[order]))


def compare(pairs: list[Pair], tokens: int | None = 20_000) -> pd.DataFrame:
    """Tabulate `distances`, one row for each pair, layer, class of tokens and variant, nulls
    included.

    n counts tokens. tokens: how many are drawn, the same as SVCCA draws from the same stimuli;
    classes are parts of the draw. A class has no rows in a layer where its tokens do not differ,
    as first tokens in the embeddings or all after a training that collapsed, or where fewer than 4
    are drawn. Raises UserError where tokens of a pair differ, or all that are drawn are too few
    for SVCCA.
    """
    return frame(_rows(pairs, tokens), extra=("k_model", "k_reference"))


def _rows(pairs: list[Pair], tokens: int | None) -> Iterator[dict]:
    for pair, model, reference in opened("similarity", pairs):
        drawn = sample_tokens(model.special, tokens, "svcca", pair.stimuli)
        width = max(model.width, reference.width)
        few = f"{len(drawn)} tokens cannot be compared at width {width}: ask for more stimuli."
        if len(drawn) - 1 <= width:
            raise UserError(few)
        for name, member in token_classes(model).items():
            positions = drawn[member[drawn]]
            blocks = token_blocks(model.offsets, positions)
            generator = np.random.default_rng(seed_from("similarity", pair.stimuli, name))
            orders = [generator.permutation(len(positions)) for _ in range(DRAWS)]
            for layer, ref_layer in matched_layers(model.layers, reference.layers):
                x = CenteredStates(model.hidden(layer), positions, blocks)
                y = CenteredStates(reference.hidden(ref_layer), positions, blocks)
                if not (len(x) >= FEWEST and x.varies and y.varies):
                    tell_undefined("similarity", pair, layer, f"{len(x)} tokens '{name}'")
                    continue
                found = list(rows(Comparison.of(x, y), orders))
                if name == "all" and not any(row["metric"] == "svcca" for row in found):
                    raise UserError(few)
                keys = {"tokens": name, "layer": layer, "ref_layer": ref_layer, "head": 0}
                for row in found:
                    yield pair.keys | keys | {"n": len(positions)} | row
