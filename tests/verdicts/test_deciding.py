from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertshift.errors import UserError
from bertshift.papers import by_name, catalogue
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.verdicts.deciding import BEYOND, FAILS, HOLDS, TOO, UNDECIDED, UNTESTED, Claims
from bertshift.verdicts.evidence import Curve, NotTestableError

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
    ("changed", "said"),
    [({"T.1": {}}, "no number decides claims.T.1"), ({}, "not state claim F2.1")],
)
def test_statements_and_numbers_are_those_of_each_other(table, published, changed, said):
    paper = published["merchant2020"]
    stated = {
        claim: facts for claim, facts in paper["claims"].items() if changed or claim != "F2.1"
    }
    tables = {"mnli": table("mnli", {("wiki", "content"): MNLI}, first=0)}
    with pytest.raises(UserError, match=f"papers/merchant2020/published.yaml.*{said}"):
        by_name.decide(TWO, tables, paper | {"claims": stated | changed})


@pytest.mark.parametrize(
    "level, verdict", [(0.7801, HOLDS), (0.7799, FAILS), (0.8999, HOLDS), (0.9001, FAILS)]
)
def test_the_tolerance_of_a_printed_value_is_not_widened(table, published, level, verdict):
    curve = [*MNLI[:11], level, 0.6]
    assert merchant(table, published, {"mnli": curve}, spread=0).loc["F2.4", "verdict"] == verdict


def test_missing_evidence_is_not_a_verdict(table, published):
    rows = merchant(table, published, {"mnli": MNLI, "squad": SQUAD})
    for claim in ("F2.1 (dep)", "F2.2", "F2.3", "F2.5"):
        assert (
            rows.loc[claim, "verdict"] == UNTESTED
            and "no results for Dep" in rows.loc[claim, "reason"]
        )
    single = merchant(table, published, {"mnli": MNLI}, inits=1).loc["F2.4"]
    assert (
        single["verdict"] == UNTESTED
        and "one replicate" in single["reason"]
        and np.isfinite(single["ours"])
    )
    small = merchant(table, published, {"mnli": MNLI[::3], "squad": SQUAD[::3]})
    assert (
        small.loc["F2.4", "verdict"] == UNTESTED
        and "this one has 4" in small.loc["F2.4", "reason"]
    )
    assert (
        small.loc["F2.1 (mnli)", "verdict"] == HOLDS
    )  # thirds of the depth exist in a model of 4 layers
    other = merchant(
        table, published, {"mnli": MNLI}, figure="merchant2020/figure5", stimuli="wiki"
    )
    assert "no inputs 'mnli'" in other.loc["F5.1", "reason"]


def test_the_last_sixth_of_the_layers_and_the_exception(table, published):
    top = [0.95] * 10 + [0.5, 0.4]
    rows = kovaleva(table, published, top)
    assert (
        rows.loc["K5.1 (mrpc, crop)", "verdict"] == HOLDS
        and rows.loc["K5.1 (qqp, crop)", "verdict"] == FAILS
    )
    assert rows.loc["K5.1 (mrpc, crop)", "ours"] == pytest.approx(0.45)
    flipped = kovaleva(table, published, top[::-1])
    assert (
        flipped.loc["K5.1 (mrpc, crop)", "verdict"] == FAILS
        and flipped.loc["K5.1 (qqp, crop)", "verdict"] == HOLDS
    )
    assert (kovaleva(table, published, top[::3])["verdict"] == UNTESTED).all()
    # the measure on the digitised figure itself
    assert rows.loc["K5.1 (mrpc, padded)", "published_value"].startswith("0.226")
    assert rows.loc["K5.1 (qqp, padded)", "published_value"].startswith("-0.037")


