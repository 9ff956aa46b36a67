"""Nulls in the figures of change: what is drawn of them, and that nothing else depends on them."""

import pandas as pd
import pytest
from made_papers import real, shipped
from matplotlib.text import Text

from bertshift.naming import NULLS, is_of_null, null_of
from bertshift.papers import catalogue
from bertshift.rows import labelling

BESIDE = [
    "kovaleva2019/figure5", "kovaleva2019/own_or_inherited", "hao2020/figure1", "hao2020/figure2",
    "hao2020/similarity", "merchant2020/figure2", "beyond/where", "beyond/lora", "beyond/when",
]  # fmt: skip
# {figure: its models} where the real run has noise, two models where they share a panel; attention
# of hao2020/figure1 is drawn as the states of figure2 are.
MEASURED = {
    "kovaleva2019/figure5": "/mnli",
    "kovaleva2019/own_or_inherited": "/mnli",
    "hao2020/figure2": "/m",
    "hao2020/similarity": "/mnli",
    "merchant2020/figure2": "/mnli",
    "beyond/lora": "/sst2",
}


@pytest.mark.parametrize("null", NULLS)
def test_figures_of_change_read_nulls_and_no_other_figure_does(null):
    plain = shipped() | {null: {"of": []} for null in NULLS}
    for name in catalogue.FIGURES:
        paper, item = name.split("/")
        models = plain["figures"][paper][item]["models"]
        paths = catalogue.needs(name, plain | {null: {"of": models}})
        without_null = catalogue.needs(name, plain)
        assert [path for path in paths if f".{null}" not in path] == without_null
        assert (paths != without_null) == (name in BESIDE)


def with_shuffled(tables):
    """The tables with those of a run on shuffled labels, which are those of noise."""
    shuffled = {
        path.replace(".noise", ".shuffled"): table.assign(
            model=table["model"].str.replace(".noise", ".shuffled")
        )
        for path, table in tables.items()
        if ".noise" in path
    }
    return tables | shuffled


@pytest.mark.parametrize(("name", "model"), MEASURED.items())
def test_without_nulls_the_table_is_the_same_but_for_their_rows(draw, name, model):
    tables = with_shuffled(real(name, model))
    figure, table, caption = draw(name, tables)
    tables = {path: table for path, table in tables.items() if not is_of_null(path)}
    _, expected, plain_caption = draw(name, tables)
    names = [table[column].map(null_of) for column in ("series", "panel") if column in table]
    nulls = names[0].where(names[0] != "", names[-1])
    assert {*nulls} == {"", "noise", "shuffled"}
    texts = [text.get_text() for text in figure.findobj(Text)]
    for null in labelling.NULL_WORDS.values():  # in one legend, above one panel or above all
        assert texts.count(null) == 1
    pd.testing.assert_frame_equal(table[nulls == ""].reset_index(drop=True), expected)
    assert "random weights added" in caption and "labels dealt anew" in caption
    assert "random weights added" not in plain_caption and "dealt anew" not in plain_caption


def test_noise_that_changes_more_than_the_model_is_not_cut_off(draw):
    tables = real("kovaleva2019/own_or_inherited", "/mnli")
    tables["results/own_or_inherited/mnli.noise_vs_base.tsv"]["value"] = 0.69
    figure, *_ = draw("kovaleva2019/own_or_inherited", tables)
    assert all(axes.get_ylim()[1] > 0.68 for axes in figure.axes)


@pytest.mark.parametrize(
    ("name", "models", "lacking", "said"),
    [
        ("hao2020/similarity", "/m", "mrpc.noise", "MNLI"),
        ("beyond/lora", "/s", "none", "JS (nats) of SST-2"),
        ("hao2020/similarity", "/m", "none", ""),
    ],
)
def test_what_noise_was_measured_for_is_said_where_others_lack_it(
    draw, name, models, lacking, said
):
    tables = {
        path: table
        for path, table in real(name, models).items()
        if lacking not in path and ".shuffled" not in path
    }
    caption = draw(name, tables)[2]
    sentence = f"Measured for {said} alone: noise of the same size."
    assert (sentence in caption) if said else ("Measured for" not in caption)


def test_failed_runs_are_told_of_models_alone(draw):
    tables = real("hao2020/figure1", "/mnli")
    for table in tables.values():
        table["failed"] = table["seed"] == 1
    trained = {path: table for path, table in tables.items() if "shuffled" not in path}
    caption = draw("hao2020/figure1", trained)[2]
    assert "MNLI 1 of 3" in caption and "noise of the same size 1 of" not in caption
    assert "Learnt" not in caption
    caption = draw("hao2020/figure1", tables)[2]
    assert "Learnt although labels were dealt anew" in caption
    assert "MNLI, shuffled labels 1 of 3" in caption


def test_maps_of_layers_have_the_contrast_of_noise_in_the_caption(draw):
    """As if the noise were the own change of SST-2, whose name keeps its hyphen."""
    [(path, table)] = real("beyond/where", "/sst2_vs").items()
    noise = table.assign(model=table["model"].replace("sst2", "sst2.noise"))
    caption = draw("beyond/where", {path: table, path.replace("sst2", "sst2.noise"): noise})[2]
    assert "Δ of nulls in the place of fine-tuning: SST-2, noise" in caption
    assert "nulls in the place" not in draw("beyond/where", {path: table})[2]
