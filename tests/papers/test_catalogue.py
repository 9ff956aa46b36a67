import re

import numpy as np
import pandas as pd
import pytest
from made_papers import ByFigure, shipped, tables_of, unmade
from pictures import assert_every_number_is_in_the_table, assert_legible

from bertshift import files
from bertshift.errors import UserError
from bertshift.figures import style
from bertshift.papers import by_name, catalogue

PROBED = {"models": ["mnli", "dep"], "reference": "base"}
CONFIG = {
    "figures": {
        "kovaleva2019": {"figure5": {"models": ["mrpc", "mnli"], "reference": "base"}},
        "hao2020": {item: {"models": ["mnli@large"]} for item in ("figure1", "figure6")},
        "merchant2020": {
            "table1": PROBED,
            "figure1": PROBED,
            "figure3": {"models": ["mnli"]},
            "appendix_b": {"reference": "base"},
        },
    }
}


@pytest.fixture(scope="module")
def drawn(made, published):
    """{figure: (figure, table, caption)} of small models; tests/test_paper_shapes.py draws those of the papers."""
    inputs = made().items()
    return ByFigure(
        (name, by_name.draw(name, tables, published[name.split("/")[0]])) for name, tables in inputs
    )


def test_tables_are_made_up_for_every_figure():
    missing = {
        (scale, name): paths
        for scale in ("demo", "paper")
        for name in catalogue.FIGURES
        if (paths := unmade(name, tables_of(name.split("/")[0]), shipped(scale)))
    }
    assert not missing, f"let the paper's function in tests/made_papers.py make these tables: {missing}"


def test_a_caption_says_where_one_replicate_lies_far_from_the_others():
    """Pairs of runs, a few replicates and a published number are not tested."""
    each = ["1; 2; 3; 4; 5", "1; 2; 1; 2; 90", "1; 2; 1; 2; 90", "1; 2; 90", ""]
    table = pd.DataFrame({"each": each, "unit": ["seed", "seed", "seed pair", "seed", None]})
    assert "far from the others in 1 of 2 means (Grubbs's test" in style.far_off(table)
    assert style.far_off(table.drop(1)) == style.far_off(table[["unit"]]) == ""


def test_a_figure_without_made_tables_stops_no_test_of_another(made, monkeypatch):
    needs = catalogue.needs
    new = {"merchant2020/figure2": ["results/new/mnli.tsv"]}
    monkeypatch.setattr(catalogue, "needs", lambda name, config: new.get(name) or needs(name, config))
    found = made()
    assert {*catalogue.FIGURES} - {*found} == {*new}
    with pytest.raises(
        pytest.skip.Exception, match="made_papers.py makes no tables for merchant2020/figure2"
    ):
        found["merchant2020/figure2"]


@pytest.mark.parametrize("name", catalogue.FIGURES)
def test_every_number_drawn_is_in_the_table(drawn, name):
    figure, table, _ = drawn[name]
    assert_every_number_is_in_the_table(figure, table)


@pytest.mark.parametrize("name", catalogue.FIGURES)
def test_a_column_holds_numbers_or_words(drawn, name):
    """Numbers would be written with all their digits in a column that also holds words."""
    table = drawn[name][1]
    assert not [
        column for column in table if table[column].map(lambda one: isinstance(one, str)).nunique() > 1
    ]


def test_replicates_have_no_place_in_a_legend(drawn):
    figure, table, _ = drawn["kovaleva2019/steps"]
    assert (table["each"] != "").any() and not figure.legends  # of one line a panel


@pytest.mark.parametrize("name", catalogue.FIGURES)
def test_every_row_names_the_tables_or_the_place_in_the_paper_that_it_is_from(drawn, name):
    table = drawn[name][1]
    ours, theirs = (table[table["source"] == source] for source in ("ours", "published"))
    assert len(ours) + len(theirs) == len(table)
    named, read = set("; ".join(ours["table"]).split("; ")), set(catalogue.needs(name, shipped()))
    assert named == read or (named < read and set(ours["unit"]) == {"map"})  # of which a few are drawn
    assert (theirs["table"] == "").all() and (theirs["citation"] != "").all()


