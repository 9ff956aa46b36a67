"""Claims on re-initialised layers and heads; tables are made to tell the paper's story, then
bent."""

from functools import cache

import made_reinit
import pytest

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED

make_tables = cache(made_reinit.of_college)


@pytest.fixture
def decide(published):
    def verdicts(
        item,
        shape=(12, 12),
        bend=lambda table: table,
        checkpoint="google-bert/bert-base-cased@cd5ef92",
    ):
        tables = make_tables(*shape, inits=5, noise=0.0)[item]
        tables = {
            path: bend(table.assign(checkpoint=checkpoint)) for path, table in tables.items()
        }
        return by_name.decide(f"college2020/{item}", tables, published["college2020"]).set_index(
            "claim"
        )

    return verdicts


def failed(rows):
    return set(rows.index[rows["verdict"] == FAILS])


def test_the_papers_story_of_layers(decide):
    rows = decide("figure3")
    # one score for every k is no rise, nor is a dip
    assert failed(rows) == set() and (rows["verdict"] == HOLDS).all(), rows["verdict"]
    small = decide("figure3", (4, 4))
    assert set(small.index[small["verdict"] == UNTESTED]) == {"C3.1", "C3.3", "C3.4"}


@pytest.mark.parametrize(
    ("task", "position", "amount", "fail"),
    [
        ("rte", 9, -0.05, {"C3.1"}),
        ("stsb", 3, 0.3, {"C3.3"}),
        ("cola", 5, 0.6, {"C3.4"}),
        ("cola", 13, 0.6, {"C3.4"}),
        ("mrpc", 7, 0.01, {"C3.5", "C3.8"}),
        ("mrpc", 1, 0.03, {"C3.5", "C3.8", "C3.7 (mrpc)"}),
    ],
)
def test_a_claim_fails_where_its_number_does(decide, task, position, amount, fail):
    def bend(table):
        there = (table["task"] == task) & (table["position"] == position)
        return table.assign(value=table["value"] + amount * there)

    assert failed(decide("figure3", bend=bend)) == fail


def test_the_papers_own_differences_refute_half_of_what_it_says_of_them(decide):
    """Ours are made to be the paper's, so that both numbers agree."""
    for item, wrong in (
        ("figure5", {"C5.1"}), ("figure6", {"C6.1"}), ("figure7", set()), ("figure8", set()),
        ("figure9", {"C9.1 (head 9)", "C9.2"}), ("figure10", {"C10.1 (head 9)"}),
    ):  # fmt: skip
        rows = decide(item)
        assert failed(rows) == wrong, (item, rows["ours"])
        assert rows["ours"].to_numpy(float) == pytest.approx(
            rows["published_value"].to_numpy(float), abs=6e-4
        )


def test_heads_of_another_model_have_other_numbers(decide):
    rows = decide("figure9", checkpoint="12x768 BERT")
    assert (rows["verdict"] == UNTESTED).all()
    assert rows["reason"].str.contains("bert-base-cased").all()


def test_failed_baselines_are_counted_in_the_reason(decide):
    rows = decide("figure5", bend=lambda table: table.assign(baseline_left_out=1))
    assert rows.loc["C5.1", "reason"].endswith("Without 5 that failed to train.")
