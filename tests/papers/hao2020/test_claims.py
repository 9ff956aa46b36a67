from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from made_papers import deeper, stretched
from scipy import stats

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

END = {
    "rte_vs_mnli": 0.15, "mrpc_vs_rte": 0.19, "mrpc_vs_sst2": 0.23,
    "mnli_vs_mnli": 0.1, "rte_vs_rte": 0.12, "sst2_vs_sst2": 0.14, "mrpc_vs_mrpc": 0.16,
}  # fmt: skip


@cache
def told(item, layers=24, inits=5):
    """Tables of two seeds that tell the paper's own story: the later the layer, the more it differs."""
    made = {}
    for path, table in stretched(f"hao2020/{item}", inits=inits).items():
        table = deeper(path, table) if layers == 24 else table
        table = table[(table["seed"] <= 2) & (table["ref_seed"] <= 2) & (table["head"] == 0)].reset_index(
            drop=True
        )
        depth, end = table["layer"] / layers, END.get(path.rpartition("/")[2].removesuffix(".tsv"), 0.3)
        value = end * depth**4 if "/js/" in path else 0.01 + end * depth**2
        value = value.mask(table["variant"].str.endswith("_null"), 0.8)
        score = 0.85 - 0.2 * (1 - depth + 1 / layers).mask(table["layer"] == 0, 0) ** 3
        made[path] = table.assign(value=value.mask(table["metric"] == "restored_score", score))
    return made


def decided(published, item, change=lambda table: table, **shape):
    tables = {path: change(table) for path, table in told(item, **shape).items()}
    return by_name.decide(f"hao2020/{item}", tables, published["hao2020"]).set_index("claim")


@pytest.mark.parametrize("item", ["figure3", "figure4", "figure5", "figure6", "figure7"])
def test_the_papers_own_story_holds_and_its_reverse_fails(published, item):
    rows = decided(published, item)
    gradual = rows.index.str.startswith("H4.2")  # no curve of the story has its first leap at layer 9
    assert (rows["verdict"][~gradual] == HOLDS).all(), rows["verdict"]

    def reversed_layers(table):
        return table.assign(layer=(25 - table["layer"]).where(table["layer"] > 0, 0))

    rows = decided(published, item, reversed_layers)
    flipped = ~rows.index.str.contains("seeds|H6.2|H7.1")  # these compare like with like
    assert (rows["verdict"][flipped] == FAILS).all(), rows["verdict"]


def test_the_order_of_pairs_decides(published):
    names = {
        "mnli": "sst2",
        "sst2": "mnli",
        "rte": "mrpc",
        "mrpc": "rte",
    }

    def swapped(table):
        return table.assign(model=table["model"].replace(names), reference=table["reference"].replace(names))

    row = decided(published, "figure6", swapped).loc["H6.2"]
    assert row["verdict"] == UNTESTED and "no results for" in row["reason"]

    def alike(table):
        return table.assign(value=table["value"].where(table["reference"] != "sst2", table["value"] / 4))

    assert decided(published, "figure7", alike).loc["H7.1", "verdict"] == FAILS


def test_seeds_part_at_a_layer_of_24(published):
    def leap(layer):
        return lambda table: table.assign(value=0.01 + 0.2 * (table["layer"] >= layer))

    for layer, verdict in ((9, HOLDS), (13, FAILS)):
        row = decided(published, "figure4", leap(layer)).loc["H4.2 (mrpc)"]
        assert (row["verdict"], row["ours"]) == (verdict, layer)

    def by_run(*layers):
        return lambda table: pd.concat(
            leap(layer)(table[table["init"] == 1]).assign(init=init) for init, layer in enumerate(layers, 1)
        )

    cases = (
        ((7, 12), UNDECIDED),  # a mean may lie where no run parts
        ((7, 9, 13), UNDECIDED),
        ((9,) * 4, UNDECIDED),  # four runs agree by chance more often than one time in 20
        ((9,) * 5, HOLDS),
        ((13, 13, 14), FAILS),
    )
    for layers, verdict in cases:
        assert decided(published, "figure4", by_run(*layers)).loc["H4.2 (mrpc)", "verdict"] == verdict
    for layers, verdict in (((9, 25), UNDECIDED), ((25,) * 4, UNDECIDED), ((25,) * 5, FAILS)):
        nowhere = decided(published, "figure4", by_run(*layers)).loc["H4.2 (mrpc)"]
        assert nowhere["verdict"] == verdict and "no such layer" in nowhere["reason"]
    single = decided(published, "figure4", by_run(25)).loc["H4.2 (mrpc)"]
    assert single["verdict"] == UNTESTED and single["reason"].startswith("one replicate only")
    small = decided(published, "figure4", layers=12)["verdict"]
    assert (small["H4.2 (mrpc)"], small["H4.1 (mnli)"]) == (UNTESTED, HOLDS)