def test_disagreeing_replicates_are_counted(table, published):
    rows = kovaleva(table, published, [0.95] * 10 + [0.5, 0.4])
    assert rows.loc["K5.1 (mrpc, crop)", "reason"].startswith("In 5 of 5 replicates by itself.")
    curves = {"mnli": [*MNLI[:11], 0.7, 0.6], "squad": SQUAD}
    mixed = merchant(table, published, curves, spread=0.05, inits=2).loc["F2.4"]
    # .75 and .80: on Fisher's z t(.975, 1) = 12.7062 errors of .025 / (1 - .775^2); .78 to .90 is
    # where it holds
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
    """A peak lies on a grid of layers: where the truth is at the bound, R runs agree by chance in
    2^-R of cases."""
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
    """A table of every pair of runs of `kind` (init, seed), whose value is the sum of both runs'
    effects."""
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
    # Without a run there is one pair, the sum of the others: pseudo-values 3 m - 2 (total -
    # effect).
    error = stats.sem(3 * 2 * effects.mean() - 2 * (effects.sum() - effects))
    assert row["replicates"] == 3 and row["ours"] == pytest.approx(2 * effects.mean())
    assert row["high"] - row["ours"] == pytest.approx(stats.t.ppf(0.975, 2) * error)


def test_a_claim_says_which_of_our_layers_stand_for_the_papers(table, published):
    rows = kovaleva(table, published, [0.95] * 5 + [0.4])
    assert "Layers 11 to 12 of 12: here layer 6 of 6." in rows.loc["K5.1 (mrpc, crop)", "reason"]
    assert (
        "here"
        not in kovaleva(table, published, [0.95] * 10 + [0.5, 0.4]).loc[
            "K5.1 (mrpc, crop)", "reason"
        ]
    )


def noisy(table, noise, more, **replicates):
    """Tables of RSA of `mnli`, of noise of its size and of three times that, [layers 0 to 12]."""
    curves = {"mnli": MNLI, "mnli.noise": noise, "mnli.noise3": more}
    made = {
        name: table(name, {("wiki", "content"): curve}, first=0, **replicates)
        for name, curve in curves.items()
    }
    for name, rows in made.items():  # runs differ, each by itself
        rows["value"] += 0.002 * np.sin(np.arange(len(rows)) * len(name))
    return made


def test_a_claim_that_holds_is_put_beside_noise(table, published):
    """F2.1: RSA is higher in the lower third of layers than in the upper one; .215 of this
    model."""
    falling, flat, late = np.linspace(1, 0.9, 13), np.full(13, 0.99), [*FLAT, 1.0, 1.0, 0.9, 0.4]
    cases = {
        TOO: noisy(
            table, falling, np.linspace(1, 0.2, 13)
        ),  # at .6 in the last layer, it falls as far in the upper third
        BEYOND: noisy(
            table, flat, late
        ),  # at .6 in the last layer, hardly anything falls below it
        "": {"mnli": noisy(table, flat, late)["mnli"]},  # no noise at hand
    }
    for null, tables in cases.items():
        rows = by_name.decide(TWO, tables, published["merchant2020"]).set_index("claim")
        assert (rows.loc["F2.1 (mnli)", "verdict"], rows.loc["F2.1 (mnli)", "null"]) == (
            HOLDS,
            null,
        )
        assert (
            set(rows["verdict"]) >= {UNTESTED}
            and (rows.loc[rows["verdict"] != HOLDS, "null"] == "").all()
        )
    alone = by_name.decide(TWO, cases[""], published["merchant2020"])
    beside = by_name.decide(TWO, cases[BEYOND], published["merchant2020"])
    said = ["null", "reason"]
    pd.testing.assert_frame_equal(
        alone.drop(columns=said), beside.drop(columns=said)
    )  # noise changes no number
    [reason] = beside.loc[beside["null"] == BEYOND, "reason"]
    assert "Beside it, noise of this size has" in reason and "and matched noise has" in reason


