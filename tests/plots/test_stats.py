import numpy as np
import pandas as pd
import pytest

from bertshift import stats
from bertshift.errors import UserError


def test_intervals_in_closed_form():
    one, two, three = stats.estimate([0.5]), stats.estimate([0.25, 0.75]), stats.estimate([1.0, 2.0, 3.0])
    assert (one.mean, one.interval) == (0.5, "none") and np.isnan([one.low, one.high]).all()
    assert two == stats.Estimate(0.5, 0.25, 0.75, 2, "min-max")
    # t(.975, 2) = 4.302652730, standard error 1/sqrt(3)
    assert (three.high - 2, 2 - three.low) == pytest.approx([4.302652730 / np.sqrt(3)] * 2, rel=1e-9)
    with pytest.raises(UserError, match="finite"):
        stats.estimate([1.0, np.nan])


def test_paired_difference_uses_shared_replicates_only():
    first = pd.Series([3.0, 5.0, 9.0], ["a", "b", "c"])
    second = pd.Series([4.0, 1.0, 7.0], ["b", "a", "z"])
    assert stats.paired_difference(first, second) == stats.Estimate(1.5, 1.0, 2.0, 2, "min-max")
    with pytest.raises(UserError, match="share none"):
        stats.paired_difference(first, second.rename(index={"a": "x", "b": "y"}))


def rows(keys):
    return pd.DataFrame([{"init": i, "seed": s, "ref_seed": 0, "layer": 1, "value": v} for i, s, v in keys])


def test_seeds_of_one_checkpoint_do_not_count_as_pretraining_runs():
    many = stats.summarise(rows([(1, 1, 0.0), (1, 2, 2.0), (2, 1, 4.0), (2, 2, 6.0)]), ["layer"]).iloc[0]
    assert (many["value"], many["low"], many["high"], many["replicates"]) == (3, 1, 5, 2)
    assert many["unit"] == "pretraining run"
    single = stats.summarise(rows([(1, 1, 0.0), (1, 2, 2.0)]), ["layer"]).iloc[0]
    assert (single["replicates"], single["unit"]) == (2, "seed")
