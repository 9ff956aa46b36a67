"""Each measure of two arrays, NumPy's or torch's, as one number."""

from typing import Any

import numpy as np

from bertshift.errors import UserError
from bertshift.metrics import cka as kernels
from bertshift.metrics import cosine as maps
from bertshift.metrics import jensen_shannon
from bertshift.metrics import rsa as similarities
from bertshift.metrics import svcca as correlations
from bertshift.metrics.hidden_states import CenteredStates, Comparison
from bertshift.metrics.scaling import scaled

# The tolerance of a sum of probabilities in 16 bits: bfloat16 rounds each by up to 2^-8.
TOLERANCE = 4e-3
SOFTMAX = "give weights after the softmax, which sum to 1."


def rsa(x: Any, y: Any) -> float:
    """Correlate the similarities between tokens in x [tokens, width] with those in y [tokens,
    width], whose widths may differ.

    Pearson's correlation, over all pairs of tokens, of the cosines of their hidden states: no
    unit, from -1 to 1, and 1 where the cosines are the same up to scale and shift (Merchant et
    al. 2020, sections 5.1 and 6). UserError below 3 tokens, for a state that is zero or not
    finite, and where all tokens are equally similar up to rounding.
    """
    return similarities.rsa(*_check_states(x, y))


def svcca(x: Any, y: Any) -> float:
    """Measure the SVCCA distance of x [tokens, width] and y [tokens, width], whose widths may
    differ.

    1 minus the mean canonical correlation of the principal directions that hold 99 % of either
    side's variance: no unit, from 0, where each side is a linear map of the other, to 1 (Raghu et
    al. 2017; Hao et al. 2020, section 4). It depends on the number of tokens: take 20 times the
    width. UserError for states that are not finite or do not vary, and where tokens are too few.
    """
    distances = correlations.svcca(*_check_states(x, y))
    return distances[correlations.HEADLINE]["value"]


def cka(x: Any, y: Any) -> float:
    """Calculate the debiased linear CKA of x [tokens, width] and y [tokens, width], whose widths
    may differ.

    No unit; at most 1, where one side is the other turned, shifted and scaled; 0 is expected of
    unrelated states, so that it may lie a little below (Kornblith et al. 2019, section 3; debiased
    by Song et al. 2012). UserError below 4 tokens, for states that are not finite or do not vary,
    and where the estimate is 0 / 0: in x or in y, all tokens but one are equal, or all are equally
    far apart.
    """
    x, y = map(CenteredStates.of, _check_states(x, y))
    value = float(kernels.debiased(Comparison.of(x, y).moments))
    if np.isnan(value):
        raise UserError(
            "All tokens but one are equal, or all are equally far apart, so debiased CKA is "
            "undefined: give other tokens."
        )
    return value


def js(a: Any, b: Any) -> float:
    """Measure the Jensen-Shannon divergence of attention a [..., query, key] and b of the same
    shape, averaged over queries.

    In nats, from 0, where the distributions are equal, to ln 2 = 0.693; the divergence, not its
    square root (Hao et al. 2020, section 3). Leading axes, such as examples and heads, are
    averaged as well. UserError for another shape, for weights that are not finite, and for rows
    that do not sum to 1.
    """
    p, q = _check_maps(a, b)
    for attention in (p, q):
        is_one = abs(attention.sum(-1) - 1) <= TOLERANCE
        if not ((attention >= 0).all() and is_one.all()):
            raise UserError(f"a row of attention is not a distribution; {SOFTMAX}")
    terms = jensen_shannon.terms(p.ravel(), q.ravel()).sum(axis=0).reshape(p.shape)
    per_query = terms.sum(axis=-1) / 2
    return float(max(per_query.mean(), 0.0))


def cosine(a: Any, b: Any) -> float:
    """Calculate the cosine of attention maps a [..., query, key] and b of the same shape, each map
    flattened.

    No unit; from 0 to 1, as attention is nowhere negative, and 1 where the maps are proportional
    (Kovaleva et al. 2019, section 4.3). Leading axes, such as examples and heads, are averaged
    over. UserError for another shape, for weights that are not finite or below 0, and for a map of
    zeros.
    """
    p, q = (
        scaled(attention.reshape(*attention.shape[:-2], -1), axis=-1)
        for attention in _check_maps(a, b)
    )
    if min(p.min(), q.min()) < 0:
        raise UserError(f"a weight of attention is below 0; {SOFTMAX}")
    if not (p.any(-1).all() and q.any(-1).all()):
        raise UserError(
            "a map of attention is zero everywhere, so it has no direction; leave it out."
        )
    cosines = maps.quotient((p * q).sum(-1), (p * p).sum(-1), (q * q).sum(-1))
    return float(cosines.mean())


def _to_array(name: str, values: Any) -> np.ndarray:
    """Convert to an array in float64, or in float32 where `values` are float32 or narrower.

    UserError, with the array's name, for values that are not finite or not real numbers.
    """
    if hasattr(values, "detach"):  # torch's
        values = values.detach().cpu().to_dense()
        if values.is_floating_point() and values.itemsize < 4:  # NumPy has no bfloat16
            values = values.float()
    if np.ma.is_masked(values):
        raise UserError(f"{name} has masked cells; leave these tokens out of both.")
    try:
        values = np.asarray(values)
        if np.iscomplexobj(values):
            raise UserError(f"{name} holds complex numbers; give real ones.")
        is_narrow = values.dtype.kind == "f" and values.dtype.itemsize <= 4
        values = values.astype(np.float32 if is_narrow else np.float64, copy=False)
    except (TypeError, ValueError):
        raise UserError(f"{name} holds no numbers; give an array of numbers.") from None
    if not np.isfinite(values).all():
        raise UserError(f"{name} has a number that is not finite: check the model.")
    return values


def _check_states(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Convert to arrays [tokens, width]. UserError for other shapes."""
    x, y = _to_array("x", x), _to_array("y", y)
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or not (x.size and y.size):
        raise UserError(
            f"x is {list(x.shape)} and y {list(y.shape)}; give [tokens, width] of the same tokens."
        )
    return x, y


def _check_maps(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Convert to arrays [..., query, key] in float64. UserError for other shapes."""
    a = _to_array("a", a).astype(np.float64, copy=False)
    b = _to_array("b", b).astype(np.float64, copy=False)
    if a.ndim < 2 or a.shape != b.shape or not a.size:
        raise UserError(
            f"a is {list(a.shape)} and b {list(b.shape)}; give [..., query, key] of one shape."
        )
    return a, b