def test_pairs_of_seeds_on_one_pretraining_run_are_replicates(published):
    tables = dict(told("figure5", inits=1))
    one = (
        by_name.decide("hao2020/figure5", tables, published["hao2020"]).set_index("claim").loc["H5.1 (mnli)"]
    )
    assert one["verdict"] == UNTESTED and one["replicates"] == 1  # two seeds are one pair
    path = "results/svcca/mnli_vs_mnli.tsv"
    one = tables[path]
    upside_down = one.assign(seed=2, ref_seed=3, value=1 - one["value"])
    alike = {
        seeds: pd.concat(one.assign(seed=a, ref_seed=b) for a, b in combinations(range(1, seeds + 1), 2))
        for seeds in (3, 5)
    }
    cases = (
        (alike[5], 10, HOLDS),
        (alike[3], 3, UNDECIDED),  # three pairs are of three runs
        (pd.concat([one, one.assign(ref_seed=3), upside_down]), 3, UNDECIDED),
    )
    for pairs, replicates, verdict in cases:
        tables[path] = pairs
        row = (
            by_name.decide("hao2020/figure5", tables, published["hao2020"])
            .set_index("claim")
            .loc["H5.1 (mnli)"]
        )
        assert row["verdict"] == verdict and row["replicates"] == replicates
    # Without seed 1 there is the third pair alone: pseudo-values 3 * 1/3 - 2 * (-1, 1, 1) have a standard error of 4/3.
    # That is more than the range has: the interval is cut at its ends.
    assert (row["low"], row["high"]) == (-1.0, 1.0)
    assert row["probability"] == pytest.approx(stats.t.sf((0.9 - 1 / 3) / (4 / 3), 2), abs=0.01)


def test_runs_that_failed_to_train_decide_nothing(published):
    def failed(seeds):
        return lambda table: table.assign(
            failed=table["seed"].isin(seeds), value=table["value"].mask(table["seed"].isin(seeds), 0.5)
        )

    rows = decided(published, "figure3", failed([2]))
    assert rows.loc["H3.1 (mnli)", "verdict"] == HOLDS
    assert rows.loc["H3.1 (mnli)", "reason"].endswith("Without 5 that failed to train.")
    rows = decided(published, "figure4", lambda table: table.assign(ref_failed=table["init"] > 1))
    assert (
        rows.loc["H4.1 (mnli)", "reason"]
        == "one replicate only; at least two are needed. Without 4 pairs of which one or both failed to train."
    )
    rows = decided(published, "figure6", lambda table: table.assign(ref_failed=table["seed"] == 2))
    assert rows.loc["H6.1 (rte-mnli)", "reason"].endswith(
        "Without 5 pairs of which one or both failed to train."
    )
    rows = decided(published, "figure3", failed([1, 2]))
    assert set(rows["verdict"]) == {UNTESTED}
    assert rows.loc["H3.1 (mnli)", "reason"] == "every run of MNLI failed to train."


def test_what_is_0_in_every_layer_has_no_ratio_and_no_ranks(published):
    for item, claim, words in (
        ("figure3", "H3.1 (mnli)", "is 0, and nothing"),
        ("figure4", "H4.1 (mnli)", "is 0, and nothing"),
        ("figure5", "H5.1 (mnli)", "does not differ between layers"),
        ("figure6", "H6.1 (rte-mnli)", "is 0, and nothing"),
    ):
        row = decided(published, item, lambda table: table.assign(value=0.0)).loc[claim]
        assert row["verdict"] == UNTESTED and words in row["reason"] and np.isnan(row["ours"])
