import numpy as np
import pandas as pd
import pytest

from bertshift.rows.losses import loss_table, moving_average


def test_the_average_is_of_all_losses_so_far_with_falling_weights():
    values = np.random.default_rng(0).normal(size=50)
    expected = [np.average(values[:n], weights=0.98 ** np.arange(n)[::-1]) for n in range(1, 51)]
    assert moving_average(values) == pytest.approx(expected)


def test_every_step_of_every_replicate_is_a_row():
    steps = [
        pd.DataFrame({"step": [1, 2], "loss": [start, 0.5], "learning_rate": 0})
        for start in (1.0, 3.0)
    ]
    made_from = {"model": "wnli+cola", "task": "cola", "runs": [[1, 1], [2, 1]], "scale": "demo",
                 "checkpoints": {"1": {"label": "a"}, "2": {"label": "b"}}}  # fmt: skip
    outcomes = [
        {"metric": "mcc", "scores": {"mcc": mcc}, "majority": {"mcc": 0.0}} for mcc in (0.0, 0.5)
    ]
    table = loss_table(steps, outcomes, made_from, "cola train")
    rows = table[["init", "checkpoint", "failed"]].to_numpy().tolist()
    assert rows == [[1, "a", True]] * 2 + [[2, "b", False]] * 2
    assert table["value"].tolist() == [1.0, 0.5, 3.0, 0.5]
    assert table["smoothed"][2] == pytest.approx(3.0)
