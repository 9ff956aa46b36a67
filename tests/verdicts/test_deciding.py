from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from made_tables import WITHOUT, measured
from scipy import stats

from bertshift.errors import UserError
from bertshift.papers import by_name, catalogue
from bertshift.verdicts.deciding import (
    ALL,
    FAILS,
    HOLDS,
    SOME,
    UNDECIDED,
    UNTESTED,
    Claims,
    Published,
    of_pairs,
)
from bertshift.verdicts.evidence import Curve, NotTestableError, Profiles

TWO, FIVE = "merchant2020/figure2", "kovaleva2019/figure5"
FLAT = [1.0] * 9
MNLI = [*FLAT, 0.97, 0.93, 0.84, 0.6]  # layers 0..12
SQUAD = [*FLAT[:8], 0.95, 0.9, 0.84, 0.7, 0.5]
DEP = [*FLAT[:5], 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.5]
TOP = [0.95] * 10 + [0.5, 0.4]  # layers 1..12


def merchant(table, published, models, figure=TWO, stimuli="wiki", **more):
    tables = {
        name: table(name, {(stimuli, "content"): curve}, first=0, **more)
        for name, curve in models.items()
    }
    return by_name.decide(figure, measured(tables), published["merchant2020"]).set_index("claim")


def kovaleva(table, published, curve, change=lambda rows: rows):
    tables = {
        task: change(table(task, {(task, variant): curve for variant in ("crop", "padded")}))
        for task in ("mrpc", "qqp")
    }
    return by_name.decide(FIVE, measured(tables), published["kovaleva2019"]).set_index("claim")


def decide_about(paper, rows, number, **bounds):
    """Decide one claim, about this number of the evidence."""
    claims = Claims("merchant2020")
    claims.about("figure2", "F2.2", "a number", number, **bounds)
    return claims.decide("figure2", measured({"mnli": rows}), paper).loc[0]


def mean_value(evidence):
    results = evidence.results.table
    return np.mean([evidence.rows(name)["value"].mean() for name in results["name"].unique()])


def test_the_papers_own_story_holds(table, published):
    rows = merchant(table, published, {"mnli": MNLI, "squad": SQUAD, "dep": DEP})
    assert (rows["verdict"] == HOLDS).all(), rows["verdict"]
    assert rows.loc["F2.2", "ours"] == 5 and rows.loc["F2.4", "published_value"] == "0.84 ± 0.02"
    assert rows.loc["F2.4", "ours"] == pytest.approx(0.8435)
    numbers = rows.loc["F2.4", ["published_number", "published_error"]]
    assert list(numbers) == [0.84, 0.02] and rows["published_number"].isna().sum() == len(rows) - 1
    assert (rows["replicates"] == 6).all()


@pytest.mark.parametrize(
    ("entry", "text", "number", "error"),
    [
        (-1.5, "-1.5", -1.5, 0),
        ({"value": 32, "unit": "%"}, "32 %", 32, 0),
        ({"value": 0.84, "error": 0.02}, "0.84 ± 0.02", 0.84, 0.02),
        ("13/24 within 0.7", "13/24 within 0.7", np.nan, 0),
    ],
)
def test_a_paper_says_a_number_or_a_text(entry, text, number, error):
    published = Published.of(entry)
    assert (published.text, published.error) == (text, error)
    assert published.number == pytest.approx(number, nan_ok=True)


@pytest.mark.parametrize(
    ("claim", "entry", "message"),
    [("T.1", {"T.1": {}}, "no number decides claims.T.1"), ("F2.1", {}, "not state claim F2.1")],
)
def test_every_statement_has_a_number_and_every_number_a_statement(
    table, published, claim, entry, message
):
    paper = published["merchant2020"]
    claims = {id: facts for id, facts in paper["claims"].items() if id != claim} | entry
    tables = {"mnli": table("mnli", {("wiki", "content"): MNLI}, first=0)}
    with pytest.raises(UserError, match=f"papers/merchant2020/published.yaml.*{message}"):
        by_name.decide(TWO, measured(tables), paper | {"claims": claims})