@pytest.mark.parametrize("name", catalogue.FIGURES)
def test_a_line_in_the_figure_and_its_caption_tell_a_demo_from_a_reproduction(drawn, name):
    figure, _, caption = drawn[name]
    line = " ".join(figure.texts[-1].get_text().split())
    runs = r"\d[a-z0-9 ]+ \((no interval is drawn|no interval from two; .+|interval: .+)\)"
    assert re.fullmatch(rf"Ours: scale demo; 4x128 BERT pretrained here on world; {runs}\.", line)
    assert len(line) < 150
    shows, _, made_from = caption.partition("\n\n")
    assert shows == catalogue.FIGURES[name].shows and shows[-1] == "."
    assert made_from.startswith("Ours: scale demo; checkpoint 4x128 BERT") and "sample of 9815" in made_from
    assert not re.search(r"\bNone\b|  |\n.", made_from)


@pytest.mark.parametrize("name", catalogue.FIGURES)
def test_text_is_legible_and_inside_the_page(drawn, name):
    assert_legible(drawn[name][0])


def test_published_panels_keep_their_shape_beside_a_small_model(drawn):
    table = drawn["kovaleva2019/figure5"][1]
    cells = table[(table["panel"] == "qqp") & (table["head"] > 0)].groupby("source").size()
    assert cells["published"] == 144 and cells["ours"] in (2 * 16, 2 * 144)  # cropped and padded
    low = table[(table["panel"] == "qqp") & (table["source"] == "published") & (table["head"] > 0)]
    assert low.loc[low["value"].idxmin(), ["layer", "head"]].tolist() == [11, 11]


@pytest.mark.parametrize(("layers", "heads"), [(12, 12), (4, 4)])
def test_padded_maps_are_compared_with_the_published_panel_where_shapes_agree(made, published, layers, heads):
    panel = published["kovaleva2019"]["figure5"]["tasks"]["mrpc"]["matrix"]
    tables = {
        path: table for path, table in made(layers, heads)["kovaleva2019/figure5"].items() if "mrpc" in path
    }
    padded = tables["results/cosine_padded/mrpc_vs_base.tsv"]
    theirs = np.resize(panel, (layers, heads))
    cells = padded["head"] > 0
    padded.loc[cells, "value"] = 0.5 + theirs[padded["layer"][cells] - 1, padded["head"][cells] - 1] / 2
    figure, table, _ = by_name.draw("kovaleva2019/figure5", tables, published["kovaleva2019"])
    r = table[table["variant"].isin(["crop_r", "padded_r"])].set_index("variant")["value"]
    titles = [axes.get_title() for axes in figure.axes]
    if layers == 12:
        assert r["padded_r"] == pytest.approx(1) and -1 < r["crop_r"] < 1 and "r = 1.00" in titles
    else:
        assert r.empty and "not comparable" in titles


def test_a_task_without_a_published_panel_is_drawn(made, published):
    tables = made()["kovaleva2019/figure5"]
    path, table = next(iter(tables.items()))
    figure, drawn, _ = by_name.draw(
        "kovaleva2019/figure5", {path: table.assign(model="cola")}, published["kovaleva2019"]
    )
    assert set(drawn["source"]) == {"ours"} and figure.axes


