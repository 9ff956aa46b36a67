from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED, Claims

TWO, FIVE = "merchant2020/figure2", "kovaleva2019/figure5"
FLAT = [1.0] * 9
MNLI = [*FLAT, 0.97, 0.93, 0.84, 0.6]  # layers 0..12
SQUAD = [*FLAT[:8], 0.95, 0.9, 0.84, 0.7, 0.5]
DEP = [*FLAT[:5], 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.5]


def merchant(table, published, models, figure=TWO, stimuli="wiki", **more):
    tables = {
        name: table(name, {(stimuli, "content"): curve}, first=0, **more)
        for name, curve in models.items()
    }
    return by_name.decide(figure, tables, published["merchant2020"]).set_index("claim")


def kovaleva(table, published, curve, **more):
    tables = {"mrpc": table("mrpc", {("mrpc", v): curve for v in ("crop", "padded")}, **more)}
    tables["qqp"] = table("qqp", {("qqp", v): curve for v in ("crop", "padded")}, **more)
    return by_name.decide(FIVE, tables, published["kovaleva2019"]).set_index("claim")


def test_the_papers_own_story_holds(table, published):
    rows = merchant(table, published, {"mnli": MNLI, "squad": SQUAD, "dep": DEP})
    assert (rows["verdict"] == HOLDS).all(), rows["verdict"]
    assert rows.loc["F2.2", "ours"] == 5 and rows.loc["F2.4", "published_value"] == "0.84 ± 0.02"
    assert rows.loc["F2.4", "ours"] == pytest.approx(0.843)
    assert (rows["replicates"] == 5).all() and rows["statement"].str.len().min() > 10


@pytest.mark.parametrize(
    "level, verdict", [(0.7801, HOLDS), (0.7799, FAILS), (0.8999, HOLDS), (0.9001, FAILS)]
)
def test_the_tolerance_of_a_printed_value_is_not_widened(table, published, level, verdict):
    curve = [*MNLI[:11], level, 0.6]
    assert merchant(table, published, {"mnli": curve}, spread=0).loc["F2.4", "verdict"] == verdict


def test_missing_evidence_is_not_a_verdict(table, published):
    single = merchant(table, published, {"mnli": MNLI}, inits=1).loc["F2.4"]
    assert (
        single["verdict"] == UNTESTED
        and "one replicate" in single["reason"]
        and np.isfinite(single["ours"])
    )
    other = merchant(table, published, {"mnli": MNLI}, figure="merchant2020/figure5")
    assert "no inputs 'mnli'" in other.loc["F5.1", "reason"]


def test_the_last_sixth_of_the_layers_and_the_exception(table, published):
    top = [0.95] * 10 + [0.5, 0.4]
    rows = kovaleva(table, published, top)
    assert (
        rows.loc["K5.1 (mrpc, crop)", "verdict"] == HOLDS
        and rows.loc["K5.1 (qqp, crop)", "verdict"] == FAILS
    )
    flipped = kovaleva(table, published, top[::-1])
    assert (
        flipped.loc["K5.1 (mrpc, crop)", "verdict"] == FAILS
        and flipped.loc["K5.1 (qqp, crop)", "verdict"] == HOLDS
    )
    # the measure on the digitised figure itself
    assert rows.loc["K5.1 (mrpc, padded)", "published_value"].startswith("0.226")
    assert rows.loc["K5.1 (qqp, padded)", "published_value"].startswith("-0.037")


def test_disagreeing_replicates_are_counted(table, published):
    curves = {"mnli": [*MNLI[:11], 0.7, 0.6], "squad": SQUAD}
    mixed = merchant(table, published, curves, spread=0.05, inits=2).loc["F2.4"]
    # .75 and .80: on Fisher's z t(.975, 1) = 12.7062 errors of .025 / (1 - .775^2); .78 to .90 is where it holds
    error = 0.025 / (1 - 0.775**2)
    mean, *bounds = np.arctanh([0.775, 0.78, 0.9])
    assert mixed["verdict"] == UNDECIDED
    assert mixed["reason"].endswith("In 1 of 2 replicates by itself.")
    reach = stats.t.ppf(0.975, 1) * error
    assert (mixed["low"], mixed["high"]) == pytest.approx(
        (np.tanh(mean - reach), np.tanh(mean + reach))
    )
    held = np.diff(stats.t.cdf((np.array(bounds) - mean) / error, 1)).item()
    assert (
        mixed["probability"] == pytest.approx(held)
        and f"Leans to fails, with probability {1 - held:.2f}." in mixed["reason"]
    )


