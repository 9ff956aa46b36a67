from itertools import combinations

import numpy as np
import pytest

from bertshift.rows.estimates import estimate
from bertshift.rows.replicate import Replicate
from bertshift.verdicts.testing import (
    ERROR,
    count_independent,
    p_of_interval,
    p_of_permutations,
    p_of_signs,
)

SLACK = 3 * np.sqrt(ERROR / 1000)  # three standard errors of 1,000 studies


def test_an_interval_has_one_p_for_each_side_of_its_range():
    mean = estimate([1.0, 2.0, 3.0])
    within = p_of_interval(mean, mean.low, np.inf)
    assert (within.holds, within.fails) == pytest.approx((0.025, 0.975))
    # Of two ends the nearer one counts.
    both = p_of_interval(mean, mean.low, mean.high + 1)
    assert both == pytest.approx(within)
    outside = p_of_interval(mean, mean.high, mean.high + 1)
    assert outside.fails == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("held", "runs", "holds", "fails"),
    [(5, 5, 1 / 32, 1), (6, 6, 1 / 64, 1), (0, 6, 1, 1 / 64), (11, 12, 13 / 4096, 1 - 1 / 4096)],
)
def test_the_sign_test_is_the_tail_of_a_binomial(held, runs, holds, fails):
    seeds = [Replicate(None, run) for run in range(1, runs + 1)]
    signs = [True] * held + [False] * (runs - held)
    assert p_of_signs(signs, seeds) == pytest.approx((holds, fails))


def test_pairs_count_as_often_as_they_share_no_run():
    def pairs(runs):
        return [Replicate(None, a, 0, b) for a, b in combinations(range(1, runs + 1), 2)]

    assert [count_independent(pairs(runs)) for runs in (2, 3, 4, 12)] == [1, 1, 2, 6]
    assert count_independent([Replicate(1, None, 2), Replicate(1, None, 3)]) == 1
    assert p_of_signs([True] * 6, pairs(4)).holds == 1 / 4
    # Every pair that does not hold may be one of the six.
    assert p_of_signs([True] * 65 + [False], pairs(12)).holds == pytest.approx(7 / 64)


def test_pairs_of_runs_that_are_alike_by_chance_decide_seldom():
    """A pair holds where the sum of its runs is above 0: with 12 runs, a half of all pairs."""
    rng = np.random.default_rng(0)
    pairs = [*combinations(range(12), 2)]
    units = [Replicate(None, a + 1, 0, b + 1) for a, b in pairs]
    decided = 0
    for runs in rng.normal(size=(1000, 12)):
        signs = [runs[a] + runs[b] > 0 for a, b in pairs]
        decided += p_of_signs(signs, units).holds < ERROR
    assert decided / 1000 < ERROR + SLACK


@pytest.mark.parametrize("runs", [3, 6, 12])
def test_grid_numbers_at_the_bound_are_wrong_in_one_of_forty_on_a_side(runs):
    """Layers of peaks: 10 or 11 with equal probability, where 11 holds."""
    rng = np.random.default_rng(runs)
    seeds = [Replicate(None, run) for run in range(1, runs + 1)]
    p = [p_of_signs(list(signs), seeds) for signs in rng.uniform(size=(1000, runs)) < 0.5]
    wrong = np.mean(np.array(p) < ERROR, axis=0)
    assert wrong.max() < ERROR + SLACK
    assert (wrong.min() > 0) == (runs >= 6)


def test_permutations_of_few_layers_are_all_listed():
    layers = range(1, 7)
    rising = p_of_permutations(layers, [1, 2, 3, 4, 5, 6])
    assert rising == pytest.approx((1 / 720, 1))
    # Of 720 orders 21 have a rank correlation of 29/35 or more (Kendall's table of rho).
    assert p_of_permutations(layers, [1, 2, 3, 6, 5, 4]).holds > ERROR
    assert p_of_permutations(layers, [2, 1, 4, 3, 5, 6]).holds == pytest.approx(0.0167, abs=5e-4)
    assert p_of_permutations(layers, [3, 1, 2, 4, 5, 6]).holds == pytest.approx(21 / 720)
    assert p_of_permutations(layers, [1.0] * 6) == (1, 1)


@pytest.mark.parametrize("layers", [6, 12])
def test_unrelated_profiles_go_along_in_one_of_forty(layers):
    rng = np.random.default_rng(layers)
    studies = 400
    profiles = rng.normal(size=(studies, 2, layers))
    p = np.array([p_of_permutations(*pair) for pair in profiles])
    wrong = np.mean(p < ERROR, axis=0)
    assert wrong.max() < ERROR + 3 * np.sqrt(ERROR / studies)
