import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bertshift.metrics.cores import on_each_core

MATRICES = [x.T @ x for x in np.random.default_rng(0).normal(size=(6, 80, 70))]


def threads_of_blas() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.mark.parametrize("cores", [1, 3])
def test_the_bits_do_not_depend_on_how_many_cores_there_are(cores):
    with threadpool_limits(1, "blas"):
        alone = [np.linalg.eigh(one) for one in MATRICES]
    with threadpool_limits(cores, "blas"):
        found = on_each_core(np.linalg.eigh, MATRICES)
    for (values, vectors), (ours, own) in zip(alone, found, strict=True):
        assert values.tobytes() == ours.tobytes() and vectors.tobytes() == own.tobytes()


def test_each_has_one_thread_and_afterwards_all_is_as_before():
    with threadpool_limits(3, "blas"):
        assert on_each_core(lambda _: threads_of_blas(), range(4)) == [{1}] * 4
        assert threads_of_blas() == {3}


def test_an_error_is_that_of_the_function():
    with threadpool_limits(2, "blas"), pytest.raises(ZeroDivisionError):
        on_each_core(lambda number: 1 / number, [1, 0])
