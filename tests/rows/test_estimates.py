import numpy as np
import pytest
from scipy import stats

from bertshift.errors import UserError
from bertshift.rows.estimates import (
    BOTH,
    INPUTS,
    NONE,
    REPLICATES,
    Shared,
    estimate,
    estimate_of_all,
)
from bertshift.rows.replicate import Replicate


def test_replicates_alone_have_students_interval():
    values = np.random.default_rng(0).normal(size=5)
    single, five = estimate(values[:1]), estimate(values)
    assert (single.mean, single.interval) == (values[0], NONE) and np.isnan(single.low)
    expected = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    assert (five.low, five.high) == pytest.approx(expected) and five.interval == REPLICATES
    with pytest.raises(UserError, match="finite"):
        estimate([1.0, np.nan])


def make_numbers(runs, sd_of_blocks):
    """Numbers [runs, 20 blocks] with effects of runs, blocks and neither; the means, and those
    without each block."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(runs, 1)) + rng.normal(0, sd_of_blocks, 20)
    numbers += rng.normal(size=(runs, 20))
    return numbers, numbers.mean(1), (numbers.sum(1, keepdims=True) - numbers) / 19


def test_runs_and_blocks_by_the_table_of_variance():
    """Sums of squares by hand; t is weighted by the parts of the variance (Cochran and Cox
    1950)."""
    numbers, values, left_out = make_numbers(4, sd_of_blocks=5)
    mean, runs, blocks = numbers.mean(), numbers.mean(1, keepdims=True), numbers.mean(0)
    between, across = 20 * runs.var(ddof=1), 4 * blocks.var(ddof=1)
    rest = ((numbers - runs - blocks + mean) ** 2).sum() / 57
    error = np.sqrt((between + across - rest) / 80)
    t = np.average(stats.t.ppf(0.975, [3, 19]), weights=[between, across])
    crossed = estimate(values, left_out=left_out)
    single = estimate(values[:1], left_out=left_out[:1])
    assert (crossed.low, crossed.high) == pytest.approx((mean - t * error, mean + t * error))
    expected = stats.t.interval(0.95, 19, values[0], stats.sem(numbers[0]))
    assert (single.low, single.high) == pytest.approx(expected)
    assert (crossed.interval, single.interval) == (BOTH, INPUTS)


def test_an_interval_covers_the_truth_where_all_seeds_share_their_baselines():
    """Five seeds, each the mean of twelve heads without an effect, minus the same five
    baselines."""
    rng, seeds = np.random.default_rng(0), 5
    baselines = rng.normal(size=(seeds, 4000))
    values = rng.normal(size=(seeds, 12, 4000)).mean(axis=1) - baselines.mean(axis=0)
    alone = estimate(values)
    shared = estimate(values, shared=Shared(baselines.var(axis=0, ddof=1) / seeds, seeds - 1))
    covered = [((one.low < 0) & (one.high > 0)).mean() for one in (alone, shared)]
    assert covered[0] < 0.7 and 0.94 < covered[1] < 0.97


def test_a_pair_of_runs_alone_is_sure_of_nothing():
    assert np.isnan(estimate([1.0], [Replicate.parse("init1-2")]).high)
    pairs = [Replicate.parse("seed1-2"), Replicate.parse("seed1-3")]
    sharing = estimate([1.0, 2.0], pairs)  # without seed 1 there is nothing
    assert np.isnan(sharing.high) and sharing.mean == 1.5


def test_probabilities_are_those_of_the_interval():
    _, values, left_out = make_numbers(3, sd_of_blocks=3)
    for mean in (estimate([1.0, 2.0, 4.0]), estimate(values, left_out=left_out)):
        below = [mean.below(end) for end in (mean.low, mean.mean, mean.high)]
        assert below == pytest.approx([0.025, 0.5, 0.975])


def test_a_number_over_all_replicates_has_the_jackknifes_error():
    """The error of a mean is the classical one."""
    values = np.array([1.0, 2.0, 6.0])
    assert estimate_of_all(3, [4, 3.5, 1.5]).error == pytest.approx(stats.sem(values))
    assert np.isnan(estimate_of_all(1.0, []).high)
