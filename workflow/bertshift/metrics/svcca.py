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
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby

import numpy as np
import pandas as pd

from bertshift.activations.sampling import sample_tokens
from bertshift.errors import UserError
from bertshift.metrics.cores import on_each_core
from bertshift.metrics.pairs import (
    Pair,
    frame,
    matched_layers,
    opened,
    tell_undefined,
    token_blocks,
)
from bertshift.metrics.scatter import Centred, Scatters, scatter


@dataclass(frozen=True)
class Principal:
    """Principal directions of hidden states: variances [r] falling, directions [d, r]; r is the
    numerical rank."""

    variances: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(cls, scattered: np.ndarray) -> "Principal":
        """Find the principal directions of `scattered` [d, d], X'X of centred X. Raises UserError
        where nothing varies."""
        variances, directions = np.linalg.eigh(scattered)
        variances, directions = variances[::-1], directions[:, ::-1]
        rank = int(np.sum(variances > variances[0] * len(variances) * np.finfo(np.float64).eps))
        if not variances[0] > 0:
            raise UserError(
                "Hidden states do not vary between tokens, so SVCCA is undefined: check the model."
            )
        return cls(variances[:rank], directions[:, :rank])

    def kept(self, share: float) -> int:
        """Find the smallest k for which the first k directions hold this share of the variance."""
        cumulated = np.cumsum(self.variances)
        return min(int(np.searchsorted(cumulated, share * cumulated[-1])) + 1, len(cumulated))

    def whitening(self, k: int) -> np.ndarray:
        return self.directions[:, :k] / np.sqrt(self.variances[:k])


def correlations(x: Principal, y: Principal, cross: np.ndarray, k_x: int, k_y: int) -> np.ndarray:
    """Compute canonical correlations [min(k_x, k_y)], falling, of the first k_x and k_y principal
    directions."""
    return _correlations(x.whitening(k_x).T @ cross @ y.whitening(k_y))


def _correlations(product: np.ndarray) -> np.ndarray:
    """Calculate canonical correlations from X'Y in whitened directions, as roots of eigenvalues.
    These take half as long as singular values, and give the mean to 1e-9; a correlation of 0 is
    off by the root of a float64's rounding."""
    narrow = product if product.shape[0] >= product.shape[1] else product.T
    return np.sqrt(np.clip(np.linalg.eigvalsh(narrow.T @ narrow)[::-1], 0.0, 1.0))


def google_mean(rho: np.ndarray, share: float = 0.98) -> float:
    """Average the leading correlations that sum to `share` of all, as google/svcca reports it
    (biased up)."""
    cut = int(np.searchsorted(np.cumsum(rho), share * rho.sum())) + 1
    return float(rho[:cut].mean())


def null_distance(n: int, k_x: int, k_y: int) -> float:
    """Compute the D expected of independent representations with n tokens: the ceiling of what can
    be measured.

    1 - the mean of rho under Wachter's limit law (Wachter 1980), by quadrature in the angle.
    """
    a, b = sorted((k_x / (n - 1), k_y / (n - 1)))
    near, far = (np.sqrt(a * (1 - b)) + sign * np.sqrt(b * (1 - a)) for sign in (-1, 1))
    centre, radius = (far**2 + near**2) / 2, (far**2 - near**2) / 2
    angle = (np.arange(4096) + 0.5) * np.pi / 4096
    square = centre + radius * np.cos(angle)
    weight = np.sin(angle) ** 2 / (square * (1 - square))
    # Beyond n - 1 directions in all, the two subspaces must intersect: those correlations are 1.
    certain = max(0.0, (a + b - 1) / a)
    return float((1 - certain) * (1 - np.sum(np.sqrt(square) * weight) / np.sum(weight)))


def can_be_apart(n: int, k_x: int, k_y: int) -> bool:
    """Tell whether k_x and k_y directions of n centred tokens need not intersect; else some
    correlations are 1."""
    return k_x + k_y <= n - 1


def distances(
    x: Principal, y: Principal, cross: np.ndarray, n: int, kept: tuple[int, int] | None = None
) -> dict[str, tuple[float, int, int]]:
    """Measure the distance of two sides in every variant: variant -> (distance, k_x, k_y).

    svcca99: directions of 99% of the variance (the headline); cca_full: all directions;
    google_mean98: as svcca99, with `google_mean`; svcca99_null and cca_full_null: `null_distance`
    at their sizes. kept: k_x and k_y of svcca99, where they are not to be those of 99 %. A reading
    with k_x + k_y > n - 1 would say nothing, as the two subspaces must intersect and have
    correlations of 1 whatever the data: cca_full is left out there. Raises UserError where that is
    so of svcca99, which leaves nothing, or where n - 1 is not above the widths.
    """
    k_x, k_y = kept or (x.kept(0.99), y.kept(0.99))
    if n - 1 <= max(len(x.directions), len(y.directions)) or not can_be_apart(n, k_x, k_y):
        raise UserError(
            f"SVCCA of {n} tokens is degenerate at width {len(x.directions)}, where it compares"
            f" {k_x} directions with {k_y}: ask for more stimuli, best 20 times the width."
        )
    full_x, full_y = len(x.variances), len(y.variances)
    full = can_be_apart(n, full_x, full_y)
    most = (full_x, full_y) if full else (k_x, k_y)
    product = x.whitening(most[0]).T @ cross @ y.whitening(most[1])
    rho = _correlations(product[:k_x, :k_y])
    found = {"svcca99": (float(1 - rho.mean()), k_x, k_y)}
    if full:
        found["cca_full"] = (float(1 - _correlations(product).mean()), full_x, full_y)
    found |= {
        "google_mean98": (1 - google_mean(rho), k_x, k_y),
        "svcca99_null": (null_distance(n, k_x, k_y), k_x, k_y),
    }
    if full:
        found["cca_full_null"] = (null_distance(n, full_x, full_y), full_x, full_y)
    return found


