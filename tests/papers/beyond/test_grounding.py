"""What the figure says of distances that are differences in behaviour, of a regression, and of runs that failed."""

import pytest
from made_papers import real
from scipy import stats

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


def test_a_measure_that_is_behaviour_is_known_from_noise(table):
    table["value"] = table["value"].mask(table["variant"] == "rsa", table["outputs"] ** 2)
    axes, rows, _ = drawn(table)
    best = rows.loc[("rsa", "outputs", "last")]
    assert (
        best["value"] == pytest.approx(1)
        and best["p"] < 0.01
        and axes.get_title().endswith("7 runs, 21 pairs")
    )
    one = table[(table["variant"] == "js") & (table["summary"] == "mean")]
    expected = stats.spearmanr(one["value"], one["predictions"]).statistic
    assert rows.loc[("js", "predictions", "mean"), "value"] == pytest.approx(expected)


def test_too_few_runs_for_any_p_are_told_and_runs_that_failed_are_left_out(table):
    names = sorted({*table["model"], *table["reference"]})
    failed = {
        side: table[model].isin(names[:4])
        for side, model in (("failed", "model"), ("ref_failed", "reference"))
    }
    axes, _, caption = drawn(table.assign(**failed))
    assert axes.get_title() == "CoLA@cased: 3 runs, 3 pairs; too few runs to test"
    assert "CoLA@cased 4 of 7" in caption
