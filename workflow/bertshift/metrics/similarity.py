"""Other measures than SVCCA of the change of hidden states: do Hao et al.'s conclusions (2020, section 4) need theirs?

All of them are distances, 0 for hidden states that agree and, for unrelated ones, what `<variant>_null` says:

    svcca       svcca99                          1 - mean canonical correlation, as in its own table
    pwcca       pwcca_reference, pwcca_model     the same, weighted by what a correlation holds of that side
    cka         cka_debiased, cka_biased         1 - linear CKA
    procrustes  procrustes                       what is left after the best rotation

Tokens: all; content, without special and first tokens; cls, the first tokens; sep, the other special ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bertshift.activations.sampling import beside_content, sample_tokens
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics import cka, procrustes, pwcca
from bertshift.metrics.pairs import Pair, frame, matched_layers, opened, tell_undefined, token_blocks
from bertshift.metrics.scatter import Centred, scatter, scatters
from bertshift.metrics.svcca import Principal, can_be_apart
from bertshift.seeds import seed_from

SHARE = 0.99  # of the variance, that CCA keeps
DRAWS = 3


@dataclass(frozen=True)
class Side:
    """What a model's n tokens are by themselves: X'X [d, d] and squared lengths [n] of centred rows."""

    scattered: np.ndarray
    squares: np.ndarray

    @cached_property
    def principal(self) -> Principal:
        return Principal.of(self.scattered)


def measured(
    x: Side, y: Side, xy: np.ndarray, order=slice(None), kept: Sequence[int] = ()
) -> dict[tuple[str, str], float]:
    """(metric, variant) -> distance, of xy = X'Y of the same n tokens, or where Y's have another `order`.

    SVCCA and PWCCA are left out where n - 1 is not above the widths, or below the directions of both sides together, as
    some correlations would be 1 whatever the data. kept: how many directions of either they compare, if not those of 99 %.
    """
    xx, yy, n = x.scattered, y.scattered, len(x.squares)
    found = {
        ("cka", "cka_debiased"): 1 - cka.debiased(xx, xy, yy, x.squares, y.squares[order]),
        ("cka", "cka_biased"): 1 - cka.biased(xx, xy, yy),
        ("procrustes", "procrustes"): procrustes.distance(xx, xy, yy),
    }
    if n - 1 <= max(len(xx), len(yy)):
        return found
    kept = kept or [one.principal.kept(SHARE) for one in (x, y)]
    if not can_be_apart(n, *kept):
        return found
    rho, *coordinates = pwcca.variates(x.principal, y.principal, xy, *kept)
    by_model, by_reference = map(pwcca.weights, (x.principal, y.principal), coordinates)
    return {
        ("svcca", "svcca99"): float(1 - rho.mean()),
        ("pwcca", "pwcca_reference"): pwcca.distance(rho, by_reference),
        ("pwcca", "pwcca_model"): pwcca.distance(rho, by_model),
    } | found


def distances(
    x: Centred, y: Centred, orders: Sequence[np.ndarray] = (), blocks: Sequence[slice] = ()
) -> Iterator[dict]:
    """Rows of metric, variant, value, sd, k_model, k_reference, without for the same n tokens of a model and a reference.

    orders: permutations [n] of the reference's tokens. The mean of what they give is what unrelated states would, a row
    `<variant>_null` whose sd is that between permutations. blocks: of tokens; `without` has the values of the tokens
    outside each, decomposed anew, NaN where there is none; of nulls, which no text decides, there is none. k counts
    directions compared: those of 99 % of the variance for SVCCA and PWCCA, also without a block (see
    `svcca.without_blocks`), else all.
    """
    xx, xy, yy = scatters(x, y, blocks or [slice(0, len(x))])
    ours, theirs = Side(xx.whole, x.squares), Side(yy.whole, y.squares)
    found = measured(ours, theirs, xy.whole)
    nulls = [measured(ours, theirs, scatter(x, y.permuted(order)), order) for order in orders]
    principal = ours.principal, theirs.principal
    kept, full = [one.kept(SHARE) for one in principal], [len(one.variances) for one in principal]
    squares = (
        [one.squares_without(blocks, each.sums[0]) for one, each in ((x, xx), (y, yy))] if blocks else []
    )
    rests = []
    for number, block in enumerate(blocks):
        rests.append({})
        if xx.left[number] >= 4 and xx.rest_varies(number) and yy.rest_varies(number):
            sides = (
                Side(each.without(number), np.delete(of[:, number], block))
                for each, of in zip((xx, yy), squares, strict=True)
            )
            rests[-1] = measured(*sides, xy.without(number), kept=kept)
    for (metric, variant), value in found.items():
        if np.isnan(value):
            continue
        compared = kept if metric in ("svcca", "pwcca") else full
        k = dict(zip(("k_model", "k_reference"), compared, strict=True))
        without = np.array([rest.get((metric, variant), np.nan) for rest in rests])
        yield {"metric": metric, "variant": variant, "value": value, "sd": np.nan, "without": without} | k
        if nulls:
            null = np.array([each[metric, variant] for each in nulls])
            spread = {"value": null.mean(), "sd": null.std(ddof=1), "without": ()}
            yield {"metric": metric, "variant": f"{variant}_null"} | spread | k


def classes(activations: Activations) -> dict[str, np.ndarray]:
    """[N] which tokens are of each class."""
    special, offsets = activations.special, activations.offsets
    first = beside_content(np.zeros_like(special), offsets)
    return {
        "all": np.ones_like(special),
        "content": ~beside_content(special, offsets),
        "cls": first,
        "sep": special & ~first,
    }


def compare(pairs: list[Pair], tokens: int | None = 20_000) -> pd.DataFrame:
    """One row a pair, layer, class of tokens and variant of `distances`, nulls among them; n counts tokens.

    tokens: how many are drawn, those that SVCCA draws of the same stimuli; classes are parts of the draw. A class has no
    rows in a layer where its tokens do not differ, as first tokens in the embeddings or all after a training that collapsed, or
    where fewer than 4 are drawn.
    Raises UserError where tokens of a pair differ, or all that are drawn are too few for SVCCA.
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
            blocks = token_blocks(model, positions)
            generator = np.random.default_rng(seed_from("similarity", pair.stimuli, name))
            orders = [generator.permutation(len(positions)) for _ in range(DRAWS)]
            for layer, ref_layer in matched_layers(model.layers, reference.layers):
                x = Centred(model.hidden(layer), positions)
                y = Centred(reference.hidden(ref_layer), positions)
                keys = {
                    "tokens": name,
                    "layer": layer,
                    "ref_layer": ref_layer,
                    "head": 0,
                    "n": len(positions),
                }
                if not (len(x) >= 4 and x.varies and y.varies):
                    tell_undefined("similarity", pair, layer, f"{len(x)} tokens '{name}'")
                    continue
                found = list(distances(x, y, orders, blocks))
                if name == "all" and not any(row["metric"] == "svcca" for row in found):
                    raise UserError(few)
                for row in found:
                    yield pair.keys | keys | row
