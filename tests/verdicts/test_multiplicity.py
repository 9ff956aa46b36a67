import numpy as np
import pandas as pd
import pytest

from bertshift.verdicts.deciding import BEYOND, FAILS, HOLDS, TOO, UNDECIDED, UNTESTED
from bertshift.verdicts.multiplicity import corrected, verdict_over, with_claim_verdicts


@pytest.mark.parametrize(
    "verdicts, over_all, over_some",
    [
        ([HOLDS, HOLDS], HOLDS, HOLDS),
        ([HOLDS, FAILS], FAILS, HOLDS),
        ([HOLDS, UNDECIDED], UNDECIDED, HOLDS),
        ([FAILS, UNDECIDED], FAILS, UNDECIDED),
        ([FAILS, FAILS], FAILS, FAILS),
        # A claim about all tasks has not been seen to hold on all.
        ([HOLDS, UNTESTED], UNDECIDED, HOLDS),
        ([FAILS, UNTESTED], FAILS, UNDECIDED),
        ([UNTESTED, UNTESTED], UNTESTED, UNTESTED),
    ],
)
def test_a_claim_is_decided_over_all_or_over_some_of_its_cases(verdicts, over_all, over_some):
    assert verdict_over(verdicts, "all") == over_all
    assert verdict_over(verdicts, "some") == over_some


def test_probabilities_of_claims_and_holms_correction_by_hand():
    rows = pd.DataFrame(
        [
            ("A", "all", HOLDS, 0.999), ("A", "all", HOLDS, 0.99),  # p = max(.001, .01)
            ("B", "some", HOLDS, 0.996), ("B", "some", UNDECIDED, 0.6),  # p = 2 x .004
            ("C", "all", UNDECIDED, 0.7), ("C", "all", UNTESTED, np.nan),
            ("D", "all", UNTESTED, np.nan),
        ],
        columns=["id", "over", "verdict", "probability"],
    )  # fmt: skip
    table = with_claim_verdicts(rows.assign(null=""))
    claims = table.drop_duplicates("id").set_index("id")
    assert claims["claim_verdict"].tolist() == [HOLDS, HOLDS, UNDECIDED, UNTESTED]
    np.testing.assert_allclose(claims["claim_probability"], [0.99, 0.992, 0.7, np.nan])
    # Holm: .008 x 3 = .024, then .01 x 2 = .020, which is no less than the one before; then .3
    np.testing.assert_allclose(claims["adjusted_probability"], [0.976, 0.976, 0.7, np.nan])
    assert corrected(table) == 2 and len(table) == len(rows)
    empty = with_claim_verdicts(rows.assign(null="").head(0))  # a figure without claims
    assert empty.empty and list(empty) == list(table)


@pytest.mark.parametrize(
    "nulls, verdicts, claim_null",
    [
        ([BEYOND, BEYOND], [HOLDS, HOLDS], BEYOND),
        ([BEYOND, TOO], [HOLDS, HOLDS], TOO),
        ([BEYOND, ""], [HOLDS, HOLDS], ""),
        ([TOO, ""], [HOLDS, FAILS], ""),  # the claim does not hold
    ],
)
def test_a_claim_says_no_more_beside_noise_than_its_cases(nulls, verdicts, claim_null):
    rows = pd.DataFrame(
        {"id": "A", "over": "all", "verdict": verdicts, "null": nulls, "probability": 0.99}
    )
    assert with_claim_verdicts(rows)["claim_null"].unique().tolist() == [claim_null]
