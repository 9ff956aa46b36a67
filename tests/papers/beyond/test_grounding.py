"""What the figure says of distances that are differences in behaviour, of a regression, and of
runs that failed."""

import pytest
from made_papers import real

from bertshift.papers import by_name

PATH = "results/grounding/cola@cased.tsv"
TRAINED = {"failed": False, "ref_failed": False}


@pytest.fixture
def table():
    """Seven models' first runs."""
    table = real("beyond/grounding")[PATH]
    return table[(table["seed"] == 1) & (table["ref_seed"] == 1)].assign(**TRAINED)


def drawn(table):
    figure, rows, caption = by_name.draw("beyond/grounding", {PATH: table}, {})
    return figure.axes[0], rows.set_index(["variant", "behaviour", "summary"]), caption


def test_too_few_runs_for_any_p_are_told_and_runs_that_failed_are_left_out(table):
    names = sorted({*table["model"], *table["reference"]})
    failed = {
        side: table[model].isin(names[:4])
        for side, model in (("failed", "model"), ("ref_failed", "reference"))
    }
    axes, _, caption = drawn(table.assign(**failed))
    assert axes.get_title() == "CoLA@cased: 3 runs, 3 pairs; too few runs to test"
    assert "CoLA@cased 4 of 7" in caption
