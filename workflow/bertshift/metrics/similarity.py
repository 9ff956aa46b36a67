"""Other measures than SVCCA of the change of hidden states: do Hao et al.'s conclusions (2020,
section 4) need theirs?

All of them are distances, 0 for hidden states that agree and, for unrelated ones, what
`<variant>_null` says:

    svcca       svcca99                          1 - mean canonical correlation, as in its own table
    pwcca       pwcca_reference, pwcca_model     the same, weighted by what a correlation holds of that side
    cka         cka_debiased, cka_biased         1 - linear CKA
    procrustes  procrustes                       what is left after the best rotation

Tokens: all; content, without special and first tokens; cls, the first tokens; sep, the other
special ones.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from bertshift.activations.sampling import beside_content, sample_tokens
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics import cka, procrustes, pwcca
from bertshift.metrics.pairs import (
    Pair,
    frame,
    matched_layers,
    opened,
    tell_undefined,
    token_blocks,
)
from bertshift.metrics.scatter import Centred, Scatters, scatter
from bertshift.metrics.svcca import Principal, Side, can_be_apart
from bertshift.seeds import seed_from

SHARE = 0.99  # of the variance, that CCA keeps
DRAWS = 3
FEWEST = 4  # tokens that debiased CKA is defined for


def measured(
    xx: np.ndarray,
    xy: np.ndarray,
    yy: np.ndarray,
    squares: Sequence[np.ndarray],
    principal: Sequence[Principal],
    cut: Sequence[int] | None,
) -> dict[tuple[str, str], float]:
    """Measure two sides' distances from scatter matrices and squared lengths [n] of the same n
    tokens, centred.

    Returns (metric, variant) -> distance. principal: the principal directions of both sides; cut:
    how many of these SVCCA and PWCCA compare. The two metrics are left out where cut is None, or
    where n - 1 is below the sum of its two numbers, as some correlations would be 1 whatever the
    data.
    """
    found = {("cka", variant): value for variant, value in of_cka(xx, xy, yy, squares).items()}
    found["procrustes", "procrustes"] = procrustes.distance(xx, xy, yy)
    if not cut or not can_be_apart(len(squares[0]), *cut):
        return found
    rho, *coordinates = pwcca.variates(*principal, xy, *cut)
    by_model, by_reference = map(pwcca.weights, principal, coordinates)
    return {
        ("svcca", "svcca99"): float(1 - rho.mean()),
        ("pwcca", "pwcca_reference"): pwcca.distance(rho, by_reference),
        ("pwcca", "pwcca_model"): pwcca.distance(rho, by_model),
    } | found


def of_cka(
    xx: np.ndarray, xy: np.ndarray, yy: np.ndarray, squares: Sequence[np.ndarray]
) -> dict[str, float]:
    """Compute variant -> 1 - linear CKA, from what `measured` takes."""
    return {
        "cka_debiased": 1 - cka.debiased(xx, xy, yy, *squares),
        "cka_biased": 1 - cka.biased(xx, xy, yy),
    }


def distances(x: Centred, y: Centred, orders: Sequence[np.ndarray] = ()) -> Iterator[dict]:
    """Yield rows of metric, variant, value, sd, k_model, k_reference, without for a model and a
    reference.

    x and y are of the same n tokens. orders: permutations [n] of the reference's tokens. The mean
    of their distances is what unrelated states would have: a row `<variant>_null`, whose sd is
    that between permutations. `without` has the values of the tokens outside each block,
    decomposed anew, NaN where there is none; of nulls, which no text decides, it is empty. k
    counts directions compared: those of 99 % of the variance for SVCCA and PWCCA, also without a
    block (see `svcca.without_blocks`), else all.
    """
    ours, theirs = Side(x), Side(y)
    xx, xy, yy = ours.scattered, ours.across(theirs), theirs.scattered
    principal = ours.principal, theirs.principal
    kept, full = [one.kept(SHARE) for one in principal], [len(one.variances) for one in principal]
    cut = kept if len(x) - 1 > max(xy.whole.shape) else None
    found = measured(xx.whole, xy.whole, yy.whole, (x.squares, y.squares), principal, cut)
    nulls = [
        measured(
            xx.whole,
            scatter(x, y.permuted(order)),
            yy.whole,
            (x.squares, y.squares[order]),
            principal,
            cut,
        )
        for order in orders
    ]
    rests = list(_without(ours, theirs, xy, cut))
    for (metric, variant), value in found.items():
        if np.isnan(value):
            continue
        compared = kept if metric in ("svcca", "pwcca") else full
        k = dict(zip(("k_model", "k_reference"), compared, strict=True))
        without = np.array([rest.get((metric, variant), np.nan) for rest in rests])
        yield {
            "metric": metric,
            "variant": variant,
            "value": value,
            "sd": np.nan,
            "without": without,
        } | k
        if nulls:
            null = np.array([each[metric, variant] for each in nulls])
            spread = {"value": null.mean(), "sd": null.std(ddof=1), "without": ()}
            yield {"metric": metric, "variant": f"{variant}_null"} | spread | k


def _without(ours: Side, theirs: Side, xy: Scatters, cut: Sequence[int] | None) -> Iterator[dict]:
    """Yield `measured` of the tokens outside each block, or {} where `outside` yields ()."""
    for number, outer in enumerate(outside(ours, theirs, xy)):
        deep = cut if ours.states.left[number] - 1 > max(xy.whole.shape) else None
        principal = [side.without[number] for side in (ours, theirs)] if outer and deep else []
        yield measured(*outer, principal, deep) if outer else {}


def outside(ours: Side, theirs: Side, xy: Scatters) -> Iterator[tuple]:
    """Yield, for the tokens outside each block, scatter matrices and squared lengths as `measured`
    takes them; () where these tokens are fewer than FEWEST or do not vary."""
    sides, left = (ours, theirs), ours.states.left
    squares = [side.states.squares_without() for side in sides] if len(left) else []
    for number, block in enumerate(ours.states.blocks):
        if left[number] < FEWEST or not all(side.scattered.rest_varies(number) for side in sides):
            yield ()
            continue
        xx, yy = (side.scattered.without(number) for side in sides)
        yield xx, xy.without(number), yy, [np.delete(of[:, number], block) for of in squares]


def classes(activations: Activations) -> dict[str, np.ndarray]:
    """Mark the tokens of each class: class -> [N] bool."""
    special, offsets = activations.special, activations.offsets
    first = beside_content(np.zeros_like(special), offsets)
    return {
        "all": np.ones_like(special),
        "content": ~beside_content(special, offsets),
        "cls": first,
        "sep": special & ~first,
    }


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
        for name, member in classes(model).items():
            positions = drawn[member[drawn]]
            blocks = token_blocks(model.offsets, positions)
            generator = np.random.default_rng(seed_from("similarity", pair.stimuli, name))
            orders = [generator.permutation(len(positions)) for _ in range(DRAWS)]
            for layer, ref_layer in matched_layers(model.layers, reference.layers):
                x = Centred(model.hidden(layer), positions, blocks)
                y = Centred(reference.hidden(ref_layer), positions, blocks)
                keys = {
                    "tokens": name,
                    "layer": layer,
                    "ref_layer": ref_layer,
                    "head": 0,
                    "n": len(positions),
                }
                if not (len(x) >= FEWEST and x.varies and y.varies):
                    tell_undefined("similarity", pair, layer, f"{len(x)} tokens '{name}'")
                    continue
                found = list(distances(x, y, orders))
                if name == "all" and not any(row["metric"] == "svcca" for row in found):
                    raise UserError(few)
                for row in found:
                    yield pair.keys | keys | row
