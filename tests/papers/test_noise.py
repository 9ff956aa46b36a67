"""Models made by noise in the figures of change: what is drawn of them, and that nothing else depends on them."""

import re

import numpy as np
import pandas as pd
import pytest
from made_papers import shipped
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from bertshift.figures import layers, style
from bertshift.papers import by_name, catalogue
from bertshift.rows.nulls import null_of, with_matched

BESIDE = [
    name for name in catalogue.FIGURES if any(".noise" in path for path in catalogue.needs(name, shipped()))
]


def nulls_in(table):
    """The null that each row is of, whichever column names models."""
    names = [table[column].map(null_of) for column in ("series", "panel") if column in table]
    return names[0].where(names[0] != "", names[-1])


def without_noise(tables):
    return {path: table for path, table in tables.items() if ".noise" not in path}


def draw(name, tables, published):
    return by_name.draw(name, tables, published[name.split("/")[0]])


def test_figures_of_change_read_noise_and_no_other_figure_does():
    assert BESIDE == [
        "kovaleva2019/figure5", "kovaleva2019/own_or_inherited", "hao2020/figure1", "hao2020/figure2",
        "hao2020/similarity", "merchant2020/figure2", "beyond/where", "beyond/lora", "beyond/when",
    ]  # fmt: skip
    for name in catalogue.FIGURES:
        paper, item = name.split("/")
        models = shipped()["figures"][paper][item]["models"]
        needed, alone = (
            catalogue.needs(name, shipped() | {"noise": {"of": of, "times": [1, 10]}}) for of in (models, [])
        )
        noise = [path for path in needed if ".noise" in path]
        assert [path for path in needed if path not in noise] == alone
        assert bool(noise) == (name in BESIDE)


@pytest.mark.parametrize(
    ("name", "metric", "panel", "variant"),
    [
        ("hao2020/figure1", "js", 0, "nats"),
        ("hao2020/figure2", "svcca", 0, "svcca99"),
        ("merchant2020/figure2", "rsa", 0, "content"),
        ("beyond/lora", "rsa", 0, "content"),
        ("beyond/lora", "js", 1, "nats"),
    ],
)
def test_the_band_ends_at_draws_and_the_dashed_line_is_matched(made, published, name, metric, panel, variant):
    tables = made(inits=1)[name]
    axes = draw(name, tables, published)[0].axes[panel]

    def by_layer(null):
        [rows] = [
            table
            for path, table in with_matched(tables).items()
            if path.startswith(f"results/{metric}/") and null_of(table["model"].iloc[0]) == null
        ]
        if metric == "rsa":
            rows = rows[rows["stimuli"] == "wiki"]
        return rows[(rows["head"] == 0) & (rows["variant"] == variant)].groupby("layer")["value"]

    bands = [one for one in axes.collections if isinstance(one, PolyCollection)]
    [band] = [one for one in bands if tuple(one.get_facecolor()[0][:3]) == to_rgb(layers.GREY)]
    drawn = pd.DataFrame(band.get_paths()[0].vertices, columns=["layer", "value"]).groupby("layer")["value"]
    draws = by_layer("noise")
    assert draws.size().eq(4).all() and (draws.max() > draws.min()).any()  # two seeds, two draws of each
    np.testing.assert_allclose(drawn.min(), draws.min())
    np.testing.assert_allclose(drawn.max(), draws.max())
    [dashed] = [line for line in axes.get_lines() if line.get_label() == "matched noise"]
    assert dashed.get_linestyle() == "--"
    np.testing.assert_allclose(dashed.get_ydata(), by_layer("matched").mean())


@pytest.mark.parametrize("name", BESIDE)
def test_without_noise_the_table_is_the_same_but_for_its_rows(made, published, name):
    tables = made(layers=6)[name]
    _, beside, told = draw(name, tables, published)
    _, alone, untold = draw(name, without_noise(tables), published)
    nulls = nulls_in(beside)
    assert {*nulls} == ({"", "noise"} if name == "beyond/when" else {"", "noise", "matched"})
    pd.testing.assert_frame_equal(beside[nulls == ""].reset_index(drop=True), alone)
    word = "Δ with noise" if name == "beyond/where" else "random weights added"
    assert word in told.partition("\n\n")[2] and "noise" not in untold


@pytest.mark.parametrize("name", BESIDE)
def test_a_legend_names_noise_once_wherever_its_panel_is(made, published, name):
    figure, _, _ = draw(name, made()[name], published)
    words = [text.get_text() for text in figure.findobj(Text)]
    for null, each in style.NULL_WORDS.items():
        # One writes it in the caption, and the other has noise of one size.
        missing = name == "beyond/where" or (name == "beyond/when" and null == "matched")
        assert words.count(each) == (not missing)


def test_noise_that_changes_more_than_the_model_is_not_cut_off(made, published):
    tables = dict(made()["kovaleva2019/own_or_inherited"])
    path = "results/own_or_inherited/mnli.noise_vs_base.tsv"
    tables[path] = tables[path].assign(value=lambda rows: 0.9 - 0.01 * rows["seed"])
    figure, *_ = draw("kovaleva2019/own_or_inherited", tables, published)
    assert all(axes.get_ylim()[1] > 0.89 for axes in figure.axes)


def test_failed_runs_are_told_of_models_alone(made, published):
    tables = {
        path: table.assign(failed=table["init"] == 1) for path, table in made()["hao2020/figure1"].items()
    }
    caption = draw("hao2020/figure1", tables, published)[2]
    assert "MNLI@large 2 of 4, RTE@large 2 of 4" in caption and not re.search(
        r"(noise|size)\S* \d of", caption
    )


def test_names_of_nulls_for_a_reader():
    assert style.label_of("mnli.noise@large") == "MNLI@large, noise of the same size"
    assert style.label_of("mnli.lora8.matched") == "MNLI.lora8, matched noise"
