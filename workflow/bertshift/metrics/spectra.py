"""The spectrum of the change that fine-tuning makes to each weight matrix of attention, and its
intruder dimensions.

For the weights W [out, in] of a model, W0 of its reference, and the singular values s1 >= s2 >= ..
of W - W0:

    singular         s_k / |W0|_F, for the leading 64; `rank` is k
    norm             |W - W0|_F / |W0|_F
    rank1, rank8     the share of the squared norm in the first 1 or 8 singular values
    effective_rank   exp(-sum p_i ln p_i) with p_i = s_i / sum s (Roy and Vetterli 2007, section 2)
    intruders        of the 10 leading left singular vectors of W, how many have no |cosine| above
                     0.5 with any of W0's (Shuttleworth et al. 2024, "LoRA vs Full Fine-tuning: An
                     Illusion of Equivalence", Algorithm 1)
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import linalg

from bertshift.errors import UserError
from bertshift.metrics.pairs import frame
from bertshift.metrics.scaling import scaled
from bertshift.models.weights import MATRICES, opened, projection

LEADING = 10  # singular vectors that can be intruders
SHOWN = 64  # singular values in a table
COSINE = 0.5
SHARES = (1, 8)
INSTEAD = "leave results/spectra out for it"


def shares(singular: np.ndarray, rank: int) -> float:
    """Measure the share of the squared norm in the first `rank` singular values. `singular` [n]
    has the largest first; NaN if all are 0."""
    squares = scaled(singular) ** 2
    if not squares.any():
        return np.nan
    return float(squares[:rank].sum() / squares.sum())


def effective_rank(singular: np.ndarray) -> float:
    """Measure the effective rank, from 1 to n; NaN if all singular values [n] are 0."""
    if not singular.any():
        return np.nan
    p = singular[singular > 0] / singular.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


def left_vectors(weights: np.ndarray) -> np.ndarray:
    """Compute the left singular vectors [out, min(out, in)], the vector of the largest singular
    value first."""
    return linalg.svd(weights, full_matrices=False, check_finite=False)[0]


def intruders(new: np.ndarray, old: np.ndarray) -> int:
    """Count the intruder dimensions: those of the LEADING first columns of `new` that have no
    |cosine| above COSINE with any column of `old`. Both have orthonormal columns [out, n]."""
    cosines = np.abs(old.T @ new[:, :LEADING])
    return int((cosines.max(axis=0) <= COSINE).sum())


def matrix_rows(weights: np.ndarray, reference: np.ndarray, vectors: np.ndarray) -> Iterator[dict]:
    """Yield rows of variant, rank, value and n (of singular values).

    `vectors` are the reference's left singular vectors. Shares and effective rank have no rows
    where nothing changed.
    """
    size = linalg.norm(reference)
    singular = linalg.svdvals(weights - reference, check_finite=False)
    measures = {
        "norm": linalg.norm(singular) / size,
        "intruders": intruders(left_vectors(weights), vectors),
    }
    if singular.any():
        for rank in SHARES:
            measures[f"rank{rank}"] = shares(singular, rank)
        measures["effective_rank"] = effective_rank(singular)
    values = [(variant, 0, value) for variant, value in measures.items()]
    values += [("singular", rank, value) for rank, value in enumerate(singular[:SHOWN] / size, 1)]
    for variant, rank, value in values:
        yield {"variant": variant, "rank": rank, "value": float(value), "n": len(singular)}


def compare(pairs: Sequence[tuple[Path, Path, dict]]) -> pd.DataFrame:
    """Tabulate spectra, one row for each pair, layer, matrix, variant and rank.

    pairs: (model folder, reference's folder, columns that identify the two). One matrix is in
    memory at a time, in float64. UserError for models of different shapes, and as `weights.opened`
    does.
    """
    return frame(_rows(pairs), extra=("matrix", "rank")).rows


def _rows(pairs: Sequence[tuple[Path, Path, dict]]) -> Iterator[dict]:
    # Pairs of one reference follow one another, so that its matrix is decomposed once.
    by_reference = sorted(pairs, key=lambda pair: str(pair[1]))
    for layer, matrix in product(range(1, _count_layers(pairs) + 1), MATRICES):
        for ref_folder, group in groupby(by_reference, key=lambda pair: pair[1]):
            reference = _read_matrix(ref_folder, layer, matrix)
            vectors = left_vectors(reference)
            for folder, _, keys in group:
                print(
                    f"spectra: layer {layer}, {matrix}: {folder} vs {ref_folder}",
                    file=sys.stderr,
                    flush=True,
                )
                weights = _read_matrix(folder, layer, matrix)
                if weights.shape != reference.shape:
                    raise UserError(
                        f"{folder} and {ref_folder} have a {matrix} of {weights.shape} and"
                        f" {reference.shape}: name models of one shape."
                    )
                keys = keys | {"layer": layer, "ref_layer": layer, "head": 0}
                for row in matrix_rows(weights, reference, vectors):
                    yield keys | {"matrix": matrix, "sd": np.nan} | row


def _read_matrix(folder: Path, layer: int, matrix: str) -> np.ndarray:
    with opened(folder, INSTEAD) as model:
        return projection(model, layer, matrix)


def _count_layers(pairs: Sequence[tuple[Path, Path, dict]]) -> int:
    """Count the layers that all models and their references have."""
    layers = []
    for folder, ref_folder, _ in pairs:
        with opened(folder, INSTEAD) as model, opened(ref_folder, INSTEAD) as reference:
            if model.layers > reference.layers:
                raise UserError(
                    f"{folder} has {model.layers} layers and {ref_folder} {reference.layers}: name"
                    " a reference with as many."
                )
            layers.append(model.layers)
    return min(layers)