@pytest.mark.parametrize(
    "level, verdict", [(0.7801, HOLDS), (0.7799, FAILS), (0.8999, HOLDS), (0.9001, FAILS)]
)
def test_the_tolerance_of_a_printed_value_is_not_widened(table, published, level, verdict):
    curve = [*MNLI[:11], level, 0.6]
    rows = merchant(table, published, {"mnli": curve}, spread=0, inits=6)
    assert rows.loc["F2.4", "verdict"] == verdict


def test_missing_evidence_is_not_a_verdict(table, published):
    rows = merchant(table, published, {"mnli": MNLI, "squad": SQUAD})
    claims = rows.loc[["F2.1 (dep)", "F2.2", "F2.3", "F2.5"]]
    assert (claims["verdict"] == UNTESTED).all()
    assert claims["reason"].str.contains("no results for Dep").all()
    single = merchant(table, published, {"mnli": MNLI}, inits=1).loc["F2.4"]
    assert single["verdict"] == UNTESTED and "one replicate" in single["reason"]
    assert np.isfinite(single["ours"]) and np.isnan(single["p_holds"])
    small = merchant(table, published, {"mnli": MNLI[::3]})
    assert small.loc["F2.4", "verdict"] == UNTESTED
    assert "this one has 4" in small.loc["F2.4", "reason"]
    # A model of 4 layers has thirds, too.
    assert small.loc["F2.1 (mnli)", "verdict"] == HOLDS
    rows = merchant(table, published, {"mnli": MNLI}, figure="merchant2020/figure5")
    assert "no inputs 'mnli'" in rows.loc["F5.1", "reason"]


def test_the_last_sixth_of_the_layers_and_the_exception(table, published):
    claims = ["K5.1 (mrpc, crop)", "K5.1 (qqp, crop)"]
    rows = kovaleva(table, published, TOP)
    assert rows.loc[claims, "verdict"].tolist() == [HOLDS, FAILS]
    assert rows.loc["K5.1 (mrpc, crop)", "ours"] == pytest.approx(0.45)
    assert rows.loc["K5.1 (mrpc, crop)", "reason"].startswith("In 6 of 6 replicates by itself.")
    noise = partial(with_noise, rng=np.random.default_rng(0), deviation=0.01)
    flipped = kovaleva(table, published, TOP[::-1], noise)
    assert flipped.loc[claims, "verdict"].tolist() == [FAILS, HOLDS]
    assert (kovaleva(table, published, TOP[::3])["verdict"] == UNTESTED).all()
    # The measure on the digitised figure itself.
    assert rows.loc["K5.1 (mrpc, padded)", "published_value"].startswith("0.226")
    assert rows.loc["K5.1 (qqp, padded)", "published_value"].startswith("-0.037")


def test_disagreeing_replicates_are_counted(table, published):
    """.75 and .80, where the claim holds from .78 to .90: t with 1 degree of freedom on Fisher's
    z."""
    curve = [*MNLI[:11], 0.7, 0.6]
    row = merchant(table, published, {"mnli": curve}, spread=0.05, inits=2).loc["F2.4"]
    distribution = stats.t(1, np.arctanh(0.775), 0.025 / (1 - 0.775**2))
    assert row["verdict"] == UNDECIDED
    assert row["reason"].endswith("In 1 of 2 replicates by itself.")
    bounds = np.tanh(distribution.interval(0.95))
    assert (row["low"], row["high"]) == pytest.approx(tuple(bounds))
    below = distribution.cdf(np.arctanh(0.78))
    assert (row["p_holds"], row["p_fails"]) == pytest.approx((below, 1 - below))
    assert f"Leans to fails, with p = {1 - below:.2f}." in row["reason"]


