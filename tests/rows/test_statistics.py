from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import ttest_1samp

from bertshift.errors import UserError
from bertshift.rows import estimates, statistics
from bertshift.rows.blocks import WITHOUT


def test_paired_t_is_scipys_and_needs_two_replicates():
    differences = [0.02, -0.01, 0.03, 0.01, 0.02]
    assert statistics.paired_t(differences) == pytest.approx(ttest_1samp(differences, 0).pvalue)
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
    normal = np.random.default_rng(0).normal(size=(4000, 5))
    assert np.mean([*map(statistics.is_far_off, normal)]) == pytest.approx(0.01, abs=0.005)


def test_the_best_of_two_is_the_mean_over_all_pairs():
    values = [0.5, 0.9, 0.1, 0.5, 0.7]
    assert statistics.best_of_two(values) == pytest.approx(
        np.mean([max(pair) for pair in combinations(values, 2)])
    )
    assert np.isnan(statistics.best_of_two([0.5]))


def rows(keys):
    return pd.DataFrame([{"init": i, "seed": s, "ref_seed": 0, "layer": 1, "value": v} for i, s, v in keys])


def test_seeds_of_one_checkpoint_do_not_count_as_pretraining_runs():
    many = statistics.summarise(rows([(1, 1, 0.0), (1, 2, 2.0), (2, 1, 4.0), (2, 2, 6.0)]), ["layer"]).iloc[0]
    # Means of the runs are 1 and 5: t(.975, 1) = 12.7062047 standard errors of 2.
    assert (many["value"], many["high"], many["replicates"]) == (3, pytest.approx(3 + 2 * 12.7062047), 2)
    assert many["unit"] == "pretraining run"
    single = statistics.summarise(rows([(1, 1, 0.0), (1, 2, 2.0)]), ["layer"]).iloc[0]
    assert (single["replicates"], single["unit"]) == (2, "seed")


def test_a_run_never_fine_tuned_is_a_pretraining_run():
    table = rows([(1, 0, 2.0)]).drop(columns="ref_seed")
    assert statistics.summarise(table, ["layer"]).loc[0, "unit"] == "pretraining run"


def test_blocks_of_inputs_take_part():
    """Seeds alike, so that the inputs are all that is unsure: the classical standard error of the mean of 20 blocks."""
    blocks = np.random.default_rng(0).normal(size=20)
    without = dict(zip(WITHOUT, (blocks.sum() - blocks) / 19, strict=True))
    table = rows([(1, 1, blocks.mean()), (1, 2, blocks.mean())]).assign(**without)
    one = statistics.summarise(table, ["layer"]).iloc[0]
    assert one["interval"] == estimates.BOTH
    assert (one["low"], one["high"]) == pytest.approx(
        stats.t.interval(0.95, 19, blocks.mean(), stats.sem(blocks))
    )
    points = statistics.summarise(statistics.in_points(table), ["layer"]).iloc[0]
    assert points["high"] == pytest.approx(100 * one["high"])
    mixed = pd.concat([table, table.drop(columns=WITHOUT).assign(layer=2)])
    assert statistics.summarise(mixed, ["layer"])["interval"].tolist() == [
        estimates.BOTH,
        estimates.REPLICATES,
    ]
    with pytest.raises(ValueError, match="not those that the blocks were left out of"):
        statistics.summarise(table.assign(value=5.0), ["layer"])
    two = table.assign(value=5.0, **dict.fromkeys(WITHOUT[2:], np.nan))
    assert statistics.summarise(two, ["layer"])["value"].tolist() == [5.0]


def test_pairs_of_seeds_are_not_independent():
    pairs = [(1, 2, 1.0), (1, 3, 2.0), (2, 3, 6.0)]
    table = pd.DataFrame(
        {"init": 1, "seed": a, "ref_seed": b, "layer": 1, "value": value} for a, b, value in pairs
    )
    one = statistics.summarise(table, ["layer"]).iloc[0]
    # Without run 1, 2, 3: 6, 2, 1; pseudo-values 9 - 2 * those are -3, 5, 7.
    half = 4.302652730 * np.std([-3, 5, 7], ddof=1) / np.sqrt(3)
    assert (one["value"], one["low"], one["high"]) == pytest.approx((3, 3 - half, 3 + half))
    assert (one["replicates"], one["unit"]) == (3, "seed pair")


def test_pairs_of_pretraining_runs_are_not_independent():
    pairs = [(1, 2, 1.0), (1, 3, 2.0), (2, 3, 6.0)]
    table = pd.DataFrame(
        {"init": a, "seed": 0, "ref_init": b, "ref_seed": 0, "layer": 1, "value": value}
        for a, b, value in pairs
    )
    assert statistics.with_replicates(table)["replicate"].tolist() == ["init1-2", "init1-3", "init2-3"]
    one = statistics.summarise(table, ["layer"]).iloc[0]
    # Without run 1, 2, 3: 6, 2, 1; pseudo-values 9 - 2 * those are -3, 5, 7.
    half = 4.302652730 * np.std([-3, 5, 7], ddof=1) / np.sqrt(3)
    assert (one["value"], one["low"], one["high"]) == pytest.approx((3, 3 - half, 3 + half))
    assert (one["replicates"], one["unit"]) == (3, "pretraining run pair")
    assert statistics.summarise(table.head(1), ["layer"]).loc[0, "unit"] == "pretraining run pair"


