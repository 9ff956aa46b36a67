from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertshift.errors import UserError
from bertshift.rows import estimates, statistics
from bertshift.rows.table import Table, concat


def test_paired_t_is_scipys_and_needs_two_replicates():
    differences = [0.02, -0.01, 0.03, 0.01, 0.02]
    p = statistics.paired_t(differences)
    assert p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert np.isnan([statistics.paired_t([0.1]), statistics.paired_t([0.1, 0.1])]).all()
    assert statistics.paired_t([0.0, 0.0]) == 1


@pytest.mark.parametrize(("n", "critical"), [(5, 1.764), (10, 2.482)])
def test_one_replicate_far_from_the_others_is_found_by_grubbs_test(n, critical):
    """Critical values at 1 %, two-sided, of Grubbs's table (1969)."""
    near = np.resize([-1.0, 1.0], n - 1)
    far = next(far for far in np.arange(1, 50, 0.01) if statistics.is_far_off([*near, far]))
    assert stats.zscore([*near, far], ddof=1)[-1] == pytest.approx(critical, abs=2e-3)
    assert statistics.is_far_off([-far, *-near])
    assert not statistics.is_far_off([0, 0, 0, 9]) and not statistics.is_far_off([0.7] * n)


def test_the_best_of_two_is_the_mean_over_all_pairs():
    values = [0.5, 0.9, 0.1, 0.5, 0.7]
    expected = np.mean(list(map(max, combinations(values, 2))))
    assert statistics.best_of_two(values) == pytest.approx(expected)
    assert np.isnan(statistics.best_of_two([0.5]))


def rows(keys):
    """A table of (init, seed, value)."""
    return pd.DataFrame(keys, columns=["init", "seed", "value"]).assign(layer=1, ref_seed=0)


def averaged(table):
    return Table.of(table).averaged(["layer"])


def test_seeds_of_one_checkpoint_do_not_count_as_pretraining_runs():
    table = rows([(1, 1, 0.0), (1, 2, 2.0), (2, 1, 4.0), (2, 2, 6.0)])
    summary = averaged(table).iloc[0]
    # Means of the runs are 1 and 5: t(.975, 1) = 12.7062047 standard errors of 2.
    assert (summary["value"], summary["high"]) == (3, pytest.approx(3 + 2 * 12.7062047))
    assert (summary["replicates"], summary["unit"]) == (2, "pretraining run")
    summary = averaged(table[:2]).iloc[0]
    assert (summary["replicates"], summary["unit"]) == (2, "seed")


def test_a_table_of_whole_numbers_has_means():
    table = pd.DataFrame({"layer": 1, "init": [1, 2, 3], "seed": 0, "value": [0, 1, 1], "low": 0})
    assert averaged(table).loc[0, "value"] == pytest.approx(2 / 3)


def test_a_run_never_fine_tuned_is_a_pretraining_run():
    table = rows([(1, 0, 2.0)]).drop(columns="ref_seed")
    assert averaged(table).loc[0, "unit"] == "pretraining run"


def test_blocks_of_inputs_take_part():
    """Seeds alike, so that the inputs are all that is unsure: the classical standard error of the
    mean of 20 blocks."""
    blocks = np.random.default_rng(0).normal(size=20)
    seeds = rows([(1, 1, blocks.mean()), (1, 2, blocks.mean())])
    table = Table.of(seeds, np.tile((blocks.sum() - blocks) / 19, (2, 1)))
    summary = concat([table, Table.of(seeds.assign(layer=2))]).averaged(["layer"])
    assert summary["interval"].tolist() == [estimates.BOTH, estimates.REPLICATES]
    expected = stats.t.interval(0.95, 19, blocks.mean(), stats.sem(blocks))
    assert summary.loc[0, ["low", "high"]].tolist() == pytest.approx(expected)
    with pytest.raises(ValueError, match="not those that the blocks were left out of"):
        table.assign(value=5.0).averaged(["layer"])
    two = table.left_out.copy()
    two[:, 2:] = np.nan
    assert Table.of(seeds.assign(value=5.0), two).averaged(["layer"])["value"].tolist() == [5.0]


