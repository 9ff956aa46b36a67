from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertshift.errors import UserError
from bertshift.rows import estimates, statistics
from bertshift.rows.blocks import JACKKNIFE_COLUMNS


def test_paired_t_is_scipys_and_needs_two_replicates():
    differences = [0.02, -0.01, 0.03, 0.01, 0.02]
    assert statistics.paired_t(differences) == pytest.approx(
        stats.ttest_1samp(differences, 0).pvalue
    )
    assert np.isnan(statistics.paired_t([0.1])) and np.isnan(statistics.paired_t([0.1, 0.1]))
    assert statistics.paired_t([0.0, 0.0]) == 1


def test_one_replicate_far_from_the_others_is_found_by_grubbs_test():
    """Critical values at 1 %, two-sided, of Grubbs's table (1969): 1.764 for 5, 2.482 for 10."""
    for n, critical in ((5, 1.764), (10, 2.482)):
        near = np.resize([-1.0, 1.0], n - 1)
        far = next(far for far in np.arange(1, 50, 0.01) if statistics.is_far_off([*near, far]))
        assert stats.zscore([*near, far], ddof=1)[-1] == pytest.approx(critical, abs=2e-3)
        assert statistics.is_far_off([-far, *-near])
    assert not statistics.is_far_off([0, 0, 0, 9]) and not statistics.is_far_off([0.7] * 5)


def test_the_best_of_two_is_the_mean_over_all_pairs():
    values = [0.5, 0.9, 0.1, 0.5, 0.7]
    assert statistics.best_of_two(values) == pytest.approx(
        np.mean([max(pair) for pair in combinations(values, 2)])
    )
    assert np.isnan(statistics.best_of_two([0.5]))


def rows(keys):
    return pd.DataFrame(
        [{"init": i, "seed": s, "ref_seed": 0, "layer": 1, "value": v} for i, s, v in keys]
    )


def test_seeds_of_one_checkpoint_do_not_count_as_pretraining_runs():
    many = rows([(1, 1, 0.0), (1, 2, 2.0), (2, 1, 4.0), (2, 2, 6.0)])
    summaries = [statistics.summarise(table, ["layer"]).iloc[0] for table in (many, many[:2])]
    # Means of the runs are 1 and 5: t(.975, 1) = 12.7062047 standard errors of 2.
    assert (summaries[0]["value"], summaries[0]["high"]) == (3, pytest.approx(3 + 2 * 12.7062047))
    assert [summary["unit"] for summary in summaries] == ["pretraining run", "seed"]
    assert [summary["replicates"] for summary in summaries] == [2, 2]


def test_a_run_never_fine_tuned_is_a_pretraining_run():
    table = rows([(1, 0, 2.0)]).drop(columns="ref_seed")
    assert statistics.summarise(table, ["layer"]).loc[0, "unit"] == "pretraining run"


def test_blocks_of_inputs_take_part():
    """Seeds alike, so that the inputs are all that is unsure: the classical standard error of the
    mean of 20 blocks."""
    blocks = np.random.default_rng(0).normal(size=20)
    without = dict(zip(JACKKNIFE_COLUMNS, (blocks.sum() - blocks) / 19, strict=True))
    table = rows([(1, 1, blocks.mean()), (1, 2, blocks.mean())]).assign(**without)
    layers = pd.concat([table, table.drop(columns=JACKKNIFE_COLUMNS).assign(layer=2)])
    summary = statistics.summarise(layers, ["layer"])
    assert summary["interval"].tolist() == [estimates.BOTH, estimates.REPLICATES]
    expected = stats.t.interval(0.95, 19, blocks.mean(), stats.sem(blocks))
    assert summary.loc[0, ["low", "high"]].tolist() == pytest.approx(expected)
    points = statistics.summarise(statistics.in_points(table), ["layer"])
    assert points.loc[0, "high"] == pytest.approx(100 * expected[1])
    with pytest.raises(ValueError, match="not those that the blocks were left out of"):
        statistics.summarise(table.assign(value=5.0), ["layer"])
    two = table.assign(value=5.0, **dict.fromkeys(JACKKNIFE_COLUMNS[2:], np.nan))
    assert statistics.summarise(two, ["layer"])["value"].tolist() == [5.0]


