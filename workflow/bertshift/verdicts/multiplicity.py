"""One verdict for each claim, over its cases, and its probability corrected for how many claims
were decided.

A statement about several tasks has a case for each of them. It is about `all` of its cases, or
about `some` where the paper's file says so. With p_k = 1 - probability of case k, of n cases that
could be tested:

    all    p = max p_k             intersection-union test (Berger 1982): it needs no correction
    some   p = min(1, n min p_k)   Bonferroni

The claims of a paper are decided on the same few runs. Their p are corrected by Holm 1979. No
claim that has several cases is about their average: where a paper speaks of one, the average is
the claim's only number.
"""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from bertshift.rows.statistics import holm
from bertshift.verdicts.deciding import BEYOND, FAILS, HOLDS, TOO, UNDECIDED, UNTESTED

ALL, SOME = "all", "some"
SURE = 0.975  # the probability on one side of a two-sided interval of 95 %
COLUMNS = ["claim_verdict", "claim_null", "claim_probability", "adjusted_probability"]


def with_claim_verdicts(rows: pd.DataFrame) -> pd.DataFrame:
    """Add COLUMNS to a paper's rows of `Claims.decide`; cases of one claim share them.

    `claim_probability` is that of the claim to hold over all of its cases that could be tested,
    `adjusted_probability` the same after Holm's correction for the paper's claims. NaN where a
    case has none.
    """
    ids, verdicts = [], []
    for id, cases in rows.groupby("id", sort=False):
        ids.append(id)
        verdicts.append((_verdict(cases), _null(cases), _probability(cases)))
    index = pd.Index(ids, dtype=rows["id"].dtype)
    claims = pd.DataFrame(verdicts, index=index, columns=COLUMNS[:3])
    doubts = 1 - claims["claim_probability"].astype(float).dropna()
    claims["adjusted_probability"] = 1 - holm(doubts)
    return rows.join(claims, on="id")


def verdict_over(verdicts: Collection[str], over: str) -> str:
    """Decide a claim by the verdicts on its cases. A claim over all cases holds only if each was
    tested."""
    verdicts = {*verdicts}
    if verdicts <= {UNTESTED}:
        return UNTESTED
    one_suffices, all_needed = (HOLDS, FAILS) if over == SOME else (FAILS, HOLDS)
    if one_suffices in verdicts:
        return one_suffices
    return all_needed if verdicts == {all_needed} else UNDECIDED


def probability_over(probabilities: Sequence[float], over: str) -> float:
    """Calculate the probability that a claim holds, from those of its cases; NaN where one is NaN
    or there are none."""
    doubts = 1 - np.asarray(probabilities, np.float64)
    if not len(doubts):
        return np.nan
    if over == SOME:
        return float(1 - np.minimum(1, len(doubts) * doubts.min()))
    return float(1 - doubts.max())


def corrected(rows: pd.DataFrame) -> int:
    """Count the claims of one paper that hold, and do so after Holm's correction as well."""
    claims = rows.drop_duplicates("id")
    sure = claims["adjusted_probability"] > SURE
    return int((sure & (claims["claim_verdict"] == HOLDS)).sum())


def _verdict(cases: pd.DataFrame) -> str:
    return verdict_over(cases["verdict"], cases["over"].iloc[0])


def _null(cases: pd.DataFrame) -> str:
    """Say what the claim's `holds` means beside noise: BEYOND if it does for all cases that hold,
    the weaker TOO if it does for one of them."""
    if _verdict(cases) != HOLDS:
        return ""
    nulls = {*cases.loc[cases["verdict"] == HOLDS, "null"]}
    if TOO in nulls:
        return TOO
    return BEYOND if nulls == {BEYOND} else ""


def _probability(cases: pd.DataFrame) -> float:
    tested = cases[cases["verdict"] != UNTESTED]
    return probability_over(tested["probability"], cases["over"].iloc[0])
