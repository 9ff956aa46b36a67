import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertshift.ablation.reinitialisation import head_table
from bertshift.rows.blocks import WITHOUT


def rows(values, **columns):
    table = pd.DataFrame(
        {"value": values, "metric": "mcc", "model": "cola@cased", "init": 1, "failed": False}
    )
    return table.assign(**columns)


def heads(values, seed=1, layer=2, **columns):
    return rows(values, layer=layer, position=range(1, len(values) + 1), seed=seed, **columns)


@pytest.fixture
def baselines():
    return rows(np.random.default_rng(0).normal(0.5, 0.02, 6), seed=range(1, 7))


def test_one_replicate_is_tested_as_one_more_baseline(baselines):
    table = head_table(heads([0.42, 0.55, 0.5]), baselines)
    mean, sd = baselines["value"].mean(), baselines["value"].std()
    assert table["delta"].to_numpy() == pytest.approx(np.array([0.42, 0.55, 0.5]) - mean)
    # the prediction interval of a seventh seed at level 1 - p ends just there
    for row in table.itertuples():
        low, high = stats.t.interval(1 - row.p, 5, mean, sd * np.sqrt(1 + 1 / 6))
        assert row.z == pytest.approx((row.value - mean) / (sd * np.sqrt(7 / 6)))
        assert min(abs(low - row.value), abs(high - row.value)) < 1e-9
    assert table["q"].to_numpy() == pytest.approx(stats.false_discovery_control(table["p"]))


def test_a_difference_is_one_without_each_block_of_examples_too(baselines):
    rng, names = np.random.default_rng(1), WITHOUT
    tables = [
        table.assign(**dict(zip(names, rng.normal(size=(20, len(table))))))
        for table in (heads([0.4, 0.6]), baselines)
    ]
    found = head_table(*tables)
    expected = tables[0][names].to_numpy() - tables[1][names].mean().to_numpy()
    assert found[names].to_numpy() == pytest.approx(expected)


def test_replicates_of_a_head_are_one_test(baselines):
    table = head_table(pd.concat([heads([0.42, 0.5], 1), heads([0.46, 0.5], 2)]), baselines)
    assert table.groupby("head")["p"].nunique().eq(1).all()
    mean, sd = baselines["value"].mean(), baselines["value"].std()
    t = (0.44 - mean) / (sd * np.sqrt(1 / 2 + 1 / 6))
    first = table[table["head"] == 1].iloc[0]
    assert first["p"] == pytest.approx(2 * stats.t.sf(abs(t), 5))
    one_each = table.drop_duplicates("head").sort_values("head")
    assert one_each["q"].to_numpy() == pytest.approx(stats.false_discovery_control(one_each["p"]))


def test_replicates_of_several_layers_keep_their_own_tests(baselines):
    """Each sweep's rows are numbered from 0, as its file is read."""
    parts = [heads([0.42, 0.5], seed, layer) for layer, seed in ((2, 1), (2, 2), (11, 1), (11, 2))]
    parts[2]["value"] += 0.05
    table = head_table(pd.concat(parts), baselines)
    tests = table.drop_duplicates(["layer", "head"])
    assert table.groupby(["layer", "head"])["q"].nunique().eq(1).all()
    assert tests["q"].to_numpy() == pytest.approx(stats.false_discovery_control(tests["p"]))


def test_a_baseline_that_failed_to_train_is_no_reference(baselines):
    fallen = pd.concat([baselines, rows([0.0], seed=7).assign(failed=True)])
    table, without = (head_table(heads([0.42, 0.55]), each) for each in (fallen, baselines))
    pd.testing.assert_frame_equal(table.assign(baseline_left_out=0), without)
    assert table["baseline_left_out"].eq(1).all() and not table["baseline_failed"].any()
    none = head_table(heads([0.1]), baselines.assign(failed=True))
    assert none[["baseline_n", "baseline_left_out", "baseline_failed"]].values.tolist() == [[6, 0, True]]


def test_another_unit_changes_nothing_but_the_difference(baselines):
    table = head_table(heads([0.42, 0.55]), baselines)
    bent = head_table(
        heads([0.42 * 100 + 3, 0.55 * 100 + 3]), baselines.assign(value=baselines["value"] * 100 + 3)
    )
    assert bent["delta"].to_numpy() == pytest.approx(100 * table["delta"].to_numpy())
    pd.testing.assert_frame_equal(bent[["z", "p", "q"]], table[["z", "p", "q"]])


def test_pretraining_runs_have_baselines_of_their_own(baselines):
    second = baselines.assign(init=2, value=baselines["value"] + 0.1)
    both = pd.concat([heads([0.42]), heads([0.52], init=2)])
    table = head_table(both, pd.concat([baselines, second]))
    assert np.ptp(table["delta"]) < 1e-12


def test_no_test_where_no_seed_differs(baselines):
    table = head_table(heads([0.5, 0.6]), baselines.assign(value=0.5))
    assert table["delta"].to_numpy() == pytest.approx([0, 0.1]) and table[["z", "p", "q"]].isna().all(
        axis=None
    )
