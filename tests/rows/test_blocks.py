import numpy as np
import pytest
from scipy import stats

from bertshift.rows.blocks import BLOCKS, block_of, check, interval, jackknife, left_out


@pytest.mark.parametrize("examples", [0, 7, 53])
def test_blocks_are_contiguous_and_as_equal_as_can_be(examples):
    block = block_of(examples)
    sizes = np.bincount(block)
    assert (len(block), len(sizes)) == (examples, min(examples, BLOCKS))
    assert (np.diff(block) >= 0).all() and np.ptp([*sizes, examples // BLOCKS]) <= 1


def test_a_mean_has_the_classical_standard_error_and_t_interval():
    x = np.random.default_rng(0).normal(size=(3, BLOCKS))
    without = left_out(x, np.ones(x.shape))
    assert without[1, 4] == pytest.approx(np.delete(x[1], 4).mean())
    mean, error = x.mean(axis=1), stats.sem(x, axis=1)
    assert jackknife(without)[0] == pytest.approx(error)
    expected = stats.t.interval(0.95, BLOCKS - 1, mean, error)
    assert np.array(interval(mean, without)) == pytest.approx(np.array(expected))


def test_few_blocks_and_blocks_with_nothing():
    few = np.full(BLOCKS, np.nan)
    few[:3] = left_out(np.array([1.0, 2.0, 6.0]), np.ones(3))
    assert jackknife(few)[0] == pytest.approx(stats.sem([1, 2, 6]))
    assert np.isnan(left_out(np.array([2.0]), np.array([4.0]))).all()
    # A block that holds nothing of a kind: without it, the mean is the same.
    assert left_out(np.array([2.0, 0.0, 9.0]), np.array([1, 0, 3])).tolist() == [3.0, 11 / 4, 2.0]


def test_blocks_that_are_alike_differ_from_their_value_by_a_bias_alone():
    """A variance of equal blocks: smaller without any of them, and the same without each."""
    texts = np.tile([1.0, 4.0, 2.0], BLOCKS)
    without = [np.delete(texts, slice(3 * b, 3 * b + 3)).var(ddof=1) for b in range(BLOCKS)]
    value, alike = np.array([texts.var(ddof=1)]), np.array([without])
    assert abs(value[0] - without[0]) > 1e-4
    check(value, alike)
    alike[0, 0] += 1e-6
    with pytest.raises(ValueError, match="1 values are not those"):
        check(value, alike)
