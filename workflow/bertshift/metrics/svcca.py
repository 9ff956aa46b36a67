"""Singular vector canonical correlation analysis of hidden states (Hao et al. 2020, section 4,
figure 2).

X, Y are the centred hidden states of the same n tokens. Each is cut to its leading principal
directions that hold 99% of the variance, both are whitened, and rho are the singular values of the
product of the two:

    D = 1 - mean(rho),   over min(k_x, k_y) correlations

The principal directions of X are the eigenvectors of X'X, so three covariances, accumulated in
float64 over chunks of tokens, replace the decompositions of the n x d matrices (Raghu et al.
2017).
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from bertshift.activations.sampling import sample_tokens
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics.hidden_states import (
    CenteredStates,
    Comparison,
    Moments,
    Principal,
    rows_by_layer,
)
from bertshift.metrics.pairs import Pair, frame
from bertshift.rows.table import Table

SHARE = 0.99  # of the variance that SVCCA keeps
HEADLINE = "svcca99"


def correlations(x: Principal, y: Principal, cross: np.ndarray, k_x: int, k_y: int) -> np.ndarray:
    """Compute canonical correlations [min(k_x, k_y)], falling, of the first k_x and k_y principal
    directions."""
    return _whitened_correlations(x.whitening(k_x).T @ cross @ y.whitening(k_y))


def _whitened_correlations(product: np.ndarray) -> np.ndarray:
    """Calculate canonical correlations from X'Y in whitened directions, as roots of eigenvalues.
    These take half as long as singular values, and give the mean to 1e-9; a correlation of 0 is
    off by the root of a float64's rounding."""
    rows, columns = product.shape
    narrow = product if rows >= columns else product.T
    squares = np.linalg.eigvalsh(narrow.T @ narrow)[::-1]
    return np.sqrt(np.clip(squares, 0.0, 1.0))


def google_mean(rho: np.ndarray) -> float:
    """Average the leading correlations that sum to 98 % of all, as google/svcca reports it (biased
    up)."""
    k = int(np.searchsorted(np.cumsum(rho), 0.98 * rho.sum())) + 1
    return float(rho[:k].mean())


def null_distance(n: int, k_x: int, k_y: int) -> float:
    """Compute the D expected of independent representations with n tokens: the ceiling of what can
    be measured.

    1 - the mean of rho under Wachter's limit law (Wachter 1980), by quadrature in the angle.
    """
    a, b = sorted([k_x / (n - 1), k_y / (n - 1)])
    middle = np.sqrt(a * (1 - b))
    half_range = np.sqrt(b * (1 - a))
    least = middle - half_range
    most = middle + half_range
    centre = (most**2 + least**2) / 2
    radius = (most**2 - least**2) / 2
    angle = (np.arange(4096) + 0.5) * np.pi / 4096
    square = centre + radius * np.cos(angle)
    weight = np.sin(angle) ** 2 / (square * (1 - square))
    mean = np.sum(np.sqrt(square) * weight) / np.sum(weight)
    # Beyond n - 1 directions in all, the two subspaces must intersect: those correlations are 1.
    intersecting = max(0.0, (a + b - 1) / a)
    return float((1 - intersecting) * (1 - mean))


def can_be_apart(n: int, k_x: int, k_y: int) -> bool:
    """Test whether k_x and k_y directions of n centred tokens need not intersect; else some
    correlations are 1."""
    return k_x + k_y <= n - 1


def comparable(moments: Moments, k_x: int, k_y: int) -> bool:
    """Test whether k_x and k_y directions of these tokens can be compared: there are more tokens
    than either side is wide, and the two subspaces need not intersect."""
    return moments.tokens - 1 > moments.width and can_be_apart(moments.tokens, k_x, k_y)


