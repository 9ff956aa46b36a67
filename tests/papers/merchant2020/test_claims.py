"""Claims on probes, ablations and code lengths; tables are made to tell the paper's story, then
bent."""

from functools import cache, partial

import numpy as np
import pytest
from made_merchant import told

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED

ITEMS = ["table1", "figure1", "figure3", "figure4", "appendix_a", "appendix_b"]
story = cache(partial(told, inits=6))  # five, where one fails to train


@pytest.fixture
def decide(published):
    def verdicts(item, bend=lambda path, table: table, tables=None):
        """`bend` returns what a table becomes."""
        kept = {path: bend(path, table.copy()) for path, table in (tables or story(item)).items()}
        return by_name.decide(f"merchant2020/{item}", kept, published["merchant2020"]).set_index(
            "claim"
        )

    return verdicts


def add(amount, **where):
    """A bend: `amount` more in the rows where each column has that value, of one model."""

    def bend(path, table):
        chosen = np.ones(len(table), bool)
        for column, value in where.items():
            chosen &= (table[column] == value) if column in table else False
        return table.assign(value=table["value"] + amount * chosen)

    return bend


def test_the_published_table_1_satisfies_its_claims(decide):
    rows = decide("table1").drop(
        index=["T1.11 (probes)", "T1.11 (fine-tuning)", "T1.11 (pretraining)"]
    )
    assert {name.split()[0] for name in rows.index} == {f"T1.{n}" for n in range(1, 13) if n != 11}
    assert (rows["verdict"] == HOLDS).all(), rows["verdict"]
    # and our arithmetic on it gives the numbers that its file says
    for name in ("T1.1", "T1.2", "T1.3", "T1.4", "T1.5 (srl)", "T1.6", "T1.7 (relations)", "T1.9"):
        said = (
            rows.loc[name, "published_value"]
            .removeprefix("mean |delta| = ")
            .removeprefix("max ratio ")
        )
        said = float(said.split("/")[0].split(" ")[0])
        assert rows.loc[name, "ours"] == pytest.approx(said, abs=0.005), name
    assert rows.loc["T1.10", "ours"] == 18


@pytest.mark.parametrize("item", ITEMS[1:])
def test_the_papers_story_holds(decide, item):
    rows = decide(item)
    assert (rows["verdict"] == HOLDS).all(), rows["verdict"]
    assert (rows["replicates"] == 6).all()


@pytest.mark.parametrize(
    ("item", "bend", "fail"),
    [
        ("table1", add(-0.08, model="dep"), {"T1.1", "T1.3", "T1.6", "T1.9", "T1.10", "T1.12", "T1.2"}),
        ("table1", add(0.03, model="mnli", task="constituents"), {"T1.4"}),
        ("table1", add(0.03, model="squad", task="srl"), {"T1.5 (srl)"}),
        ("table1", add(0.02, model="dep", task="coref"), {"T1.7 (coref)"}),
        ("table1", add(0.01, model="base.random", task="coref"), {"T1.8"}),
        ("figure1", add(0.05, model="dep", kind="depth"), {"F1.1 (depth)"}),
        ("figure1", add(-0.1, model="dep"), {"F1.1 (depth)", "F1.1 (distance)", "F1.4 (depth)", "F1.4 (distance)"}),
        ("figure1", add(-0.04, model="squad", layer=3), {"F1.2 (squad, depth)", "F1.2 (squad, distance)"}),
        ("figure1", add(0.03, model="mnli", layer=12), {"F1.3 (mnli, depth)", "F1.3 (mnli, distance)"}),
        ("figure3", add(-0.05, task="squad", position=6), {"F3.3b"}),
        ("figure3", add(0.2, task="dep", position=4), {"F3.4 (4, points)", "F3.4 (4, share)"}),
        ("figure3", add(0.02, task="squad", position=8), {"F3.3a"}),
        ("figure3", add(-0.05, task="mnli", position=9), {"F3.2a"}),
        ("figure3", add(0.36, task="mnli", position=11), {"F3.2b", "F3.5 (mnli)"}),
        ("figure4", add(-0.1, task="mnli", position=3), {"F4.1 (3 layers)"}),
        ("figure4", add(0.3, task="dep", position=2), {"F4.3"}),
        ("appendix_a", add(0.02, model="mnli", variant="top"), {"A.1 (mnli)"}),
        ("appendix_b", add(5000, model="squad", quantity="codelength"), set()),
        ("appendix_b", add(9000, model="dep", quantity="codelength"), {"B.2"}),
    ],
)  # fmt: skip
def test_a_claim_fails_where_its_number_does(decide, item, bend, fail):
    rows = decide(item, bend=bend)
    assert set(rows.index[rows["verdict"] == FAILS]) == fail