@dataclass(frozen=True)
class Side:
    """Hidden states of one model, decomposed with and without each block of tokens once for all
    that it is compared with."""

    states: Centred

    @cached_property
    def scattered(self) -> Scatters:
        return self.across(self)

    @cached_property
    def principal(self) -> Principal:
        return Principal.of(self.scattered.whole)

    @cached_property
    def without(self) -> list[Principal | None]:
        """The principal directions of the tokens outside each block; None where these do not
        vary."""
        own = self.scattered
        return on_each_core(
            lambda block: Principal.of(own.without(block)) if own.rest_varies(block) else None,
            range(len(self.states.blocks)),
        )

    def across(self, other: "Side") -> Scatters:
        return Scatters(self.states, other.states)


def without_blocks(x: Side, y: Side, xy: Scatters, kept: tuple[int, int]) -> dict[str, np.ndarray]:
    """Measure the `distances` of the rows outside each block, decomposed anew: variant ->
    [blocks]. NaN where these rows are too few or do not vary. Nulls are left out, as no text
    decides them.

    As many directions are kept as of all rows: a jackknife of a number that jumps, as at another
    cut, is too wide.
    """
    decomposed = list(zip(x.without, y.without, strict=True))

    def measured(block: int) -> dict:
        one, other = decomposed[block]
        with suppress(UserError):
            if one and other:
                return distances(one, other, xy.without(block), int(x.states.left[block]), kept)
        return {}

    found = on_each_core(measured, range(len(decomposed)))
    variants = ("svcca99", "cca_full", "google_mean98")
    return {name: np.array([one.get(name, (np.nan,))[0] for one in found]) for name in variants}


def svcca(x: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, int, int]]:
    """Compute `distances` of x [n, d_x] and y [n, d_y], hidden states of the same n tokens."""
    if len(x) != len(y):
        raise ValueError("x and y hold different tokens")
    x, y = Centred.of(x), Centred.of(y)
    return distances(
        Principal.of(scatter(x, x)), Principal.of(scatter(y, y)), scatter(x, y), len(x)
    )


def compare(pairs: list[Pair], tokens: int | None = 20_000) -> pd.DataFrame:
    """Tabulate `distances`, one row for each pair, layer and variant, with k_model and
    k_reference.

    n counts tokens, sd is empty. tokens: how many are drawn, without replacement, from all tokens
    of the stimuli, special ones among them; None takes all. The tokens are the same for every
    model and layer. As the distance depends on n, their number is best the same for every task. A
    layer in which tokens do not differ, as after a training that collapsed, has no rows. Raises
    UserError where tokens of a pair differ or are too few for `distances`.
    """
    return frame(_rows(pairs, tokens), extra=("k_model", "k_reference"))


def _rows(pairs: list[Pair], tokens: int | None) -> Iterator[dict]:
    # Seeds of one pretraining run stand together, and share its decompositions, layer by layer.
    for _, together in groupby(opened("svcca", pairs), lambda one: one[0].reference):
        together = list(together)
        pair, model, reference = together[0]
        positions = sample_tokens(reference.special, tokens, "svcca", pair.stimuli)
        blocks = token_blocks(reference.offsets, positions)
        rows = [[] for _ in together]
        for layer, ref_layer in matched_layers(model.layers, reference.layers):
            y = Side(Centred(reference.hidden(ref_layer), positions, blocks))
            for own, (pair, model, _) in zip(rows, together, strict=True):
                x = Side(Centred(model.hidden(layer), positions, blocks))
                if x.states.varies and y.states.varies:
                    keys = pair.keys | {"layer": layer, "ref_layer": ref_layer, "head": 0}
                    own += [keys | row for row in compared(x, y)]
                else:
                    tell_undefined("svcca", pair, layer)
        yield from chain.from_iterable(rows)


def compared(x: Side, y: Side) -> Iterator[dict]:
    """Yield rows of `distances` of the same tokens, with `without`: the values without each block
    of tokens."""
    xy = x.across(y)
    result = distances(x.principal, y.principal, xy.whole, len(x.states))
    without = without_blocks(x, y, xy, result["svcca99"][1:])
    for variant, (value, k_model, k_reference) in result.items():
        yield {
            "variant": variant,
            "value": value,
            "sd": float("nan"),
            "n": len(x.states),
            "k_model": k_model,
            "k_reference": k_reference,
            "without": without.get(variant, ()),
        }
