import numpy as np
import pytest

from bertshift.metrics.scatter import Centred, scatter


@pytest.mark.parametrize("rows", [4096, 37])
def test_chunks_of_chosen_rows_add_up_to_the_whole(rows, monkeypatch):
    monkeypatch.setattr("bertshift.metrics.scatter.ROWS", rows)
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(900, d)).astype(np.float32) + 100 for d in (30, 25))
    positions = np.arange(0, 900, 2)
    a, b = Centred(x, positions), Centred(y, positions)
    centred = [z[positions] - z[positions].astype(np.float64).mean(axis=0) for z in (x, y)]
    for ours, direct in (
        (scatter(a, b), centred[0].T @ centred[1]),
        (scatter(a, a), centred[0].T @ centred[0]),
    ):
        np.testing.assert_allclose(ours, direct, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(a.squares, (centred[0] ** 2).sum(axis=1), rtol=1e-12)