def test_an_undecided_claim_says_how_many_runs_would_decide_it(published):
    """Of the runs' mean m and standard deviation d: m / (d / sqrt(n)) beyond t with n - 1."""
    paper, values = published["merchant2020"], np.array([0.1, 0.2, 0.6])
    row = decide_about(paper, runs_with(values), mean_value, low=0)
    enough = [
        n
        for n in range(6, 31, 3)
        if stats.t.sf(values.mean() / values.std(ddof=1) * np.sqrt(n), n - 1) < 0.025
    ]
    assert row["verdict"] == UNDECIDED and row["runs_to_decide"] == enough[0]
    said = f"With this mean and spread, {enough[0]} replicates in place of 3 decide."
    assert said in row["reason"]
    never = decide_about(paper, runs_with(values), mean_value, low=0.3)
    assert never["verdict"] == UNDECIDED and np.isnan(never["runs_to_decide"])
    on_grid = decide_about(paper, runs_with([10] * 4), mean_value, low=9.5, grid=True)
    assert on_grid["runs_to_decide"] == 8


@pytest.mark.parametrize("runs, verdict", [(2, UNDECIDED), (5, UNDECIDED), (6, HOLDS)])
def test_runs_that_share_a_layer_decide_from_six_on(table, published, runs, verdict):
    """A first layer lies on a grid: where the truth is at the bound, R runs agree by chance in
    2^-R of cases."""
    curves = {"mnli": MNLI, "squad": SQUAD, "dep": DEP}
    row = merchant(table, published, curves, inits=runs).loc["F2.2"]
    assert row["ours"] == 5 and np.isnan(row["low"])
    assert (row["verdict"], row["p_holds"], row["p_fails"]) == (verdict, 0.5**runs, 1)
    nowhere = merchant(table, published, curves | {"dep": MNLI}, inits=runs).loc["F2.2"]
    assert np.isnan(nowhere["ours"]) and "no such layer" in nowhere["reason"]
    assert nowhere["verdict"] == (FAILS if runs == 6 else UNDECIDED)


def runs_with(values, model="mnli"):
    """Rows of pretraining runs, one value each."""
    return pd.DataFrame(
        {"metric": "made", "model": model, "init": init, "seed": 1, "value": value, "layer": 1,
         "head": 0, "scale": "made", "checkpoint": "made", "family": "bert"}
        for init, value in enumerate(values, 1)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        # A t interval of 10, 10, 10, 10, 10, 11 would hold.
        ([10, 10, 10, 10, 10, 11], HOLDS),
        ([10, 10, 10, 10, 10], UNDECIDED),
        ([10, 10, 10, 10, 10, 5], UNDECIDED),
        ([10] * 11 + [5], HOLDS),  # 13 of 4,096
        ([5] * 6, FAILS),
    ],
)
def test_a_number_on_a_grid_is_decided_by_how_many_runs_it_holds_of(published, values, verdict):
    paper = published["merchant2020"]
    row = decide_about(paper, runs_with(values), mean_value, low=9.5, grid=True)
    assert row["verdict"] == verdict and np.isnan(row["low"])


def test_a_mean_of_equal_numbers_has_the_sign_test_too(published):
    paper = published["merchant2020"]
    verdicts = [
        decide_about(paper, runs_with([0.5] * runs), mean_value, low=0)["verdict"]
        for runs in (5, 6)
    ]
    assert verdicts == [UNDECIDED, HOLDS]


def pairs_of_runs(effects, kind):
    """A table of every pair of runs of `kind` (init, seed), whose value is the sum of both runs'
    effects."""
    columns = {"metric": "made", "model": "mnli", "reference": "mnli", "init": 1, "ref_init": 1,
               "seed": 1, "ref_seed": 1, "scale": "made", "checkpoint": "made", "family": "bert"}  # fmt: skip
    return pd.DataFrame(
        columns | {kind: run, f"ref_{kind}": ref_run, "value": effect + ref_effect}
        for (run, effect), (ref_run, ref_effect) in combinations(enumerate(effects, 1), 2)
    )


