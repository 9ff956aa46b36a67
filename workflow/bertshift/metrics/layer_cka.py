"""Linear CKA of every layer with every layer, debiased (Kornblith et al. 2019, section 3; Phang,
Liu and Bowman 2021).

With K_i = X_i X_i' of the centred states X_i [n, d] of layer i, and k_i = diag K_i,

    CKA(i, j) = H(i, j) / sqrt(H(i, i) H(j, j)),
    H(i, j) = <K_i, K_j> - n / (n - 2) k_i'k_j + sum(k_i) sum(k_j) / (n - 1)(n - 2)

which is the unbiased HSIC of `metrics.cka` but for a factor that cancels. Every <K_i, K_j> comes
from one pass over parts of the tokens: a part of all the K_i, each as one row of a matrix B, adds
B B'. So a layer costs n^2 d operations once, and a pair of layers n^2; with d x d moments a pair
would cost n d^2. All in float64, with no n x n matrix in memory.

Without a block of inputs, m of n tokens remain, with the mean u_i; all tokens have the mean 0.
Their products H K_i H, centred anew, satisfy

    <H K_i H, H K_j H> = <K_i, K_j> - 2 m (X_i u_i)'(X_j u_j) + m^2 |u_i|^2 |u_j|^2

over the remaining tokens: the products of a block with all tokens, added up in the same pass, are
subtracted.

Phang, Liu and Bowman find blocks along the diagonal of this map in fine-tuned models: `contrast`
measures these by one number.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd

from bertshift.activations.sampling import sample_tokens
from bertshift.errors import UserError
from bertshift.metrics.cka import LEAST_HSIC
from bertshift.metrics.hidden_states import FEWEST, LEAST_SPREAD, CenteredStates, token_classes
from bertshift.metrics.pairs import Pair, frame, opened, tell_undefined, token_blocks
from bertshift.rows.table import Table

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
    tokens = len(layers[0])
    count = len(layers)
    parts = [slice(first, min(first + BLOCK, tokens)) for first in range(0, tokens, BLOCK)]
    blocks = layers[0].blocks or [slice(0, tokens)]
    total = np.zeros((count, count))
    involved = np.zeros((len(blocks), count, count))
    for number, row_part in enumerate(parts):
        rows = [layer[row_part] for layer in layers]
        for column_part in parts[number:]:
            is_diagonal = column_part == row_part
            columns = rows if is_diagonal else [layer[column_part] for layer in layers]
            for (a, row_slice), (b, column_slice) in product(
                _split_part(row_part, blocks), _split_part(column_part, blocks)
            ):
                if is_diagonal and a > b:
                    continue
                cells = [
                    (x[row_slice] @ y[column_slice].T).ravel()
                    for x, y in zip(rows, columns, strict=True)
                ]
                piece = np.stack(cells)
                # K is symmetric: pieces off its diagonal count twice.
                times = 1 if is_diagonal and a == b else 2
                products = times * (piece @ piece.T)
                total += products
                for block in {a, b}:
                    involved[block] += products
    return total, involved


def _split_part(part: slice, blocks: Sequence[slice]) -> list[tuple[int, slice]]:
    """List (block, its tokens within the part) for each block with tokens in the part."""
    pieces = []
    for number, block in enumerate(blocks):
        start = max(block.start, part.start)
        stop = min(block.stop, part.stop)
        if start < stop:
            pieces.append((number, slice(start - part.start, stop - part.start)))
    return pieces


def all_pairs(layers: Sequence[CenteredStates]) -> tuple[np.ndarray, np.ndarray]:
    """Compute debiased CKA [k, k] of k layers' states for the same n tokens, also without each
    block [blocks, k, k].

    A value is at most 1, and about 0 for independent states. Without a block it is NaN where fewer
    than 4 tokens remain or a layer's states do not vary. UserError below 4 tokens.
    """
    n = len(layers[0])
    if n < FEWEST:
        raise UserError(f"Debiased CKA needs at least 4 tokens and got {n}: ask for more stimuli.")
    squares = np.stack([layer.squares for layer in layers])
    products, involved = inner_products(layers)
    blocks = layers[0].blocks
    without = np.full((len(blocks), *products.shape), np.nan)
    if blocks:
        # For each layer: X_i u_i [n, blocks] and |u_i|^2 [blocks].
        shifts = np.stack([layer.along(layer.means_without) for layer in layers])
        mean_squares = np.stack(
            [np.einsum("bd,bd->b", layer.means_without, layer.means_without) for layer in layers]
        )
    for number, block in enumerate(blocks):
        outside = np.delete(np.arange(n), block)
        m = len(outside)
        if m < FEWEST:
            continue
        shift = shifts[:, outside, number]
        mean_square = mean_squares[:, number]
        centred = (
            products
            - involved[number]
            - 2 * m * shift @ shift.T
            + m**2 * np.outer(mean_square, mean_square)
        )
        centred_squares = squares[:, outside] - 2 * shift + mean_square[:, None]
        varies = centred_squares.sum(axis=1) > LEAST_SPREAD * squares.sum(axis=1)
        both_vary = np.logical_and.outer(varies, varies)
        without[number] = np.where(both_vary, _debiased_cka(centred, centred_squares), np.nan)
    return _debiased_cka(products, squares), without


def _debiased_cka(products: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Compute debiased CKA [k, k], NaN where `cka.debiased` is.

    products: <K_i, K_j> [k, k]; squares: squared lengths [k, n] of the centred states.
    """
    n = squares.shape[1]
    totals = squares.sum(axis=1)
    hsic = (
        products
        - n / (n - 2) * (squares @ squares.T)
        + np.outer(totals, totals) / ((n - 1) * (n - 2))
    )
    is_defined = hsic.diagonal() > LEAST_HSIC * products.diagonal()
    norms = np.sqrt(np.where(is_defined, hsic.diagonal(), np.nan))
    return hsic / np.outer(norms, norms)


