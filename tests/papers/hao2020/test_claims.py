from functools import cache

import pandas as pd
import pytest
from made_papers import deeper, stretched

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

END = {
    "rte_vs_mnli": 0.15, "mrpc_vs_rte": 0.19, "mrpc_vs_sst2": 0.23,
    "mnli_vs_mnli": 0.1, "rte_vs_rte": 0.12, "sst2_vs_sst2": 0.14, "mrpc_vs_mrpc": 0.16,
}  # fmt: skip


@cache
def told(item):
    """Tables of two seeds that tell the paper's own story: the later the layer, the more it
    differs."""
    made = {}
    for path, table in stretched(f"hao2020/{item}", inits=5).items():
        table = deeper(path, table)
        table = table[
            (table["seed"] <= 2) & (table["ref_seed"] <= 2) & (table["head"] == 0)
        ].reset_index(drop=True)
        depth, end = (
            table["layer"] / 24,
            END.get(path.rpartition("/")[2].removesuffix(".tsv"), 0.3),
        )
        value = end * depth**4 if "/js/" in path else 0.01 + end * depth**2
        value = value.mask(table["variant"].str.endswith("_null"), 0.8)
        score = 0.85 - 0.2 * (1 - depth + 1 / 24).mask(table["layer"] == 0, 0) ** 3
        made[path] = table.assign(value=value.mask(table["metric"] == "restored_score", score))
    return made


def decided(published, item, change=lambda table: table):
    tables = {path: change(table) for path, table in told(item).items()}
    return by_name.decide(f"hao2020/{item}", tables, published["hao2020"]).set_index("claim")


@pytest.mark.parametrize("item", ["figure3", "figure4", "figure5", "figure6", "figure7"])
def test_the_papers_own_story_holds_and_its_reverse_fails(published, item):
    rows = decided(published, item)
    gradual = rows.index.str.startswith(
        "H4.2"
    )  # no curve of the story has its first leap at layer 9
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
        return table.assign(
            model=table["model"].replace(names), reference=table["reference"].replace(names)
        )

    row = decided(published, "figure6", swapped).loc["H6.2"]
    assert row["verdict"] == UNTESTED and "no results for" in row["reason"]

    def alike(table):
        return table.assign(
            value=table["value"].where(table["reference"] != "sst2", table["value"] / 4)
        )

    assert decided(published, "figure7", alike).loc["H7.1", "verdict"] == FAILS


def test_seeds_part_at_a_layer_of_24(published):
    def leap(layer):
        return lambda table: table.assign(value=0.01 + 0.2 * (table["layer"] >= layer))

    for layer, verdict in ((9, HOLDS), (13, FAILS)):
        row = decided(published, "figure4", leap(layer)).loc["H4.2 (mrpc)"]
        assert (row["verdict"], row["ours"]) == (verdict, layer)

    def by_run(*layers):
        return lambda table: pd.concat(
            leap(layer)(table[table["init"] == 1]).assign(init=init)
            for init, layer in enumerate(layers, 1)
        )

    cases = (
        ((7, 12), UNDECIDED),  # a mean may lie where no run parts
        ((7, 9, 13), UNDECIDED),
        ((13, 13, 14), FAILS),
    )
    for layers, verdict in cases:
        assert (
            decided(published, "figure4", by_run(*layers)).loc["H4.2 (mrpc)", "verdict"] == verdict
        )
    for layers, verdict in (((9, 25), UNDECIDED), ((25,) * 4, UNDECIDED), ((25,) * 5, FAILS)):
        nowhere = decided(published, "figure4", by_run(*layers)).loc["H4.2 (mrpc)"]
        assert nowhere["verdict"] == verdict and "no such layer" in nowhere["reason"]


def test_runs_that_failed_to_train_decide_nothing(published):
    def failed(seeds):
        return lambda table: table.assign(
            failed=table["seed"].isin(seeds),
            value=table["value"].mask(table["seed"].isin(seeds), 0.5),
        )

    rows = decided(published, "figure3", failed([2]))
    assert rows.loc["H3.1 (mnli)", "verdict"] == HOLDS
    assert rows.loc["H3.1 (mnli)", "reason"].endswith("Without 5 that failed to train.")
    rows = decided(published, "figure4", lambda table: table.assign(ref_failed=table["init"] > 1))
    assert (
        rows.loc["H4.1 (mnli)", "reason"]
        == "one replicate only; at least two are needed. Without 4 pairs of which one or both failed to train."
    )
    rows = decided(published, "figure3", failed([1, 2]))
    assert set(rows["verdict"]) == {UNTESTED}
    assert rows.loc["H3.1 (mnli)", "reason"] == "every run of MNLI failed to train."