def test_a_run_is_one_replicate_in_tables_with_and_without_a_reference():
    alone = rows([(1, 1, 0.0), (1, 2, 1.0)]).drop(columns="ref_seed")
    compared = rows([(1, 1, 0.0), (1, 2, 1.0)]).assign(ref_init=1)
    both = pd.concat([alone, compared], ignore_index=True)  # missing numbers make the others floats
    assert statistics.with_replicates(both)["replicate"].tolist() == ["seed1", "seed2"] * 2


def probed(keys):
    names = ["model", "task", "init", "seed", "probe_seed", "value"]
    return pd.DataFrame(dict(zip(names, key, strict=True)) for key in keys)


def test_the_probes_of_a_parent_are_divided_among_the_seeds_of_the_same_pretraining_run():
    parents = probed(
        [("base", "pos", 1, 0, 1, 0.0), ("base", "pos", 1, 0, 2, 1.0), ("base", "pos", 1, 0, 3, 5.0),
         ("base", "pos", 2, 0, 1, 9.0)]
    )  # fmt: skip
    model = probed(
        [("mnli", "pos", 2, 1, 1, 4.0), ("mnli", "pos", 1, 1, 1, 2.0), ("mnli", "pos", 1, 2, 2, 2.0)]
    )
    assert statistics.minus_parents(model, parents, ["task"])["value"].tolist() == [-5.0, -0.5, 1.0]
    # A run that is not fine-tuned, or fine-tuned once, is compared with all.
    alone = probed([("base.random", "pos", 1, 0, 1, 4.0)]), model.head(2)
    less = [statistics.minus_parents(rows, parents, ["task"])["value"].tolist() for rows in alone]
    assert less == [[2.0], [-5.0, 0.0]]
    with pytest.raises(UserError, match="mnli has task pos, init 1 and its pretrained model has not"):
        statistics.minus_parents(model, parents[parents["init"] == 2], ["task"])


def test_the_interval_of_a_difference_contains_the_noise_of_the_parents_probes():
    """Of 2,000 studies with three seeds on one pretraining run, 95 % hold the true difference, 0. A tenth of
    the variance of a probe is alike in the probes of its number."""
    studies, seeds = [f"study{number}" for number in range(2000)], [1, 2, 3]
    random = np.random.default_rng(0)
    alike = random.normal(0, 0.25, (2000, 3))
    base, tuned = (alike + random.normal(0, 0.75, (2000, 3)) for _ in range(2))
    tuned += random.normal(0, 0.3, (2000, 3))  # of the seeds themselves

    def table(model, values, run):
        return probed(
            (model, study, 1, seed if run else 0, seed, value)
            for study, row in zip(studies, values) for seed, value in zip(seeds, row)
        )  # fmt: skip

    less = statistics.minus_parents(table("mnli", tuned, True), table("base", base, False), ["task"])
    found = statistics.summarise(less, ["task"])
    held = ((found["low"] <= 0) & (found["high"] >= 0)).mean()
    assert found["value"].to_numpy() == pytest.approx((tuned - base).mean(axis=1))
    assert held == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 2000))


def test_spreads_are_nested():
    """Probes differ by 2 within a seed, seeds by 4 within a run, runs by 10: sd of two is distance / sqrt 2."""
    table = probed(
        ("mnli", "pos", init, seed, probe, 10.0 * init + 4 * seed + 2 * probe)
        for init in (1, 2) for seed in (1, 2) for probe in (1, 2)
    )  # fmt: skip
    spreads = statistics.spreads(table, ["task"]).iloc[0]
    assert spreads[statistics.SPREADS].tolist() == pytest.approx(
        [2 / np.sqrt(2), 4 / np.sqrt(2), 10 / np.sqrt(2)]
    )
    alone = statistics.spreads(table[table["probe_seed"] == 1], ["task"]).iloc[0]
    assert np.isnan(alone["sd_probe"]) and alone["sd_finetuning"] == pytest.approx(4 / np.sqrt(2))


def test_holm_by_hand():
    # Sorted .01, .03, .04 times 3, 2, 1, never falling: .03, .06, .06.
    assert statistics.holm(pd.Series([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert statistics.holm(pd.Series([0.6, 0.7])).tolist() == [1.0, 1.0]


def test_layers_to_a_share_of_the_gain():
    curve = {0: 10.0, 1: 60.0, 2: 105.0, 3: 104.0, 4: 110.0}
    assert (
        statistics.layers_to(curve) == 2
        and statistics.layers_to(curve, 0.5) == 1
        and statistics.layers_to(curve, 1.0) == 4
    )
    assert np.isnan(statistics.layers_to({0: 5.0, 1: 4.0}))