def thirds(layers: int) -> tuple[list[int], list[int]]:
    """List the lower and upper third of layers 1 to L, rounded up; both are empty if under 2
    layers (L < 4)."""
    if layers < 4:
        return [], []
    size = math.ceil(layers / 3)
    numbers = list(range(1, layers + 1))
    return numbers[:size], numbers[-size:]


def contrast(cells: pd.Series) -> float:
    """Compute the mean CKA of layer pairs in the upper third minus the mean CKA of pairs across
    the upper and lower third.

    cells: values by (layer, ref_layer) of one map. NaN for fewer than 4 layers, or where a cell is
    missing.
    """
    values = cells.dropna().to_dict()
    lower, upper = thirds(max((layer for layer, _ in values), default=0))
    within = [(i, j) for i in upper for j in upper if i != j]
    across = [(i, j) for i in upper for j in lower]
    if not within or not set(within + across) <= set(values):
        return np.nan
    mean_within = np.mean([values[pair] for pair in within])
    mean_across = np.mean([values[pair] for pair in across])
    return float(mean_within - mean_across)


def compare(pairs: list[Pair], tokens: int | None = 5000) -> Table:
    """Tabulate CKA, one row for each pair, class of tokens, map of MAPS (the variant) and pair of
    layers.

    Layers count from the embeddings (0) on; n counts tokens. The first layer of a row is the
    model's, except in `before`; the second is the reference's, except in `after`. Tokens are
    content and cls, the first ones. A layer has no rows if its tokens do not differ, such as first
    tokens in the embeddings.

    pairs: models to compare
    tokens: of each class, at most this number is drawn

    UserError where tokens of a pair differ, or fewer than 4 are drawn.
    """
    return frame(_rows(pairs, tokens))


def _rows(pairs: list[Pair], tokens: int | None) -> Iterator[dict]:
    for pair, model, reference in opened("layer_cka", pairs):
        classes = token_classes(model)
        for name in TOKENS:
            is_other = ~classes[name]
            positions = sample_tokens(
                is_other, tokens, "layer_cka", pair.stimuli, name, special=False
            )
            blocks = token_blocks(model.offsets, positions)
            # (side, layer) -> states.
            varying: dict[tuple[str, int], CenteredStates] = {}
            constant = []
            for side, activations in (("model", model), ("reference", reference)):
                for layer in range(activations.layers + 1):
                    states = CenteredStates(activations.hidden(layer), positions, blocks)
                    if states.varies:
                        varying[side, layer] = states
                    else:
                        constant.append(layer)
            for layer in dict.fromkeys(constant):
                tell_undefined("layer_cka", pair, layer, f"tokens '{name}'")
            if not varying:
                continue
            values, without = all_pairs(list(varying.values()))
            for variant, sides in MAPS.items():
                for (i, (side, layer)), (j, (ref_side, ref_layer)) in product(
                    enumerate(varying), repeat=2
                ):
                    if (side, ref_side) == sides:
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
