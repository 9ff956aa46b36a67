"""What the figure says of few runs, of a regression, and of runs that failed."""

import numpy as np
import pytest
from made_grounding import of_beyond
from texts import clashes

from bertshift.papers import by_name

PATH = "results/grounding/cola@cased.tsv"


@pytest.fixture
def table():
    return of_beyond(4)[PATH]


def drawn(table):
    figure, rows, caption = by_name.draw("beyond/grounding", {PATH: table}, {})
    assert not clashes(figure)
    [axes] = figure.axes
    return axes, rows.set_index(["variant", "behaviour", "summary"]), caption


def test_a_measure_that_is_behaviour_gets_a_star_and_noise_none(table):
    axes, rows, caption = drawn(table)
    best = rows.loc[("rsa", "outputs", "last")]
    assert best["value"] == pytest.approx(1) and best["p"] == pytest.approx(1 / 24) and best["q"] > 0.05
    assert axes.get_title() == "CoLA@cased: 4 runs, 6 pairs"
    texts = [text.get_text() for text in axes.texts]
    assert "1.00*" in texts and "1.00**" not in texts and "Of 42 correlations 2 would" in caption


def test_too_few_runs_for_any_p_are_told(table):
    last = max({*table["model"], *table["reference"]})
    axes, _, caption = drawn(table[(table["model"] != last) & (table["reference"] != last)])
    assert axes.get_title() == "CoLA@cased: 3 runs, 3 pairs; too few runs to test"
    assert "by chance" not in caption


def test_of_a_regression_there_are_two_differences_and_of_equal_pairs_no_correlation(table):
    axes, rows, _ = drawn(table.assign(predictions=np.nan, score=0.5))
    assert set(rows.index.get_level_values("behaviour")) == {"score", "outputs"}
    assert rows.xs("score", level="behaviour")["value"].isna().all()
    assert [text.get_text() for text in axes.texts].count("–") == 14


def test_runs_that_failed_are_left_out_and_told(table):
    plain = table["model"] == "cola@cased"
    axes, _, caption = drawn(table.assign(failed=plain))
    assert axes.get_title().startswith("CoLA@cased: 3 runs") and "CoLA@cased 1 of 4" in caption