@pytest.mark.parametrize("kind", ["seed", "init"])
def test_a_run_is_left_out_with_every_pair_that_it_is_in(published, kind):
    effects = np.array([0.1, 0.2, 0.6])
    pairs = pairs_of_runs(effects, kind)
    row = decide_about(published["merchant2020"], pairs, mean_value, low=0.0, across=True)
    # Without a run there is one pair, the sum of the others: pseudo-values 3 m - 2
    # (total - effect).
    error = stats.sem(3 * 2 * effects.mean() - 2 * (effects.sum() - effects))
    assert row["replicates"] == 3 and row["ours"] == pytest.approx(2 * effects.mean())
    assert row["high"] - row["ours"] == pytest.approx(stats.t.ppf(0.975, 2) * error)


def with_null(table, noise, spread=0.01):
    """Tables of MNLI, .215 higher in the lower third of layers than in the upper one, and of nulls
    with these curves. Runs differ, each by itself."""
    rng = np.random.default_rng(0)
    tables = {}
    for name, curve in {"mnli": MNLI, **noise}.items():
        tables[name] = table(name, {("wiki", "content"): curve}, first=0)
        tables[name]["value"] += spread * rng.normal(size=len(tables[name]))
    return tables


NOISE, SHUFFLED = "more than for noise of this size", "more than for shuffled labels"
ALIKE = [*FLAT, 0.96, 0.92, 0.85, 0.61]


@pytest.mark.parametrize(
    ("nulls", "said"),
    [
        ({"mnli.noise": [0.99] * 13}, NOISE),
        ({"mnli.noise": ALIKE}, f"not shown to be {NOISE}"),
        ({"mnli.noise": [0.99] * 13, "mnli.shuffled": ALIKE}, f"{NOISE}; not shown to be {SHUFFLED}"),
        ({"mnli.shuffled": [0.99] * 13}, SHUFFLED),
    ],
)  # fmt: skip
def test_a_claim_that_holds_is_compared_with_its_nulls(table, published, nulls, said):
    """F2.1: RSA is higher in the lower third of layers than in the upper one."""
    tables = with_null(table, nulls)
    rows = by_name.decide(TWO, measured(tables), published["merchant2020"])
    alone = by_name.decide(TWO, measured({"mnli": tables["mnli"]}), published["merchant2020"])
    assert set(alone["null"]) == {""}
    columns = ["null", "reason", "p_more_than_noise", "p_more_than_shuffled"]
    pd.testing.assert_frame_equal(rows.drop(columns=columns), alone.drop(columns=columns))
    row = rows.set_index("claim").loc["F2.1 (mnli)"]
    assert (row["verdict"], row["null"]) == (HOLDS, said)
    assert (rows.loc[rows["verdict"] != HOLDS, "null"] == "").all()
    sentence = (
        "Beside it, noise of this size has"
        if "mnli.noise" in nulls
        else "Beside it, shuffled labels have"
    )
    assert sentence in row["reason"]


@pytest.mark.parametrize("bounds", [{"low": 0.1}, {"high": 0.4}])
def test_a_number_that_differs_from_its_null_by_chance_is_seldom_more(published, bounds):
    """Both are drawn from one distribution. Where one number is compared with the other's range, as
    points, half of all studies find that the null fulfils the criterion too."""
    rng = np.random.default_rng(1)
    shown = 0
    studies = 200
    for values, noise in rng.normal(0.25, 0.01, (studies, 2, 4)):
        claims = Claims("merchant2020")
        claims.about("figure2", "F2.2", "a number", mean_value, **bounds)
        tables = {"mnli": runs_with(values), "mnli.noise": runs_with(noise, "mnli.noise")}
        row = claims.decide("figure2", measured(tables), published["merchant2020"]).loc[0]
        assert row["verdict"] == HOLDS
        word = "more" if "low" in bounds else "less"
        assert row["null"].endswith(f"{word} than for noise of this size")
        shown += row["null"].startswith(word)
    assert shown / studies < 0.025 + 3 * np.sqrt(0.025 / studies)