@pytest.mark.parametrize("key", ["seed", "init"])
def test_pairs_of_runs_are_not_independent(key):
    pairs = [(1, 2, 1.0), (1, 3, 2.0), (2, 3, 6.0)]
    table = pd.DataFrame(pairs, columns=[key, f"ref_{key}", "value"]).assign(layer=1)
    table = table.assign(init=1) if key == "seed" else table.assign(seed=0, ref_seed=0)
    replicates = statistics.with_replicates(table)["replicate"].tolist()
    assert replicates == [f"{key}1-2", f"{key}1-3", f"{key}2-3"]
    summary = averaged(table).iloc[0]
    # Without run 1, 2, 3: 6, 2, 1; pseudo-values 9 - 2 * those are -3, 5, 7.
    half = 4.302652730 * stats.sem([-3, 5, 7])
    assert [*summary[["value", "low", "high"]]] == pytest.approx([3, 3 - half, 3 + half])
    unit = {"seed": "seed pair", "init": "pretraining run pair"}[key]
    assert (summary["replicates"], summary["unit"]) == (3, unit)
    assert averaged(table.head(1)).loc[0, "unit"] == unit


def test_a_run_is_one_replicate_in_tables_with_and_without_a_reference():
    alone = rows([(1, 1, 0.0), (1, 2, 1.0)]).drop(columns="ref_seed")
    # Missing numbers make the others floats.
    table = pd.concat([alone, alone.assign(ref_init=1, ref_seed=0)], ignore_index=True)
    assert statistics.with_replicates(table)["replicate"].tolist() == ["seed1", "seed2"] * 2


def probed(model, *keys):
    """A table of (init, seed, probe_seed, value)."""
    table = pd.DataFrame(keys, columns=["init", "seed", "probe_seed", "value"])
    return table.assign(model=model, task="pos")


def test_the_probes_of_a_parent_are_divided_among_the_seeds_of_the_same_pretraining_run():
    parents = probed("base", (1, 0, 1, 0), (1, 0, 2, 1), (1, 0, 3, 5), (2, 0, 1, 9))

    def differences(model, parents=parents):
        return Table.of(model).minus_parents(Table.of(parents), ["task"])["value"].tolist()

    model = probed("mnli", (2, 1, 1, 4), (1, 1, 1, 2), (1, 2, 2, 2))
    assert differences(model) == [-5.0, -0.5, 1.0]
    # A run that is not fine-tuned, or fine-tuned once, is compared with all.
    assert differences(probed("base.random", (1, 0, 1, 4))) == [2.0]
    assert differences(model.head(2)) == [-5.0, 0.0]
    with pytest.raises(UserError, match="mnli has task pos, init 1 and its"):
        differences(model, parents[parents["init"] == 2])


def test_spreads_are_nested():
    """Probes differ by 2 within a seed, seeds by 4 within a run, runs by 10: sd of two is
    distance / sqrt 2."""
    runs = product((1, 2), repeat=3)
    table = probed("mnli", *((*run, np.dot(run, (10.0, 4, 2))) for run in runs))
    for part, expected in (
        (table, [2, 4, 10]),
        (table[table["probe_seed"] == 1], [np.nan, 4, 10]),
    ):
        spreads = statistics.spreads(part, ["task"]).loc[0, statistics.SPREADS]
        assert spreads.tolist() == pytest.approx(np.array(expected) / np.sqrt(2), nan_ok=True)


def test_holm_by_hand():
    # Sorted .01, .03, .04 times 3, 2, 1, never falling: .03, .06, .06.
    corrected = statistics.holm(pd.Series([0.04, 0.01, 0.03])).tolist()
    assert corrected == pytest.approx([0.06, 0.03, 0.06])
    assert statistics.holm(pd.Series([0.6, 0.7])).tolist() == [1.0, 1.0]


def test_layers_to_a_share_of_the_gain():
    curve = {0: 10.0, 1: 60.0, 2: 105.0, 3: 104.0, 4: 110.0}
    assert [statistics.layers_to(curve, share) for share in (0.95, 0.5, 1.0)] == [2, 1, 4]
    assert np.isnan(statistics.layers_to({0: 5.0, 1: 4.0}))


def test_the_largest_over_places_by_hand():
    """The second place is reached by the largest values of two draws of three."""
    changes = np.array([[5.0, 2.0], [4.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    assert statistics.by_largest(changes).tolist() == [1 / 4, 3 / 4]
    assert statistics.by_largest(np.zeros((4, 2))).tolist() == [1.0, 1.0]


def test_one_more_draw_is_seldom_the_largest():
    """p at most 1 / 20 in 5 % of studies of 24 layers that go together: 1000 have an error of
    .7 %."""
    generator = np.random.default_rng(0)
    studies = generator.normal(size=(1000, 20, 24)).cumsum(axis=2)
    found = [statistics.by_largest(study).min() <= 0.05 for study in studies]
    assert 0.03 < np.mean(found) < 0.07
