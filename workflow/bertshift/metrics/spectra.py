"""What fine-tuning adds to each weight matrix of attention: the spectrum of the change, and
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
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import linalg

from bertshift.errors import UserError
from bertshift.metrics.pairs import frame
from bertshift.metrics.scaling import scaled
from bertshift.models.weights import MATRICES, opened, projection

LEADING, TOLD = 10, 64  # singular vectors looked at, and singular values in a table
COSINE = 0.5
SHARES = (1, 8)
INSTEAD = "leave results/spectra out for it"


def shares(singular: np.ndarray, rank: int) -> float:
    """Measure the share of the squared norm in the first `rank` singular values. `singular` [n]
    has the largest first; NaN if all are 0."""
    squares = scaled(singular) ** 2
    return float(squares[:rank].sum() / squares.sum()) if squares.any() else np.nan


def effective_rank(singular: np.ndarray) -> float:
    """Measure the effective rank, from 1 to n; NaN if all singular values [n] are 0."""
    p = singular[singular > 0] / singular.sum() if singular.any() else np.array([np.nan])
    return float(np.exp(-(p * np.log(p)).sum()))


def left_vectors(weights: np.ndarray) -> np.ndarray:
    """Compute the left singular vectors [out, min(out, in)], the vector of the largest singular
    value first."""
    return linalg.svd(weights, full_matrices=False, check_finite=False)[0]


def intruders(
    new: np.ndarray, old: np.ndarray, leading: int = LEADING, cosine: float = COSINE
) -> int:
    """Count the intruder dimensions: those of the `leading` first columns of `new` that have no
    |cosine| above this with any column of `old`. Both have orthonormal columns [out, n]."""
    return int((np.abs(old.T @ new[:, :leading]).max(axis=0) <= cosine).sum())


def of_matrix(weights: np.ndarray, reference: np.ndarray, vectors: np.ndarray) -> Iterator[dict]:
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
        measures |= {f"rank{rank}": shares(singular, rank) for rank in SHARES}
        measures["effective_rank"] = effective_rank(singular)
    for variant, value in measures.items():
        yield {"variant": variant, "rank": 0, "value": float(value), "n": len(singular)}
    for rank, value in enumerate(singular[:TOLD] / size, 1):
        yield {"variant": "singular", "rank": rank, "value": float(value), "n": len(singular)}


def compare(pairs: Sequence[tuple[Path, Path, dict]]) -> pd.DataFrame:
    """Tabulate spectra, one row for each pair, layer, matrix, variant and rank.

    pairs: (model folder, reference's folder, columns that identify the two). One matrix is in
    memory at a time, in float64. Raises UserError for models of different shapes, and as
    `weights.opened` does.
    """
    return frame(_rows(pairs), extra=("matrix", "rank"))


def _rows(pairs: Sequence[tuple[Path, Path, dict]]) -> Iterator[dict]:
    @lru_cache(maxsize=1)
    def vectors(folder: Path, layer: int, matrix: str) -> np.ndarray:
        with opened(folder, INSTEAD) as reference:
            return left_vectors(projection(reference, layer, matrix))

    # Pairs of one reference follow one another, so that its vectors are found once.
    for layer, matrix in _places(pairs):
        for folder, ref_folder, keys in sorted(pairs, key=lambda pair: str(pair[1])):
            print(
                f"spectra: layer {layer}, {matrix}: {folder} vs {ref_folder}",
                file=sys.stderr,
                flush=True,
            )
            with opened(folder, INSTEAD) as model, opened(ref_folder, INSTEAD) as reference:
                weights, others = (projection(one, layer, matrix) for one in (model, reference))
            if weights.shape != others.shape:
                raise UserError(
                    f"{folder} and {ref_folder} have a {matrix} of {weights.shape} and"
                    f" {others.shape}: name models of one shape."
                )
            place = {"layer": layer, "ref_layer": layer, "head": 0, "matrix": matrix, "sd": np.nan}
            for row in of_matrix(weights, others, vectors(ref_folder, layer, matrix)):
                yield keys | place | row


def _places(pairs: Sequence[tuple[Path, Path, dict]]) -> list[tuple[int, str]]:
    """List the (layer, matrix) that all models and their references have."""
    layers = []
    for folder, ref_folder, _ in pairs:
        with opened(folder, INSTEAD) as model, opened(ref_folder, INSTEAD) as reference:
            if model.layers > reference.layers:
                raise UserError(
                    f"{folder} has {model.layers} layers and {ref_folder} {reference.layers}: name"
                    " a reference with as many."
                )
            layers.append(model.layers)
    return [(layer, matrix) for layer in range(1, min(layers) + 1) for matrix in MATRICES]
