import numpy as np
import pytest
from made_relations import of_kovaleva, relation_heads
from matplotlib.collections import PathCollection, QuadMesh

from bertshift.errors import UserError
from bertshift.papers.kovaleva2019 import figure3
from bertshift.rows.blocks import WITHOUT
from bertshift.rows.estimates import INPUTS


@pytest.fixture(scope="module")
def paper(published):
    return published["kovaleva2019"]


def panels(figure):
    """Title -> the values of its heat map; the enlarged rows have no title."""
    return {
        axes.get_title(): np.asarray(each.get_array())
        for axes in figure.axes
        for each in axes.collections
        if isinstance(each, QuadMesh) and not hasattr(axes, "_colorbar")
    }


def test_the_papers_own_numbers_agree_with_themselves(paper):
    matrix = np.array(paper["figure3"]["matrix"])
    figure, table, _ = figure3.draw(of_kovaleva(matrix=matrix), paper)
    drawn = panels(figure)
    assert "Base, L7H6" in drawn and "Base, L1H2" in drawn
    np.testing.assert_array_equal(drawn["paper"], matrix)
    [same] = [values for title, values in drawn.items() if "r = 1.00" in title]
    np.testing.assert_array_equal(same, matrix)
    printed = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert {".87", ".46", "L7H6", "L1H2"} <= set(printed)  # the paper's rows, below ours
    row = table[(table["source"] == "published") & (table["panel"] == "map") & (table["layer"] == 7)]
    assert row["value"].tolist() == paper["figure3"]["example"]["L7H6"] and set(row["query_token"]) == {"he"}


def test_another_shape_is_said_to_be_not_comparable(paper):
    figure, _, _ = figure3.draw(of_kovaleva(12, 4), paper)
    titles = " ".join(panels(figure))
    assert (
        "not comparable" in titles and "r =" not in titles and "best of 2 runs: 0.21 (0.21 / 0.21)" in titles
    )
    assert ".87" not in [text.get_text() for axes in figure.axes for text in axes.texts]


def test_filled_dots_are_heads_above_their_null(paper):
    matrix = np.full((2, 2), 0.04)
    matrix[1, 0] = 0.3
    figure, _, _ = figure3.draw(of_kovaleva(matrix=matrix), paper)
    dots = [each for axes in figure.axes for each in axes.collections if isinstance(each, PathCollection)]
    filled = {len(each.get_offsets()): each.get_facecolor().size > 0 for each in dots}
    assert filled == {1: True, 3: False}
    assert any("1 of 4 heads above" in axes.get_title() for axes in figure.axes)


def test_the_first_run_is_drawn_and_the_best_head_is_of_all(paper):
    tables = of_kovaleva(2, 2)
    [path] = tables
    table = tables[path]
    rows = (table["init"] == 2) & (table["metric"] == "relation_heads")
    table.loc[rows, "value"] *= 2
    offs = zip(WITHOUT, np.linspace(-0.001, 0.001, len(WITHOUT)), strict=True)
    tables[path] = table.assign(**{name: table["value"] + off for name, off in offs})
    _, drawn, _ = figure3.draw(tables, paper)
    ours = drawn[drawn["source"] == "ours"].set_index("variant")
    heads = ours.loc["max_fe_to_lu"].query("panel == 'heads'")
    assert heads["value"].max() == pytest.approx(0.21)
    best = ours.loc["best_head"]
    assert best["value"] == pytest.approx(0.315)  # of .21 and .42
    assert (heads["interval"] == INPUTS).all()
    assert ours.loc["null"].query("panel == 'heads'")["low"].isna().all()


def test_one_model_at_a_time(paper):
    tables = of_kovaleva(2, 2) | {"results/relation_heads/mnli.tsv": relation_heads("mnli", 2, 2)}
    with pytest.raises(UserError, match="draws the heads of one"):
        figure3.draw(tables, paper)
