"""What a figure needs and says, and what is said where that is not there."""

import re

import pandas as pd
import pytest
from made_papers import real, shipped

from bertshift.errors import UserError
from bertshift.figures import style
from bertshift.papers import catalogue


def test_a_caption_says_where_one_replicate_lies_far_from_the_others():
    """Pairs of runs, a few replicates and a published number are not tested."""
    values = ["1; 2; 3; 4; 5", "1; 2; 1; 2; 90", "1; 2; 1; 2; 90", "1; 2; 90", ""]
    table = pd.DataFrame({"each": values, "unit": ["seed", "seed", "seed pair", "seed", None]})
    assert "far from the others in 1 of 2 means (Grubbs's test" in style.far_off(table)
    assert style.far_off(table.drop(1)) == style.far_off(table[["unit"]]) == ""


def test_a_caption_names_what_has_fewer_replicates(draw):
    """By line, or by panel where that takes fewer names."""
    tables = real("hao2020/figure1", "/m")
    path = "results/js/mrpc_vs_base.tsv"
    tables[path] = tables[path][tables[path]["seed"] == 1]
    figure, table, caption = draw("hao2020/figure1", tables)
    said = "3 seeds (MRPC: 1); interval: 95% t over replicates; none from one"
    assert f"mean of {said}; data" in caption
    assert said in " ".join(figure.texts[-1].get_text().split())
    in_another_panel = table.assign(panel=table["series"].where(table["series"] == "mrpc", "rest"))
    ours = in_another_panel.assign(series=range(len(table)))
    assert "3 seeds (MRPC: 1);" in style.origin(ours)[1]


def test_same_numbers_same_bytes(draw, tmp_path):
    paths = [tmp_path / f"figure2.{kind}" for kind in ("png", "tsv", "txt", "pdf")]

    def contents():
        style.save(draw("merchant2020/figure2", real("merchant2020/figure2", "/mnli")), *paths)
        return [path.read_bytes() for path in paths]

    png, tsv, txt, pdf = contents()
    assert contents() == [png, tsv, txt, pdf]
    assert b"/FontFile2" in pdf and b"CreationDate" not in pdf and not re.search(rb"/Type3\b", pdf)
    assert b"Software" not in png and b"tIME" not in png


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("merchant2020/appendix_b", {"reference": "base"}, r"2020\.appendix_b lacks 'models'"),
        ("hao2020/figure1", {"models": ["mnli"]}, r"1 lacks 'reference'; .*reference: base"),
        ("hao2020/figure6", {"models": ["mnli"]}, r"2020\.figure6 lacks 'pairs'; .*pairs: \[\["),
        ("hao2020/figure9", {}, "no figure 'hao2020/figure9'"),
        ("kovaleva2019/table1", {"models": ["mnli.bertadam"]}, r"table1: 'mnli.* such as 'mnli'"),
        ("college2020/figure1", {"models": ["rte.plateau@cased"]}, r"'rte.* such as 'rte@cased'"),
    ],
)  # fmt: skip
def test_a_figure_whose_configuration_does_not_do_is_told(name, settings, message):
    paper, item = name.split("/")
    with pytest.raises(UserError, match=message):
        catalogue.needs(name, {"figures": {paper: {item: settings}}})


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"hao2020": {"figure1": {"models": ["mnly"]}}}, r"figures\.hao2020\.figure1: .*'mnly'; nearest: mnli"),
        ({"hao2020": {"figure6": {"models": [], "pairs": [["mnli", "rtee"]]}}}, r"hao2020\.figure6: .*'rtee'; nearest: rte"),
        ({"hoa2020": {}}, r"figures: no paper 'hoa2020' is defined; write one of hao2020"),
        ({"hao2020": {"figur1": None}}, r"figures\.hao2020: no figure 'figur1' is defined; write one of figure1\."),
        ({"merchant2020": {"figure9": None}}, r"no figure 'figure9' is defined; write one of table1, figure1, .*, appendix_b\."),
    ],
)  # fmt: skip
def test_names_that_there_are_not_are_told_with_the_nearest(figures, message):
    with pytest.raises(UserError, match=message):
        catalogue.check(shipped() | {"figures": figures})


def test_the_figures_of_the_shipped_configuration_are_all_that_there_are():
    catalogue.check(shipped())
    named = {f"{paper}/{item}" for paper, items in shipped()["figures"].items() for item in items}
    assert named == set(catalogue.FIGURES)


def test_a_table_without_the_rows_says_so(draw):
    name = "kovaleva2019/figure5"
    tables = {path: table.assign(metric="js") for path, table in real(name, "/mnli").items()}
    with pytest.raises(UserError, match=r"cosine/\w+_vs_base.tsv has no rows of metric 'cosine'"):
        draw(name, tables)


def test_a_correlation_that_there_is_not_is_said():
    assert style.agreement(float("nan"), " with theirs") == "no r: all alike"
    assert style.agreement(-0.5, " with theirs") == "r = −0.50 with theirs"


def test_intervals_beyond_the_axis_are_told_with_their_ends():
    figure, [[left, right]] = style.grid(2.0, columns=2)
    for axes in (left, right):
        axes.fill_between([1, 2], [0.1, -3.0], [0.5, 7.25])
    left.set(ylim=(0, 1), ylabel="JS", title="MNLI")
    right.set_ylim(-4, 8)
    assert style.cut_note(figure) == (
        "Intervals are cut at the axis: they reach −3 and 7.25 (MNLI JS)."
    )
    left.set(ylim=(-4, 8))
    assert style.cut_note(figure) == ""