@pytest.mark.parametrize("runs, verdict", [(2, UNDECIDED), (4, UNDECIDED), (5, HOLDS)])
def test_runs_that_share_a_number_decide_from_five_on(table, published, runs, verdict):
    """A peak lies on a grid of layers: where the truth is at the bound, R runs agree by chance in 2^-R of cases."""
    rows = merchant(table, published, {"mnli": MNLI, "squad": SQUAD, "dep": DEP}, inits=runs)
    assert rows.loc["F2.2", ["low", "high"]].tolist() == [5, 5]
    assert (rows.loc["F2.2", "verdict"], rows.loc["F2.2", "probability"]) == (
        verdict,
        1 - 0.5**runs,
    )
    other = merchant(
        table, published, {"mnli": MNLI, "squad": SQUAD, "dep": MNLI}, inits=runs
    ).loc["F2.2"]
    assert np.isnan(other["ours"]) and other["verdict"] == (FAILS if runs == 5 else UNDECIDED)


def pairs_of_runs(effects, kind):
    """A table of every pair of runs of `kind` (init, seed), whose value is the sum of both runs' effects."""
    rows = [
        {"metric": "made", "model": "mnli", "reference": "mnli", "init": 1, "ref_init": 1, "seed": 1, "ref_seed": 1,
         "value": one + other, "scale": "made", "checkpoint": "made", "family": "bert", kind: a, f"ref_{kind}": b}
        for (a, one), (b, other) in combinations(enumerate(effects, 1), 2)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("kind", ["seed", "init"])
def test_a_run_is_left_out_with_every_pair_that_it_is_in(published, kind):
    effects = np.array([0.1, 0.2, 0.6])
    claims = Claims("merchant2020")
    mean = lambda evidence: evidence.results.table["value"].mean()
    claims.about("figure2", "F2.2", "a mean", mean, low=0.0, across=True)
    row = claims.decide(
        "figure2", {"a": pairs_of_runs(effects, kind)}, published["merchant2020"]
    ).loc[0]
    # Without a run there is one pair, the sum of the others: pseudo-values 3 m - 2 (total - effect).
    error = stats.sem(3 * 2 * effects.mean() - 2 * (effects.sum() - effects))
    assert row["replicates"] == 3 and row["ours"] == pytest.approx(2 * effects.mean())
    assert row["high"] - row["ours"] == pytest.approx(stats.t.ppf(0.975, 2) * error)


def test_a_number_over_all_replicates_has_an_interval_if_there_are_three(table, published):
    def spread(evidence):
        return float(
            np.std(
                [part.table["value"].mean() for part in evidence.results.pretraining_runs.values()]
            )
        )

    claims = Claims("merchant2020")
    claims.about("figure2", "F2.2", "a spread", spread, low=0, across=True)
    for inits in (2, 9):
        tables = {"mnli": table("mnli", {("wiki", "content"): MNLI}, first=0, inits=inits)}
        row = claims.decide("figure2", tables, published["merchant2020"]).loc[0]
        assert row["verdict"] == (HOLDS if inits == 9 else UNDECIDED) and row["ours"] > 0
        assert np.isfinite(row["low"]) == (inits == 9) == ("no interval" not in row["reason"])


def test_what_is_as_likely_as_not_leans_to_neither_side(table, published):
    claims = Claims("merchant2020")
    mean = lambda evidence: evidence.results.table["value"].mean()
    claims.about("figure2", "F2.2", "a mean", mean, low=0.5)
    tables = {"mnli": table("mnli", {("wiki", "content"): [0.5] * 13}, first=0, spread=0.2)}
    tables["mnli"]["value"] -= tables["mnli"]["value"].mean() - 0.5
    row = claims.decide("figure2", tables, published["merchant2020"]).loc[0]
    assert row["verdict"] == UNDECIDED and row["reason"].startswith("Leans to neither side.")
