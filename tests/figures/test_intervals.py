import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from bertshift.figures import intervals, layers

ROWS = pd.DataFrame(
    {
        "layer": [1, 2, 3],
        "value": [0.4, 0.5, 0.6],
        "low": [0.3, -2.0, 0.5],
        "high": [0.5, 3.0, 0.7],
    }
).assign(each="", replicates=3)


def arrows(axes):
    """Where arrows are, [arrows, 2]."""
    drawn = [each for each in axes.collections if each.get_gid() == intervals.CUT]
    return np.concatenate([np.empty((0, 2)), *(each.get_offsets() for each in drawn)])


def draw_bars(axes):
    layers.bars(axes, ROWS["layer"], ROWS, horizontal=False, color="black")


def draw_band(axes):
    layers.curve(axes, ROWS, "a line", {"color": "black"})


@pytest.mark.parametrize("draw", [draw_bars, draw_band])
def test_an_arrow_marks_each_end_that_a_panel_cuts(draw):
    axes = Figure().subplots()
    draw(axes)
    axes.set_ylim(0, 1)
    intervals.mark_cut(axes.figure)
    assert sorted(map(tuple, arrows(axes))) == [(2, 0), (2, 1)]
    assert axes.get_ylim() == (0, 1)


@pytest.mark.parametrize("draw", [draw_bars, draw_band])
def test_an_interval_that_is_whole_has_no_arrow(draw):
    axes = Figure().subplots()
    draw(axes)
    axes.set_ylim(-2, 3)
    intervals.mark_cut(axes.figure)
    assert len(arrows(axes)) == 0