@pytest.mark.parametrize(("runs", "is_more"), [(5, False), (6, True)])
def test_a_number_on_a_grid_is_more_than_its_null_by_the_sign_test(published, runs, is_more):
    claims = Claims("merchant2020")
    claims.about("figure2", "F2.2", "a number", mean_value, low=1, grid=True)
    tables = {"mnli": runs_with([5] * 6), "mnli.noise": runs_with([3] * runs, "mnli.noise")}
    row = claims.decide("figure2", measured(tables), published["merchant2020"]).loc[0]
    assert row["p_more_than_noise"] == 0.5**runs
    assert row["null"].startswith("more") == is_more


@pytest.mark.parametrize("kind", [{"low": 0, "high": 1}, {"low": 0, "across": True}])
def test_a_range_with_two_ends_or_a_number_over_all_has_no_direction(published, kind):
    claims = Claims("merchant2020")
    rng = np.random.default_rng(0)
    claims.about("figure2", "F2.2", "a number", mean_value, **kind)
    values, noise = rng.normal(0.5, 0.01, (2, 6))
    tables = {"mnli": runs_with(values), "mnli.noise": runs_with(noise, "mnli.noise")}
    row = claims.decide("figure2", measured(tables), published["merchant2020"]).loc[0]
    assert (row["verdict"], row["null"]) == (HOLDS, "") and "Beside" not in row["reason"]


def test_noise_without_such_a_number_is_beside_no_claim(table, published):
    curves = {"mnli": MNLI, "mnli.noise": [*[0.5] * 12, 0.99]}
    tables = {
        name: table(name, {("wiki", "content"): curve}, first=0) for name, curve in curves.items()
    }

    def number(evidence):
        mean = mean_value(evidence)
        return mean if mean > 0.9 else np.nan

    claims = Claims("merchant2020")
    claims.about("figure2", "F2.2", "a number", number, low=0.5)
    row = claims.decide("figure2", measured(tables), published["merchant2020"]).loc[0]
    assert (row["verdict"], row["null"]) == (HOLDS, "")
    assert "noise" not in row["reason"]


def profiles_of(slope):
    """Two measures over six layers, of which the second follows the first with this slope."""

    def number(evidence):
        rows = evidence.rows("mnli").groupby("layer")["value"].mean()
        return Profiles(range(1, 7), slope * rows.to_numpy())

    return number


@pytest.mark.parametrize(
    ("order", "slope", "verdict"),
    [
        ([1, 2, 3, 4, 5, 6], 1, HOLDS),
        ([1, 2, 3, 4, 5, 6], -1, FAILS),
        # A rank correlation of .83 in each of six runs, and of .058 by permutations.
        ([3, 1, 2, 4, 5, 6], 1, UNDECIDED),
        ([3, 1, 2, 4, 5, 6], -1, UNDECIDED),
    ],
)
def test_a_correlation_over_layers_needs_layers_enough(table, published, order, slope, verdict):
    rows = table("mnli", {("wiki", "content"): order}, inits=6)
    row = decide_about(published["merchant2020"], rows, profiles_of(slope), low=0.0)
    assert row["verdict"] == verdict
    assert "In these layers; p = 0.0" in row["reason"]


def test_layers_of_another_depth_map_only_where_they_lie_inside():
    four = Curve({}, 4)
    assert (four.part(9, 12, 12), four.part(1, 4, 12), four.at(6, 12)) == ([4], [1], 2)
    assert Curve({}, 24).part(11, 12, 12) == [21, 22, 23, 24]
    with pytest.raises(NotTestableError, match="no layer of 4"):
        four.part(11, 12, 12)
    with pytest.raises(NotTestableError, match="between two layers"):
        four.at(7, 12)