def test_same_numbers_same_bytes(made, published, tmp_path):
    name = "merchant2020/figure2"
    bytes_of = []
    for run in ("a", "b"):
        drawn = by_name.draw(name, made()[name], published["merchant2020"])
        paths = [tmp_path / f"{run}.{kind}" for kind in ("png", "tsv", "txt", "pdf")]
        style.save(drawn, *paths)
        bytes_of.append([path.read_bytes() for path in paths])
    assert bytes_of[0] == bytes_of[1]
    png, *_, pdf = bytes_of[0]
    assert b"/FontFile2" in pdf and b"CreationDate" not in pdf and not re.search(rb"/Type3\b", pdf)
    assert b"Software" not in png and b"tIME" not in png
    figure, *_ = by_name.draw(name, made()[name], published["merchant2020"])
    style.styled(figure.savefig)(tmp_path / "plain.png", metadata={"Software": None})
    assert (tmp_path / "plain.png").read_bytes() == png  # as matplotlib lays it out
    assert files.read_tsv(tmp_path / "a.tsv")["value"].to_numpy() == pytest.approx(
        drawn[1]["value"].to_numpy(), rel=1e-9
    )


def test_needs_follow_the_configuration():
    assert catalogue.needs("kovaleva2019/figure5", CONFIG) == [
        "results/cosine/mrpc_vs_base.tsv",
        "results/cosine/mnli_vs_base.tsv",
        "results/cosine_padded/mrpc_vs_base.tsv",
        "results/cosine_padded/mnli_vs_base.tsv",
    ]
    probed = [f"results/edge_probes/{name}.tsv" for name in ("base", "base.random", "mnli", "dep")]
    deltas = [f"results/edge_probes/{name}_vs_base.tsv" for name in ("mnli", "dep")]
    assert catalogue.needs("merchant2020/table1", CONFIG) == probed + deltas
    assert catalogue.needs("merchant2020/figure1", CONFIG) == [
        f"results/structural_probes/{name}.tsv" for name in ("base", "mnli", "dep")
    ]
    assert catalogue.needs("merchant2020/figure3", CONFIG) == ["results/sweeps/mnli.freeze.tsv"]
    with pytest.raises(UserError, match=r"merchant2020\.appendix_b lacks 'models'"):
        catalogue.needs("merchant2020/appendix_b", CONFIG)
    with pytest.raises(UserError, match=r"hao2020\.figure1 lacks 'reference'; .*reference: base"):
        catalogue.needs("hao2020/figure1", CONFIG)
    with pytest.raises(UserError, match=r"hao2020\.figure6 lacks 'pairs'; .*pairs: \[\["):
        catalogue.needs("hao2020/figure6", CONFIG)
    with pytest.raises(UserError, match="no figure 'hao2020/figure9'"):
        catalogue.needs("hao2020/figure9", CONFIG)


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
    with pytest.raises(UserError, match="cannot be used as it is:\n  .*" + message):
        catalogue.check(shipped() | {"figures": figures})


def test_the_figures_of_the_shipped_configuration_are_all_that_there_are():
    catalogue.check(shipped())
    named = {f"{paper}/{item}" for paper, items in shipped()["figures"].items() for item in items}
    assert named == set(catalogue.FIGURES)


@pytest.mark.parametrize(
    ("paper", "item", "model", "plain"),
    [
        ("kovaleva2019", "table1", "mnli.bertadam", "mnli"),
        ("college2020", "figure1", "rte.plateau@cased", "rte@cased"),
        ("college2020", "figure2", "rte.plateau@cased", "rte@cased"),
    ],
)
def test_names_are_not_derived_from_a_model_with_a_variant(paper, item, model, plain):
    config = {"figures": {paper: {item: {"models": ["cola@cased", model]}}}}
    with pytest.raises(UserError, match=rf"figures\.{paper}\.{item}: '{model}' .* such as '{plain}'"):
        catalogue.needs(f"{paper}/{item}", config)


def test_a_table_without_the_rows_says_so(made, published):
    tables = {path: table.assign(metric="js") for path, table in made()["kovaleva2019/figure5"].items()}
    with pytest.raises(UserError, match="results/cosine/mrpc_vs_base.tsv has no rows of metric 'cosine'"):
        by_name.draw("kovaleva2019/figure5", tables, published["kovaleva2019"])
