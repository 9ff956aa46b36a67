import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bertshift.metrics.cores import on_each_core


@pytest.mark.parametrize("cores", [1, 3])
def test_the_bits_do_not_depend_on_how_many_cores_there_are(cores):
    matrices = [x.T @ x for x in np.random.default_rng(0).normal(size=(6, 80, 70))]

    def decomposed(matrix):
        threads = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
        return b"".join(part.tobytes() for part in np.linalg.eigh(matrix)), {*threads}

    with threadpool_limits(1, "blas"):
        alone = list(map(decomposed, matrices))
    with threadpool_limits(cores, "blas"):
        before = decomposed(matrices[0])[1]
        assert on_each_core(decomposed, matrices) == alone
        assert decomposed(matrices[0])[1] == before == {cores}


def test_an_error_is_that_of_the_function():
    with threadpool_limits(2, "blas"), pytest.raises(ZeroDivisionError):
        on_each_core(lambda number: 1 / number, [1, 0])