def test_every_claim_has_its_facts_and_its_figure(published):
    for paper in catalogue.PAPERS:
        claims, facts = by_name.claims_of(paper).all, published[paper]["claims"]
        items = {id: fact["item"] for id, fact in facts.items()}
        assert {claim.id: claim.item for claim in claims} == items
        assert {*items.values()} <= {*catalogue.PAPERS[paper].FIGURES}
        assert len({claim.name for claim in claims}) == len(claims)


def with_blocks(rows, effects):
    """`rows` as measured on inputs: the value and what it is without each of 20 blocks, whose
    effects are [20] for all rows alike or [rows, 20]."""
    effects = np.broadcast_to(effects, (len(rows), 20))
    left_out = rows["value"].to_numpy()[:, None] - effects / 19
    return rows.join(pd.DataFrame(left_out, rows.index, WITHOUT))


def with_noise(rows, rng, deviation):
    """`rows` whose values differ, each by itself, and those without a block by as much."""
    noise = deviation * rng.normal(size=len(rows))
    effects = deviation * rng.normal(size=(len(rows), 20))
    return with_blocks(rows.assign(value=rows["value"] + noise), effects)


HEADS = 72


def heads_of(rng, deviation, gain=0.0, runs=3):
    """Rows of the gains of 72 heads on 20 blocks of inputs, of which head 1 gains `gain`; seeds of
    one pretraining run."""
    cells = pd.DataFrame(
        {"metric": "made", "model": "mnli", "init": 1, "seed": seed, "head": head, "layer": 1,
         "value": gain * (head == 1), "scale": "made", "checkpoint": "made", "family": "bert"}
        for seed in range(1, runs + 1) for head in range(1, HEADS + 1)
    )  # fmt: skip
    return with_noise(cells, rng, deviation)


def gains(evidence):
    return evidence.rows("mnli").groupby("head")["value"].mean()


@pytest.mark.parametrize("deviation", [0.005, 0.01])
def test_the_largest_of_many_gains_of_nothing_is_not_above_a_bound(published, deviation):
    """Picked and measured on the same data, the best of 72 heads gains more than .01 in 12 and 79
    of 100 studies."""
    rng = np.random.default_rng(0)
    paper = published["merchant2020"]
    held = [
        decide_about(paper, heads_of(rng, deviation), gains, low=0.01, each=SOME)["verdict"]
        for _ in range(12)
    ]
    assert HOLDS not in held


def test_a_head_that_gains_is_found_on_other_seeds_and_inputs(published):
    paper = published["merchant2020"]
    rows = heads_of(np.random.default_rng(0), 0.005, gain=0.3, runs=5)
    row = decide_about(paper, rows, gains, low=0.01, each=SOME)
    assert row["verdict"] == HOLDS and row["ours"] == pytest.approx(0.3, abs=0.01)
    assert "One of 72, picked on other replicates and inputs." in row["reason"]
    # That all heads gain less is a matter of each of them.
    assert decide_about(paper, rows, gains, high=0.01, each=ALL)["verdict"] == FAILS
    assert decide_about(paper, rows, gains, high=0.4, each=ALL)["verdict"] == HOLDS
    assert decide_about(paper, rows, gains, low=0.4, each=SOME)["verdict"] == FAILS
    # Without blocks the inputs that pick are those that measure.
    row = decide_about(paper, rows.drop(columns=WITHOUT), gains, low=0.01, each=SOME)
    assert row["verdict"] == UNDECIDED and "without each block" in row["reason"]


def test_few_candidates_are_corrected_for_their_number(published):
    """p of each of two is .02: all hold, and some does not."""
    paper = published["merchant2020"]
    t = stats.t.isf(0.02, 5)
    noise = np.array([1, -1, 1, -1, 1, -1]) / np.sqrt(1.2)  # of which the deviation is 1
    rows = runs_with(t / np.sqrt(6) + noise)
    twice = lambda evidence: {name: mean_value(evidence) for name in "ab"}
    held = {each: decide_about(paper, rows, twice, low=0.0, each=each) for each in (ALL, SOME)}
    assert {each: row["verdict"] for each, row in held.items()} == {ALL: HOLDS, SOME: UNDECIDED}
    assert [row["p_holds"] for row in held.values()] == pytest.approx([0.02, 0.04])


