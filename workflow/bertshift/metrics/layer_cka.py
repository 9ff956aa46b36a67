"""Linear CKA of every layer with every layer, debiased (Kornblith et al. 2019, section 3; Phang,
Liu and Bowman 2021).

With K_i = X_i X_i' of the centred states X_i [n, d] of layer i, and k_i = diag K_i,

    CKA(i, j) = H(i, j) / sqrt(H(i, i) H(j, j)),
    H(i, j) = <K_i, K_j> - n / (n - 2) k_i'k_j + sum(k_i) sum(k_j) / (n - 1)(n - 2)

which is the unbiased HSIC of `metrics.cka` but for a factor that cancels. Every <K_i, K_j> comes
from one pass over parts of the tokens: a part of all the K_i, each as one row of a matrix B, adds
B B'. So a layer costs n^2 d operations once, and a pair of layers n^2; with d x d moments a pair
would cost n d^2. All in float64, with no n x n matrix in memory.

Without a block of inputs, m of n tokens are left, of mean u_i where that of all is 0. Of their
products H K_i H, centred anew,

    <H K_i H, H K_j H> = <K_i, K_j> - 2 m (X_i u_i)'(X_j u_j) + m^2 |u_i|^2 |u_j|^2

over the tokens that are left: the products of a block with all tokens, added up on the way, are
subtracted.

Phang, Liu and Bowman find blocks along the diagonal of this map in fine-tuned models: `contrast`
is one number for that.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd

from bertshift.activations.sampling import sample_tokens
from bertshift.errors import UserError
from bertshift.metrics.cka import LEAST_HSIC
from bertshift.metrics.hidden_states import FEWEST, LEAST_SPREAD, CenteredStates, token_classes
from bertshift.metrics.pairs import Pair, frame, opened, tell_undefined, token_blocks

BLOCK = 1000  # tokens: two such parts of 26 layers take 0.3 GB at width 768
# Each map compares (these layers, those layers).
MAPS = {
    "before": ("reference", "reference"),
    "after": ("model", "model"),
    "across": ("model", "reference"),
}
TOKENS = ("content", "cls")


def inner_products(layers: Sequence[CenteredStates]) -> tuple[np.ndarray, np.ndarray]:
    """Compute <K_i, K_j> [k, k] of k layers' states for the same n tokens, and the part of it
    [blocks, k, k] that is due to pairs of tokens with one or both in a block. Widths may differ.
    """
    tokens, count = len(layers[0]), len(layers)
    parts = [slice(first, min(first + BLOCK, tokens)) for first in range(0, tokens, BLOCK)]
    blocks = layers[0].blocks or [slice(0, tokens)]
    total, involved = np.zeros((count, count)), np.zeros((len(blocks), count, count))
    for number, part in enumerate(parts):
        rows = [layer[part] for layer in layers]
        for other in parts[number:]:
            columns = rows if other == part else [layer[other] for layer in layers]
            for (a, own), (b, its) in product(_pieces(part, blocks), _pieces(other, blocks)):
                if other == part and a > b:
                    continue
                # K is symmetric: pieces off its diagonal count twice.
                times = 1 if other == part and a == b else 2
                piece = np.stack(
                    [(x[own] @ y[its].T).ravel() for x, y in zip(rows, columns, strict=True)]
                )
                products = times * (piece @ piece.T)
                total += products
                for block in {a, b}:
                    involved[block] += products
    return total, involved


def _pieces(part: slice, blocks: Sequence[slice]) -> list[tuple[int, slice]]:
    """List (block, where its tokens are in the part) for each block with tokens in the part."""
    ends = (
        (
            number,
            max(block.start, part.start) - part.start,
            min(block.stop, part.stop) - part.start,
        )
        for number, block in enumerate(blocks)
    )
    return [(number, slice(start, stop)) for number, start, stop in ends if start < stop]


def all_pairs(layers: Sequence[CenteredStates]) -> tuple[np.ndarray, np.ndarray]:
    """Compute debiased CKA [k, k] of k layers' states for the same n tokens, also without each
    block [blocks, k, k].

    A value is at most 1, and about 0 for independent states. Without a block it is NaN where fewer
    than 4 tokens are left or a layer's states do not vary. Raises UserError below 4 tokens.
    """
    n = len(layers[0])
    if n < FEWEST:
        raise UserError(f"Debiased CKA needs at least 4 tokens and got {n}: ask for more stimuli.")
    squares = np.stack([layer.squares for layer in layers])
    products, involved = inner_products(layers)
    blocks = layers[0].blocks
    without = np.full((len(blocks), *products.shape), np.nan)
    if blocks:
        means = [layer.means_without for layer in layers]
        along = np.stack([layer.along(own) for layer, own in zip(layers, means, strict=True)])
        lengths = np.stack([np.einsum("bd,bd->b", own, own) for own in means])
    for number, block in enumerate(blocks):
        kept = np.delete(np.arange(n), block)
        shifts, length, m = along[:, kept, number], lengths[:, number], len(kept)
        rest = squares[:, kept] - 2 * shifts + length[:, None]
        if m >= FEWEST:
            centred = (
                products
                - involved[number]
                - 2 * m * shifts @ shifts.T
                + m**2 * np.outer(length, length)
            )
            varies = rest.sum(axis=1) > LEAST_SPREAD * squares.sum(axis=1)
            without[number] = np.where(
                np.logical_and.outer(varies, varies), _debiased(centred, rest), np.nan
            )
    return _debiased(products, squares), without


def _debiased(products: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Compute debiased CKA [k, k], NaN where `cka.debiased` is.

    products: <K_i, K_j> [k, k]; squares: squared lengths [k, n] of the centred states.
    """
    n, totals = squares.shape[1], squares.sum(axis=1)
    found = (
        products
        - n / (n - 2) * (squares @ squares.T)
        + np.outer(totals, totals) / ((n - 1) * (n - 2))
    )
    known = found.diagonal() > LEAST_HSIC * products.diagonal()
    own = np.sqrt(np.where(known, found.diagonal(), np.nan))
    return found / np.outer(own, own)


