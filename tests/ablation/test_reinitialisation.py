import numpy as np
import pandas as pd
import pytest
from made_tables import of_columns
from scipy import stats

from bertshift.ablation import reinitialisation
from bertshift.rows.table import Table


def head_table(heads, baselines):
    return reinitialisation.head_table(of_columns(heads), of_columns(baselines)).rows


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
    values = np.array([0.42, 0.55, 0.5])
    table = head_table(heads(values), baselines)
    mean, sd = baselines["value"].mean(), baselines["value"].std()
    assert table["delta"].to_numpy() == pytest.approx(values - mean)
    assert table["z"].to_numpy() == pytest.approx((values - mean) / (sd * np.sqrt(7 / 6)))
    assert table["p"].to_numpy() == pytest.approx(2 * stats.t.sf(np.abs(table["z"]), 5))
    assert table["q"].to_numpy() == pytest.approx(stats.false_discovery_control(table["p"]))


def test_a_difference_has_one_value_without_each_block_of_examples(baselines):
    generator = np.random.default_rng(1)
    values, others = generator.normal(size=(2, 20)), generator.normal(size=(6, 20))
    table = reinitialisation.head_table(
        Table.of(heads([0.4, 0.6]), values), Table.of(baselines, others)
    )
    np.testing.assert_allclose(table.left_out, values - others.mean(axis=0), rtol=1e-12)


def test_replicates_of_a_head_are_one_test_in_each_layer(baselines):
    """Each sweep's rows are numbered from 0, as its file is read."""
    parts = [
        heads([value, 0.5], seed, layer)
        for layer, seed, value in ((2, 1, 0.42), (2, 2, 0.46), (11, 1, 0.47), (11, 2, 0.42))
    ]
    table = head_table(pd.concat(parts), baselines)
    tests = table[["layer", "head", "p", "q"]].drop_duplicates()
    assert len(tests) == 4
    mean, sd = baselines["value"].mean(), baselines["value"].std()
    t = (0.44 - mean) / (sd * np.sqrt(1 / 2 + 1 / 6))
    assert table["p"].iloc[0] == pytest.approx(2 * stats.t.sf(abs(t), 5))
    assert tests["q"].to_numpy() == pytest.approx(stats.false_discovery_control(tests["p"]))


def test_a_baseline_that_failed_to_train_is_no_reference(baselines):
    with_failed = pd.concat([baselines, rows([0.0], seed=7, failed=True)])
    table = head_table(heads([0.42, 0.55]), with_failed)
    expected = head_table(heads([0.42, 0.55]), baselines)
    pd.testing.assert_frame_equal(table.assign(baseline_left_out=0), expected)
    all_failed = head_table(heads([0.1]), baselines.assign(failed=True))
    counts = ["baseline_n", "baseline_left_out", "baseline_failed"]
    assert table.loc[0, counts].tolist() == [6, 1, False]
    assert all_failed.loc[0, counts].tolist() == [6, 0, True]


def test_pretraining_runs_have_baselines_of_their_own(baselines):
    second = baselines.assign(init=2, value=baselines["value"] + 0.1)
    both_runs = pd.concat([heads([0.42]), heads([0.52], init=2)])
    table = head_table(both_runs, pd.concat([baselines, second]))
    assert np.ptp(table["delta"]) < 1e-12


def test_no_test_where_no_seed_differs(baselines):
    table = head_table(heads([0.5, 0.6]), baselines.assign(value=0.5))
    assert table["delta"].to_numpy() == pytest.approx([0, 0.1])
    assert table[["z", "p", "q"]].isna().all(axis=None)