@pytest.mark.parametrize(("inits", "seeds"), [(2, 1), (1, 3)])
def test_a_run_is_compared_with_its_own_pretraining_run(decide, inits, seeds):
    """Replicates: pretraining runs, or the seeds on the only one, against that run's base (seed
    0)."""
    bend = lambda path, table: table.assign(value=table["value"] + 0.1 * table["init"])
    rows = decide("table1", tables=told("table1", inits=inits, seeds=seeds), bend=bend)
    assert rows.loc["T1.4", "ours"] == pytest.approx(-2.2)
    assert rows.loc["T1.4", "replicates"] == inits * seeds
    # no model of T1.8 is fine-tuned, so that one pretraining run is one replicate
    assert (rows.loc["T1.8", "verdict"] == UNTESTED) == (inits == 1)


@pytest.mark.parametrize(("item", "claim"), [("table1", "T1.4"), ("appendix_b", "B.2")])
def test_the_interval_of_a_claim_contains_the_noise_of_the_pretrained_models_probes(
    decide, item, claim
):
    """One pretraining run, of which nothing differs but the probes of the pretrained model, by two
    points."""

    def bend(path, table):
        noise = (1 + 0.02 * (table.get("probe_seed", 1) - 1)) ** (table["model"] == "base")
        return table.assign(value=table["value"] * noise)

    row, of_runs = (
        decide(item, tables=told(item, inits=inits, seeds=2), bend=bend).loc[claim]
        for inits in (1, 2)
    )
    assert row["low"] < row["ours"] - 0.05 < row["ours"] + 0.05 < row["high"]
    # Each of two pretraining runs has the mean of its own probes, here the same.
    assert of_runs["low"] == pytest.approx(of_runs["ours"]) == pytest.approx(row["ours"], rel=0.01)


def test_variation_between_runs_is_one_number(decide):
    sizes = {"probe_seed": 0.02, "seed": 0.03, "init": 0.003}

    def bend(path, table):
        shift = sum(size * table.get(kind, 0) for kind, size in sizes.items())
        return table.assign(value=table["value"] + shift)

    rows = decide("table1", tables=told("table1", inits=5, seeds=2), bend=bend)
    two, five = np.std([1, 2], ddof=1), np.std([1, 2, 3, 4, 5], ddof=1)
    for kind, sd in {
        "probes": 2.0 * two,
        "fine-tuning": 3.0 * two,
        "pretraining": 0.3 * five,
    }.items():
        row = rows.loc[f"T1.11 ({kind})"]
        assert row["ours"] == pytest.approx(sd)
        assert row["verdict"] == (HOLDS if kind == "pretraining" else FAILS)
        assert row["replicates"] == 10  # base, in each of its runs, is no replicate more


def fail_to_train(model, *inits):
    """A bend: these runs failed, near chance."""

    def bend(path, table):
        here = (table["model"] == model) & table["init"].isin(inits)
        return table.assign(failed=here, value=table["value"].where(~here, 0.31))

    return bend


@pytest.mark.parametrize(
    ("item", "claim", "frozen"), [("figure3", "F3.1 (mnli)", ".freeze5"), ("figure4", "F4.1 (6 layers)", ".keep0")]
)  # fmt: skip
def test_a_replicate_whose_complete_run_failed_is_no_baseline(decide, item, claim, frozen):
    whole, one_less, none = (
        decide(item, bend=fail_to_train("mnli", *inits)).loc[claim]
        for inits in ((), (2,), range(1, 7))
    )
    assert one_less["ours"] == pytest.approx(whole["ours"]) and one_less["verdict"] == HOLDS
    assert (whole["replicates"], one_less["replicates"]) == (6, 5)
    assert "Without 1 that failed to train" in one_less["reason"]
    assert none["verdict"] == UNTESTED and "every run of MNLI failed to train" in none["reason"]
    # What learns nothing with its layers frozen or removed is a result.
    assert decide(item, bend=fail_to_train(f"mnli{frozen}", 2)).loc[claim, "replicates"] == 6


@pytest.mark.parametrize(
    ("item", "claim"),
    [("table1", "T1.4"), ("figure1", "F1.2 (mnli, depth)"), ("appendix_b", "B.1")],
)
def test_probes_of_a_run_that_failed_decide_nothing(decide, item, claim):
    whole, one_less = (decide(item, bend=fail_to_train("mnli", *inits)) for inits in ((), (2,)))
    row = one_less.loc[claim]
    assert row["ours"] == pytest.approx(whole.loc[claim, "ours"]) and row["replicates"] == 5
    assert "Without 1 that failed to train" in row["reason"]
    if item == "table1":  # the failed run is far from the others, which are alike
        assert one_less.loc["T1.11 (pretraining)", "ours"] == pytest.approx(0, abs=1e-9)