def distances(moments: Moments, k_x: int, k_y: int) -> dict[str, float]:
    """Measure the distance of two sides in every variant.

    svcca99: the first k_x and k_y directions, those of 99 % of the variance (the headline);
    cca_full: all directions; google_mean98: as svcca99, with `google_mean`. Where subspaces must
    intersect, correlations are 1 whatever the data: cca_full is left out there, and all variants
    are left out where the subspaces of svcca99 must.
    """
    if not comparable(moments, k_x, k_y):
        return {}
    x, y = moments.principal()
    full_x = len(x.variances)
    full_y = len(y.variances)
    has_full = can_be_apart(moments.tokens, full_x, full_y)
    most_x, most_y = (full_x, full_y) if has_full else (k_x, k_y)
    product = x.whitening(most_x).T @ moments.xy @ y.whitening(most_y)
    rho = _whitened_correlations(product[:k_x, :k_y])
    values = {HEADLINE: float(1 - rho.mean())}
    if has_full:
        values["cca_full"] = float(1 - _whitened_correlations(product).mean())
    values["google_mean98"] = 1 - google_mean(rho)
    return values


def svcca(x: np.ndarray, y: np.ndarray) -> dict[str, dict]:
    """Measure hidden states of the same n tokens in two models: `rows_of_comparison`, by variant.

    x: [n, d_x]
    y: [n, d_y]

    UserError where the tokens do not vary or are too few.
    """
    if len(x) != len(y):
        raise ValueError("x and y hold different tokens")
    comparison = Comparison.of(CenteredStates.of(x), CenteredStates.of(y))
    return {row["variant"]: row for row in rows_of_comparison(comparison)}


def rows_of_comparison(comparison: Comparison) -> Iterator[dict]:
    """Yield rows of `distances` and of their values for unrelated states, `<variant>_null`; the
    headline comes first.

    `jackknife` has the values of the tokens outside each block, decomposed anew, NaN where there
    is none; nulls, which do not depend on the text, have none. They keep as many directions as all
    tokens do: if that number jumped, the jackknife would be too wide. UserError where tokens are
    too few.
    """
    moments = comparison.moments
    x, y = moments.principal()
    k_x = x.count_for(SHARE)
    k_y = y.count_for(SHARE)
    if not comparable(moments, k_x, k_y):
        raise UserError(
            f"SVCCA of {moments.tokens} tokens is degenerate at width {moments.width}, where it"
            f" compares {k_x} directions with {k_y}: ask for more stimuli, best 20 times"
            " the width."
        )
    nulls = []
    measured = comparison.measure(partial(distances, k_x=k_x, k_y=k_y))
    for variant, value, jackknife in measured:
        if variant == "cca_full":
            k_model = len(x.variances)
            k_reference = len(y.variances)
        else:
            k_model, k_reference = k_x, k_y
        row = {
            "variant": variant,
            "value": value,
            "jackknife": jackknife,
            "sd": np.nan,
            "n": moments.tokens,
            "k_model": k_model,
            "k_reference": k_reference,
        }
        yield row
        if variant != "google_mean98":
            null = null_distance(moments.tokens, k_model, k_reference)
            nulls.append(row | {"variant": f"{variant}_null", "value": null, "jackknife": ()})
    yield from nulls


def compare(pairs: list[Pair], tokens: int | None = 20_000) -> Table:
    """Tabulate `distances`, one row for each pair, layer and variant, with k_model and
    k_reference.

    n counts tokens, sd is empty. A layer has no rows if its tokens do not differ, which happens
    when a training collapsed.

    pairs: models to compare
    tokens: how many are drawn, without replacement, from all tokens of the stimuli, special ones
        among them; None takes all. They are the same for every model and layer. As the distance
        depends on n, their number is best the same for every task

    UserError where tokens of a pair differ or are too few for `distances`.
    """

    def draw(reference: Activations, stimuli: str) -> np.ndarray:
        return sample_tokens(reference.special, tokens, "svcca", stimuli)

    rows = rows_by_layer("svcca", pairs, draw, rows_of_comparison)
    return frame(rows, extra=("k_model", "k_reference"))
