from functools import cache

import pandas as pd
import pytest
from made_papers import deeper, stretched

from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

END = {
    "rte_vs_mnli": 0.15, "mrpc_vs_rte": 0.19, "mrpc_vs_sst2": 0.23,
    "mnli_vs_mnli": 0.1, "rte_vs_rte": 0.12, "sst2_vs_sst2": 0.14, "mrpc_vs_mrpc": 0.16,
}  # fmt: skip


@cache
def make_tables(item):
    """Tables of two seeds that tell the paper's own story: the later the layer, the more it
    differs."""
    tables = {}
    for path, table in stretched(f"hao2020/{item}", inits=6).items():
        table = deeper(path, table).query("seed <= 2 and ref_seed <= 2 and head == 0")
        table = table.reset_index(drop=True)
        depth = table["layer"] / 24
        end = END.get(path.rpartition("/")[2].removesuffix(".tsv"), 0.3)
        value = end * depth**4 if "/js/" in path else 0.01 + end * depth**2
        value = value.mask(table["variant"].str.endswith("_null"), 0.8)
        score = 0.85 - 0.2 * (1 - depth + 1 / 24).mask(table["layer"] == 0, 0) ** 3
        tables[path] = table.assign(value=value.mask(table["metric"] == "restored_score", score))
    return tables


@pytest.fixture
def changed(decide):
    """changed(figure, change) -> its claims on tables that were changed."""

    def decide_changed(item, change=lambda table: table):
        tables = {path: change(table) for path, table in make_tables(item).items()}
        return decide(f"hao2020/{item}", tables)

    return decide_changed


def reverse_layers(table):
    return table.assign(layer=(25 - table["layer"]).where(table["layer"] > 0, 0))


@pytest.mark.parametrize("item", ["figure3", "figure4", "figure5", "figure6", "figure7"])
def test_the_papers_own_story_holds_and_its_reverse_fails(changed, item):
    rows = changed(item)
    # No curve of the story has its first leap at layer 9.
    rows = rows[~rows.index.str.startswith("H4.2")]
    assert (rows["verdict"] == HOLDS).all(), rows["verdict"]
    rows = changed(item, reverse_layers)
    # These compare like with like.
    rows = rows[~rows.index.str.contains("seeds|H6.2|H7.1")]
    assert (rows["verdict"] == FAILS).all(), rows["verdict"]


def leap(*layers):
    """A change: distances of the n-th pretraining run leap at the n-th layer."""

    def change(table):
        runs = []
        for init, layer in enumerate(layers, 1):
            run = table[table["init"] == init]
            runs.append(run.assign(value=0.01 + 0.2 * (run["layer"] >= layer)))
        return pd.concat(runs)

    return change


@pytest.mark.parametrize(
    ("layers", "verdict"),
    [
        ((9,) * 6, HOLDS),
        ((13,) * 6, FAILS),
        ((7, 12), UNDECIDED),  # a mean may lie where no run parts
        ((9, 25), UNDECIDED),
        ((25,) * 6, FAILS),
    ],
)
def test_seeds_part_at_a_layer_of_24(changed, layers, verdict):
    row = changed("figure4", leap(*layers)).loc["H4.2 (mrpc)"]
    assert row["verdict"] == verdict
    assert ("no such layer" in row["reason"]) == (25 in layers)
    if len({*layers}) == 1 and layers[0] < 25:
        assert row["ours"] == layers[0]


def test_runs_that_failed_to_train_decide_nothing(changed):
    def fail(*seeds):
        def change(table):
            failed = table["seed"].isin(seeds)
            return table.assign(failed=failed, value=table["value"].mask(failed, 0.5))

        return change

    row = changed("figure3", fail(2)).loc["H3.1 (mnli)"]
    assert row["verdict"] == HOLDS
    assert row["reason"].endswith("Without 6 that failed to train.")
    rows = changed("figure4", lambda table: table.assign(ref_failed=table["init"] > 1))
    reason = rows.loc["H4.1 (mnli)", "reason"]
    assert reason.startswith("one replicate only")
    assert reason.endswith("Without 5 pairs of which one or both failed to train.")
    rows = changed("figure3", fail(1, 2))
    assert set(rows["verdict"]) == {UNTESTED}
    assert rows.loc["H3.1 (mnli)", "reason"] == "every run of MNLI failed to train."
