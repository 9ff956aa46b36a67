import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bertshift.metrics.cores import on_each_core


@pytest.mark.parametrize("cores", [1, 3])
def test_the_bits_do_not_depend_on_how_many_cores_there_are(cores):
    matrices = [x.T @ x for x in np.random.default_rng(0).normal(size=(6, 80, 70))]

    def decomposed(matrix):
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        values, vectors = np.linalg.eigh(matrix)
        return values.tobytes(), vectors.tobytes(), {*blas}

    with threadpool_limits(1, "blas"):
        alone = list(map(decomposed, matrices))
    with threadpool_limits(cores, "blas"):
        assert on_each_core(decomposed, matrices) == alone
        assert decomposed(matrices[0])[2] == {cores}


def test_an_error_is_that_of_the_function():
    with threadpool_limits(2, "blas"), pytest.raises(ZeroDivisionError):
        on_each_core(lambda number: 1 / number, [1, 0])
