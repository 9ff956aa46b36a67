import numpy as np
import pandas as pd
import pytest

from bertshift.rows.estimates import estimate
from bertshift.verdicts.deciding import FAILS, HOLDS, P_MORE, UNDECIDED, UNTESTED
from bertshift.verdicts.multiplicity import corrected, p_over, verdict_of, with_claim_verdicts
from bertshift.verdicts.testing import p_of_interval

YES, NO, MAYBE = (0.001, 0.999), (0.999, 0.001), (0.4, 0.6)  # (p_holds, p_fails)
HARDLY, NEARLY_NOT = (0.02, 0.98), (0.98, 0.02)  # one of two cases, too little for Bonferroni
NONE = (np.nan, np.nan)


@pytest.mark.parametrize(
    "cases, over_all, over_some",
    [
        ([YES, YES], HOLDS, HOLDS),
        ([YES, NO], FAILS, HOLDS),
        ([YES, MAYBE], UNDECIDED, HOLDS),
        ([NO, MAYBE], FAILS, UNDECIDED),
        ([NO, NO], FAILS, FAILS),
        # One case of two is wrong twice as often as the only one.
        ([YES, NEARLY_NOT], UNDECIDED, HOLDS),
        ([NO, HARDLY], FAILS, UNDECIDED),
        ([HARDLY], HOLDS, HOLDS),
        ([HARDLY, HARDLY], HOLDS, UNDECIDED),
        ([NEARLY_NOT, NEARLY_NOT], UNDECIDED, FAILS),
        # A claim about all tasks has not been seen to hold on all.
        ([YES, NONE], UNDECIDED, HOLDS),
        ([NO, NONE], FAILS, UNDECIDED),
        ([NONE, NONE], UNTESTED, UNTESTED),
    ],
)
def test_a_claim_is_decided_over_all_or_over_some_of_its_cases(cases, over_all, over_some):
    assert verdict_of(p_over(*zip(*cases, strict=True), "all")) == over_all
    assert verdict_of(p_over(*zip(*cases, strict=True), "some")) == over_some


@pytest.mark.parametrize("cases", [2, 7, 14])
@pytest.mark.parametrize("over", ["all", "some"])
def test_claims_over_cases_at_their_bound_are_wrong_in_five_of_a_hundred(cases, over):
    """Three runs each; the truth of every case is at its bound. One in forty on either side."""
    rng = np.random.default_rng(cases)
    verdicts = []
    for numbers in rng.normal(size=(1000, cases, 3)):
        p = [p_of_interval(estimate(values), 0.0, np.inf) for values in numbers]
        verdicts.append(verdict_of(p_over(*zip(*p, strict=True), over)))
    wrong = [verdicts.count(verdict) / 1000 for verdict in (HOLDS, FAILS)]
    assert max(wrong) < 0.025 + 3 * np.sqrt(0.025 / 1000)
    suffices = wrong[over == "all"]  # corrected, and no more than that
    assert suffices > 0.012


def make_rows(cases):
    """Rows of cases (claim, over, verdict, p_holds, p_fails)."""
    rows = pd.DataFrame(cases, columns=["id", "over", "verdict", "p_holds", "p_fails"])
    return rows.assign(
        criterion_low=0.0, criterion_high=np.nan, null="", **dict.fromkeys(P_MORE.values(), np.nan)
    )


def test_p_values_of_claims_and_holms_correction_by_hand():
    rows = make_rows(
        [
            ("A", "all", HOLDS, 0.001, 0.999), ("A", "all", HOLDS, 0.01, 0.99),  # max
            ("B", "some", HOLDS, 0.004, 0.996), ("B", "some", UNDECIDED, 0.4, 0.6),  # 2 x .004
            ("C", "all", UNDECIDED, 0.3, 0.7), ("C", "all", UNTESTED, np.nan, np.nan),
            ("D", "all", UNTESTED, np.nan, np.nan),
            ("E", "all", FAILS, 0.999, 0.001), ("E", "all", HOLDS, 0.01, 0.99),  # 2 x .001
            ("F", "all", UNDECIDED, np.nan, np.nan),  # it has no interval
        ],
    )  # fmt: skip
    table = with_claim_verdicts(rows)
    claims = table.drop_duplicates("id").set_index("id")
    verdicts = [HOLDS, HOLDS, UNDECIDED, UNTESTED, FAILS, UNDECIDED]
    assert claims["claim_verdict"].tolist() == verdicts
    nan = np.nan
    np.testing.assert_allclose(claims["claim_p_holds"], [0.01, 0.008, 1, nan, 0.999, 1])
    np.testing.assert_allclose(claims["claim_p_fails"], [1, 0.996, 0.7, nan, 0.002, 1])
    # Holm over five: .008 x 5, then .01 x 4, which is no less than the one before; then 1.
    np.testing.assert_allclose(claims["adjusted_p_holds"], [0.04, 0.04, 1, nan, 1, 1])
    np.testing.assert_allclose(claims["adjusted_p_fails"], [1, 1, 1, nan, 0.01, 1])
    assert corrected(table) == {HOLDS: 0, FAILS: 1} and len(table) == len(rows)
    empty = with_claim_verdicts(rows.head(0))  # a figure without claims
    assert empty.empty and list(empty) == list(table)


MORE = "more than for noise of this size"
NOT_MORE = f"not shown to be {MORE}"


@pytest.mark.parametrize(
    "over, p_holds, p_more, claim_null",
    [
        ("all", [0.001, 0.002], [0.001, 0.02], MORE),
        ("all", [0.001, 0.002], [0.001, 0.03], NOT_MORE),
        ("all", [0.001, 0.002], [0.001, np.nan], ""),  # not computed for all that it rests on
        ("all", [0.001, 0.9], [0.001, np.nan], ""),  # the claim does not hold
        ("some", [0.9, 0.001], [np.nan, 0.01], MORE),  # the surest decides
        ("some", [0.9, 0.001], [np.nan, 0.02], NOT_MORE),  # 2 x .02
        ("some", [0.002, 0.001], [0.001, 0.5], NOT_MORE),
    ],
)
def test_a_claim_says_no_more_beside_a_null_than_its_cases(over, p_holds, p_more, claim_null):
    rows = make_rows([("A", over, HOLDS, p, 1 - p) for p in p_holds])
    table = with_claim_verdicts(rows.assign(p_more_than_noise=p_more))
    assert table["claim_null"].unique().tolist() == [claim_null]
