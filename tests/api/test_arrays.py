"""Measures of two arrays against other packages and the formulas written out."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon, pdist
from sklearn.metrics.pairwise import cosine_similarity

import bertshift


@pytest.fixture
def states():
    generator = np.random.default_rng(1)
    x = generator.normal(size=(60, 5)) + 0.5
    return x, x @ generator.normal(size=(5, 4)) + generator.normal(size=(60, 4))


@pytest.fixture
def maps():
    return np.random.default_rng(2).dirichlet(np.ones(6), size=(2, 3, 4, 6))


def test_rsa(states):
    x, y = states
    assert bertshift.rsa(x, y) == pytest.approx(
        np.corrcoef(pdist(x, "cosine"), pdist(y, "cosine"))[0, 1]
    )


def test_svcca(states):
    bases = []
    for one in states:
        u, s, _ = np.linalg.svd(one - one.mean(0), full_matrices=False)
        bases.append(u[:, : np.searchsorted(np.cumsum(s**2), 0.99 * (s**2).sum()) + 1])
    rho = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
    assert bertshift.svcca(*states) == pytest.approx(1 - rho.mean())


def test_js(maps):
    assert bertshift.js(*maps) == pytest.approx((jensenshannon(*maps, axis=-1) ** 2).mean())


def test_cosine(maps):
    flat = maps.reshape(2, -1, 36)
    assert bertshift.cosine(*maps) == pytest.approx(np.diag(cosine_similarity(*flat)).mean())


@pytest.mark.parametrize("measure", ["rsa", "svcca", "cka", "js", "cosine"])
def test_torch_gives_the_same_float(measure, states, maps):
    given = maps if measure in ("js", "cosine") else states
    found = getattr(bertshift, measure)(*map(torch.tensor, given))
    assert type(found) is float and found == getattr(bertshift, measure)(*given)


@pytest.mark.parametrize(
    "measure, shapes, said",
    [
        ("rsa", ((3, 2), (4, 2)), "of the same tokens"),
        ("rsa", ((2, 3), (2, 3)), "at least 3 tokens"),
        ("svcca", ((9, 2, 1), (9, 2)), r"\[tokens, width\]"),
        ("svcca", ((9, 9), (9, 9)), "more stimuli"),
        ("cka", ((3, 2), (3, 2)), "at least 4 tokens"),
        ("js", ((4, 4), (4, 5)), "of one shape"),
        ("js", ((4, 4), (4, 4)), "sum to 1"),
        ("cosine", ((4,), (4,)), r"\[..., query, key\]"),
        ("cosine", ((4, 4), (4, 4)), "after the softmax"),
    ],
)
def test_arrays_that_cannot_be_measured(measure, shapes, said):
    generator = np.random.default_rng(0)
    with pytest.raises(bertshift.UserError, match=said):
        getattr(bertshift, measure)(*(generator.normal(size=shape) for shape in shapes))


@pytest.mark.parametrize("measure", ["rsa", "svcca", "cka", "js", "cosine"])
def test_arrays_that_hold_other_things(measure, states, maps):
    one, other = (maps if measure in ("js", "cosine") else states)[:2]
    missing = one.copy()
    missing[0] = np.nan
    for given, said in (
        (missing, "a number that is not finite"),
        (one + 1j, "holds complex numbers"),
        (np.ma.masked_less(one, 0.1), "has masked cells"),
        (one.astype(str) + "a", "holds no numbers"),
        ([[1, 2], [3]], "holds no numbers"),
    ):
        with pytest.raises(bertshift.UserError, match=said):
            getattr(bertshift, measure)(given, other)


def test_attention_in_16_bits(maps):
    """bfloat16 rounds each weight by up to 2^-8, and so the sum of a row."""
    logits = 10 * torch.randn(2, 50, 300, generator=torch.manual_seed(0))
    for dtype in (torch.bfloat16, torch.float16):
        rounded = torch.softmax(logits, -1).to(dtype)
        assert bertshift.js(rounded[0], rounded[1]) == pytest.approx(
            bertshift.js(*torch.softmax(logits, -1)), rel=0.01
        )