@pytest.mark.parametrize("key", ["seed", "init"])
def test_pairs_of_runs_are_not_independent(key):
    pairs = [(1, 2, 1.0), (1, 3, 2.0), (2, 3, 6.0)]
    table = pd.DataFrame(pairs, columns=[key, f"ref_{key}", "value"]).assign(layer=1)
    table = table.assign(init=1) if key == "seed" else table.assign(seed=0, ref_seed=0)
    assert statistics.with_replicates(table)["replicate"].tolist() == [
        f"{key}1-2",
        f"{key}1-3",
        f"{key}2-3",
    ]
    summary = statistics.summarise(table, ["layer"]).iloc[0]
    # Without run 1, 2, 3: 6, 2, 1; pseudo-values 9 - 2 * those are -3, 5, 7.
    half = 4.302652730 * np.std([-3, 5, 7], ddof=1) / np.sqrt(3)
    assert (summary["value"], summary["low"], summary["high"]) == pytest.approx(
        (3, 3 - half, 3 + half)
    )
    unit = {"seed": "seed pair", "init": "pretraining run pair"}[key]
    assert (summary["replicates"], summary["unit"]) == (3, unit)
    assert statistics.summarise(table.head(1), ["layer"]).loc[0, "unit"] == unit


def test_a_run_is_one_replicate_in_tables_with_and_without_a_reference():
    alone = rows([(1, 1, 0.0), (1, 2, 1.0)]).drop(columns="ref_seed")
    compared = rows([(1, 1, 0.0), (1, 2, 1.0)]).assign(ref_init=1)
    table = pd.concat(
        [alone, compared], ignore_index=True
    )  # missing numbers make the others floats
    assert statistics.with_replicates(table)["replicate"].tolist() == ["seed1", "seed2"] * 2


def probed(keys):
    names = ["model", "task", "init", "seed", "probe_seed", "value"]
    return pd.DataFrame(dict(zip(names, key, strict=True)) for key in keys)


def test_the_probes_of_a_parent_are_divided_among_the_seeds_of_the_same_pretraining_run():
    parents = probed(
        [("base", "pos", 1, 0, 1, 0.0), ("base", "pos", 1, 0, 2, 1.0), ("base", "pos", 1, 0, 3, 5.0),
         ("base", "pos", 2, 0, 1, 9.0)]
    )  # fmt: skip
    model = probed(
        [
            ("mnli", "pos", 2, 1, 1, 4.0),
            ("mnli", "pos", 1, 1, 1, 2.0),
            ("mnli", "pos", 1, 2, 2, 2.0),
        ]
    )
    assert statistics.minus_parents(model, parents, ["task"])["value"].tolist() == [
        -5.0,
        -0.5,
        1.0,
    ]
    # A run that is not fine-tuned, or fine-tuned once, is compared with all.
    alone = probed([("base.random", "pos", 1, 0, 1, 4.0)]), model.head(2)
    less = [statistics.minus_parents(rows, parents, ["task"])["value"].tolist() for rows in alone]
    assert less == [[2.0], [-5.0, 0.0]]
    with pytest.raises(
        UserError, match="mnli has task pos, init 1 and its pretrained model has not"
    ):
        statistics.minus_parents(model, parents[parents["init"] == 2], ["task"])


def test_spreads_are_nested():
    """Probes differ by 2 within a seed, seeds by 4 within a run, runs by 10: sd of two is distance
    / sqrt 2."""
    runs = product((1, 2), (1, 2), (1, 2))
    table = probed(("mnli", "pos", *run, np.dot(run, (10.0, 4, 2))) for run in runs)
    for part, expected in (
        (table, [2, 4, 10]),
        (table[table["probe_seed"] == 1], [np.nan, 4, 10]),
    ):
        spreads = statistics.spreads(part, ["task"]).loc[0, statistics.SPREADS]
        assert spreads.tolist() == pytest.approx(np.array(expected) / np.sqrt(2), nan_ok=True)


def test_holm_by_hand():
    # Sorted .01, .03, .04 times 3, 2, 1, never falling: .03, .06, .06.
    assert statistics.holm(pd.Series([0.04, 0.01, 0.03])).tolist() == pytest.approx(
        [0.06, 0.03, 0.06]
    )
    assert statistics.holm(pd.Series([0.6, 0.7])).tolist() == [1.0, 1.0]


def test_layers_to_a_share_of_the_gain():
    curve = {0: 10.0, 1: 60.0, 2: 105.0, 3: 104.0, 4: 110.0}
    assert [statistics.layers_to(curve, share) for share in (0.95, 0.5, 1.0)] == [2, 1, 4]
    assert np.isnan(statistics.layers_to({0: 5.0, 1: 4.0}))