def test_layers_of_another_depth_map_only_where_they_lie_inside():
    twelve, four = Curve({}, 12), Curve({}, 4)
    assert (
        twelve.part(9, 12, 12) == [9, 10, 11, 12]
        and four.part(9, 12, 12) == [4]
        and four.part(1, 4, 12) == [1]
    )
    assert Curve({}, 24).part(11, 12, 12) == [21, 22, 23, 24] and four.at(6, 12) == 2
    with pytest.raises(NotTestableError, match="no layer of 4"):
        four.part(11, 12, 12)
    with pytest.raises(NotTestableError, match="between two layers"):
        four.at(7, 12)


def test_every_claim_has_its_facts_and_its_figure(published):
    for paper in catalogue.PAPERS:
        claims, facts = by_name.claims_of(paper), published[paper]["claims"]
        assert {one.id: one.item for one in claims.all} == {
            id: fact["item"] for id, fact in facts.items()
        }
        assert claims.paper == paper and {one.item for one in claims.all} <= set(
            catalogue.PAPERS[paper].FIGURES
        )
        assert len({one.name for one in claims.all}) == len(claims.all)


def with_blocks(rows, effects, rng):
    """`rows` as measured on inputs: the value and what it is without each of 20 blocks, which move
    all layers alike or not."""
    blocks = (
        rng.normal(0, effects, (len(rows), 20))
        if np.ndim(effects) == 0
        else np.tile(effects, (len(rows), 1))
    )
    left_out = {
        name: rows["value"] - blocks[:, i] / 19 for i, name in enumerate(JACKKNIFE_COLUMNS)
    }
    return rows.assign(**left_out)


def test_inputs_that_move_all_layers_alike_leave_a_difference_of_layers_sure(table, published):
    """One replicate more or less is not all that a claim is unsure of: its number is calculated
    without each block."""
    effects = np.random.default_rng(0).normal(0, 0.3, 20)
    effects -= effects.mean()
    top = [0.95] * 10 + [0.5, 0.4]

    def decide(change):
        tables = {"mrpc": change(table("mrpc", {("mrpc", v): top for v in ("crop", "padded")}))}
        return (
            by_name.decide(FIVE, tables, published["kovaleva2019"])
            .set_index("claim")
            .loc["K5.1 (mrpc, crop)"]
        )

    alone = decide(lambda rows: rows)
    alike = decide(lambda rows: with_blocks(rows, effects, None))
    apart = decide(lambda rows: with_blocks(rows, 0.9, np.random.default_rng(1)))
    assert alone["verdict"] == alike["verdict"] == HOLDS and alike["high"] == pytest.approx(
        alone["high"]
    )
    assert apart["high"] - apart["low"] > 10 * (alone["high"] - alone["low"])


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


@pytest.mark.parametrize(("inits", "alone"), [(2, True), (9, False)])
def test_a_verdict_on_all_of_two_replicates_says_that_it_rests_on_inputs(
    table, published, inits, alone
):
    claims = Claims("merchant2020")
    claims.about(
        "figure2",
        "F2.2",
        "a mean",
        lambda evidence: evidence.rows("mnli")["value"].mean(),
        low=0.0,
        across=True,
    )
    rows = with_blocks(
        table("mnli", {("wiki", "content"): MNLI}, first=0, inits=inits),
        0.01,
        np.random.default_rng(0),
    )
    row = claims.decide("figure2", {"mnli": rows}, published["merchant2020"]).loc[0]
    assert (
        row["verdict"] == HOLDS
        and np.isfinite(row["low"])
        and ("over inputs alone" in row["reason"]) == alone
    )


def test_what_is_as_likely_as_not_leans_to_neither_side(table, published):
    claims = Claims("merchant2020")
    mean = lambda evidence: evidence.results.table["value"].mean()
    claims.about("figure2", "F2.2", "a mean", mean, low=0.5)
    tables = {"mnli": table("mnli", {("wiki", "content"): [0.5] * 13}, first=0, spread=0.2)}
    tables["mnli"]["value"] -= tables["mnli"]["value"].mean() - 0.5
    row = claims.decide("figure2", tables, published["merchant2020"]).loc[0]
    assert row["verdict"] == UNDECIDED and row["reason"].startswith("Leans to neither side.")