def test_the_best_of_one_kind_and_of_another_are_picked_as_a_pair():
    ours, theirs = {1: 0.3, 2: 0.9, 3: 0.5}, {1: 0.7, 2: 0.4}
    differences = {(k, j): ours[k] - theirs[j] for k in ours for j in theirs}
    numbers = pd.Series(differences.values(), list(differences))
    assert numbers @ of_pairs(pd.Series(numbers.to_numpy(), [*differences])) == pytest.approx(0.2)


@pytest.mark.parametrize(("gained", "verdict"), [(1.0, HOLDS), (0.0, UNTESTED)])
def test_a_share_of_nothing_is_not_testable(published, gained, verdict):
    rng = np.random.default_rng(0)
    rows = runs_with(0.5 + 0.1 * rng.normal(size=6))
    whole = {"the gain": lambda evidence: gained + mean_value(evidence) - 0.5}
    row = decide_about(published["merchant2020"], rows, mean_value, low=0.0, shares_of=whole)
    assert row["verdict"] == verdict
    assert ("the gain has an interval with 0" in row["reason"]) == (verdict == UNTESTED)


def test_inputs_that_move_all_layers_alike_leave_a_difference_of_layers_sure(table, published):
    """One replicate more or less is not all that a claim is unsure of: its number is calculated
    without each block."""
    rng = np.random.default_rng(0)
    effects = rng.normal(0, 0.3, 20)
    effects -= effects.mean()
    without_blocks, alike, apart = (
        kovaleva(table, published, TOP, change).loc["K5.1 (mrpc, crop)"]
        for change in (
            lambda rows: rows,
            lambda rows: with_blocks(rows, effects),
            lambda rows: with_blocks(rows, rng.normal(0, 0.9, (len(rows), 20))),
        )
    )
    assert alike["verdict"] == HOLDS
    assert alike["high"] == pytest.approx(without_blocks["high"])
    assert apart["high"] - apart["low"] > 10 * (alike["high"] - alike["low"])


def test_a_number_over_all_replicates_has_an_interval_if_there_are_three(table, published):
    def spread(evidence):
        return float(np.std(evidence.rows("mnli").groupby("init")["value"].mean()))

    for inits, verdict in ((2, UNDECIDED), (9, HOLDS)):
        rows = table("mnli", {("wiki", "content"): MNLI}, inits=inits)
        row = decide_about(published["merchant2020"], rows, spread, low=0, across=True)
        assert row["verdict"] == verdict and row["ours"] > 0
        assert np.isfinite(row["low"]) == (inits == 9) == ("no interval" not in row["reason"])


@pytest.mark.parametrize(("inits", "over_inputs_alone"), [(2, True), (9, False)])
def test_a_verdict_on_all_of_two_replicates_says_that_it_rests_on_inputs(
    table, published, inits, over_inputs_alone
):
    rows = table("mnli", {("wiki", "content"): MNLI}, inits=inits)
    rows = with_blocks(rows, np.random.default_rng(0).normal(0, 0.01, (len(rows), 20)))
    mean = lambda evidence: evidence.rows("mnli")["value"].mean()
    row = decide_about(published["merchant2020"], rows, mean, low=0.0, across=True)
    assert row["verdict"] == HOLDS and np.isfinite(row["low"])
    assert ("over inputs alone" in row["reason"]) == over_inputs_alone


def test_what_is_as_likely_as_not_leans_to_neither_side(table, published):
    rows = table("mnli", {("wiki", "content"): [-0.1]}, inits=5, spread=0.2)  # .1, .3, .5, .7, .9
    row = decide_about(published["merchant2020"], rows, mean_value, low=0.5)
    assert row["verdict"] == UNDECIDED and row["reason"].startswith("Leans to neither side.")