def thirds(layers: int) -> tuple[list[int], list[int]]:
    """List the lower and upper third of layers 1 to L, rounded up; both are empty if under 2
    layers (L < 4)."""
    size = -(-layers // 3)
    if not 2 <= size <= layers / 2:
        return [], []
    return [*range(1, size + 1)], [*range(layers - size + 1, layers + 1)]


def contrast(cells: pd.Series) -> float:
    """Compute the mean CKA of layer pairs in the upper third minus that of pairs across the upper
    and lower third.

    cells: values by (layer, ref_layer) of one map. NaN for fewer than 4 layers, or where a cell is
    missing.
    """
    found = cells.dropna().to_dict()
    lower, upper = thirds(max((layer for layer, _ in found), default=0))
    within = [(i, j) for i in upper for j in upper if i != j]
    between = [(i, j) for i in upper for j in lower]
    if not within or not {*within, *between} <= {*found}:
        return np.nan
    near, far = (np.mean([found[pair] for pair in pairs]) for pairs in (within, between))
    return float(near - far)


def compare(pairs: list[Pair], tokens: int | None = 5000) -> pd.DataFrame:
    """Tabulate CKA, one row for each pair, class of tokens, map of MAPS (the variant) and pair of
    layers.

    Layers count from the embeddings (0) on; n counts tokens. The first layer of a row is the
    model's, except in `before`; the second is the reference's, except in `after`. Tokens are
    content and cls, the first ones; at most `tokens` of each are drawn. A layer whose tokens do
    not differ, as first tokens in the embeddings, has no rows. Raises UserError where tokens of a
    pair differ, or fewer than 4 are drawn.
    """
    return frame(_rows(pairs, tokens))


def _rows(pairs: list[Pair], tokens: int | None) -> Iterator[dict]:
    for pair, model, reference in opened("layer_cka", pairs):
        members = token_classes(model)
        for name in TOKENS:
            positions = _drawn(members[name], tokens, pair.stimuli, name)
            blocks = token_blocks(model.offsets, positions)
            layers = [
                (side, layer, CenteredStates(one.hidden(layer), positions, blocks))
                for side, one in (("model", model), ("reference", reference))
                for layer in range(one.layers + 1)
            ]
            varying = [each for each in layers if each[2].varies]
            for layer in dict.fromkeys(layer for _, layer, states in layers if not states.varies):
                tell_undefined("layer_cka", pair, layer, f"tokens '{name}'")
            if not varying:
                continue
            values, without = all_pairs([states for *_, states in varying])
            numbered = list(enumerate(varying))
            for variant, sides in MAPS.items():
                for (i, (side, layer, _)), (j, (other, ref_layer, _)) in product(
                    numbered, numbered
                ):
                    if (side, other) == sides:
                        yield pair.keys | {
                            "tokens": name,
                            "variant": variant,
                            "layer": layer,
                            "ref_layer": ref_layer,
                            "head": 0,
                            "value": float(values[i, j]),
                            "sd": np.nan,
                            "n": len(positions),
                            "jackknife": without[:, i, j],
                        }


def _drawn(member: np.ndarray, count: int | None, stimuli: str, name: str) -> np.ndarray:
    """Draw at most `count` of the tokens that are `member` [N] of a class: sorted positions."""
    return sample_tokens(~member, count, "layer_cka", stimuli, name, special=False)
