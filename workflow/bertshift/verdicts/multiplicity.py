"""One verdict for each claim, over its cases, and its p-values corrected for how many claims were
decided.

A statement about several tasks has a case for each of them. It is about ALL of its cases, or about
SOME where the paper's file says so. With the p-values of n cases:

    all    holds: max p_k (intersection-union, Berger 1982)   fails: min(1, n min p_k) (Bonferroni)
    some   holds: min(1, n min p_k)                           fails: max p_k

So a claim fails by one of its cases only where that case is sure enough for one of n. A claim
cannot hold, or fail, by all of its cases where one was not tested. The claims of a paper are
decided on the same few runs: those that hold are corrected for the number of claims by Holm 1979,
and so are those that fail. No claim that has several cases is about their average: where a paper
speaks of one, the average is the claim's only number.
"""

from collections.abc import Collection

import numpy as np
import pandas as pd

from bertshift.rows import nulls
from bertshift.rows.statistics import holm
from bertshift.verdicts.deciding import (
    FAILS,
    HOLDS,
    LESS,
    MORE,
    P_MORE,
    SOME,
    UNDECIDED,
    UNTESTED,
    describe_nulls,
)
from bertshift.verdicts.testing import ERROR, PValues, of_all, of_some

VERDICTS = [HOLDS, FAILS]
CLAIM_P = ["claim_p_holds", "claim_p_fails"]
ADJUSTED = ["adjusted_p_holds", "adjusted_p_fails"]
COLUMNS = ["claim_verdict", "claim_null", *CLAIM_P, *ADJUSTED]


def with_claim_verdicts(rows: pd.DataFrame) -> pd.DataFrame:
    """Add COLUMNS to a paper's rows of `Claims.decide`; cases of one claim share them.

    `claim_p_holds` and `claim_p_fails` are the p-values of the claim over its cases, NaN where
    none was tested, and `adjusted_p_holds` and `adjusted_p_fails` the same after Holm's correction
    for the paper's claims.
    """
    ids, verdicts = [], []
    for id, cases in rows.groupby("id", sort=False):
        ids.append(id)
        p = _p_values(cases)
        verdict = verdict_of(p)
        verdicts.append((verdict, _null(cases) if verdict == HOLDS else "", *p))
    index = pd.Index(ids, dtype=rows["id"].dtype)
    columns = ["claim_verdict", "claim_null", *CLAIM_P]
    claims = pd.DataFrame(verdicts, index=index, columns=columns)
    for own, adjusted in zip(CLAIM_P, ADJUSTED, strict=True):
        claims[adjusted] = holm(claims[own].astype(float).dropna())
    return rows.join(claims, on="id")


def verdict_of(p: PValues) -> str:
    """Decide by the p-values of a claim."""
    if np.isnan(p).any():
        return UNTESTED
    if p.holds < ERROR:
        return HOLDS
    return FAILS if p.fails < ERROR else UNDECIDED


def p_over(p_holds: Collection[float], p_fails: Collection[float], over: str) -> PValues:
    """Calculate the p-values of a claim from those of its cases, NaN for a case that was not
    tested or has no interval. NaN where all are."""
    tested = [p for p in zip(p_holds, p_fails, strict=True) if not np.isnan(p).any()]
    if not tested:
        return PValues(np.nan, np.nan)
    untested = [1.0] * (len(p_holds) - len(tested))
    holds, fails = zip(*tested, strict=True)
    if over == SOME:
        return PValues(of_some(holds), of_all([*fails, *untested]))
    return PValues(of_all([*holds, *untested]), of_some(fails))


def corrected(rows: pd.DataFrame) -> dict[str, int]:
    """Count for HOLDS and FAILS the claims of one paper that do so after Holm's correction as
    well."""
    claims = rows.drop_duplicates("id")
    counts = {}
    for verdict, adjusted in zip(VERDICTS, ADJUSTED, strict=True):
        is_sure = (claims["claim_verdict"] == verdict) & (claims[adjusted] < ERROR)
        counts[verdict] = int(is_sure.sum())
    return counts


def _p_values(cases: pd.DataFrame) -> PValues:
    p = p_over(cases["p_holds"], cases["p_fails"], cases["over"].iloc[0])
    is_undecided = (cases["verdict"] == UNDECIDED).any()
    if np.isnan(p).any() and is_undecided:  # tested, but without an interval
        return PValues(1.0, 1.0)
    return p


def _null(cases: pd.DataFrame) -> str:
    """Say what a claim that holds has beside the nulls: over all cases, more than a null only
    where each case does; over some, by the case that is surest to hold, corrected for their
    number."""
    p_values = {}
    for null in nulls.NULLS:
        p = cases[P_MORE[null]]
        if cases["over"].iloc[0] == SOME:
            surest = cases["p_holds"].argmin()
            tested = cases["p_holds"].notna().sum()
            p_values[null] = np.minimum(1.0, tested * p.iloc[surest])
        else:
            p_values[null] = p.max(skipna=False)
    compared = {null: p for null, p in p_values.items() if not np.isnan(p)}
    return describe_nulls(compared, _direction(cases))


def _direction(cases: pd.DataFrame) -> str:
    """Return the word for what is farther within the range; both where cases differ."""
    words = [
        word
        for word, end in ((MORE, "criterion_low"), (LESS, "criterion_high"))
        if cases[end].notna().any()
    ]
    return " or ".join(words)
