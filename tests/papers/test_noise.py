"""Models made by noise in the figures of change: what is drawn of them, and that nothing else
depends on them."""

import pandas as pd
import pytest
from made_papers import needs, real, shipped
from matplotlib.text import Text

from bertshift.papers import by_name, catalogue
from bertshift.rows import labelling
from bertshift.rows.nulls import null_of

BESIDE = [
    "kovaleva2019/figure5", "kovaleva2019/own_or_inherited", "hao2020/figure1", "hao2020/figure2",
    "hao2020/similarity", "merchant2020/figure2", "beyond/where", "beyond/lora", "beyond/when",
]  # fmt: skip
MEASURED = [name for name in BESIDE[:-1] if any(".noise" in path for path in needs(name))]


def draw(name, tables, published):
    return by_name.draw(name, tables, published[name.split("/")[0]])


def test_figures_of_change_read_noise_and_no_other_figure_does():
    for name in catalogue.FIGURES:
        paper, item = name.split("/")
        models = shipped()["figures"][paper][item]["models"]
        needed, alone = (
            catalogue.needs(name, shipped() | {"noise": {"of": of, "times": [1, 10]}})
            for of in (models, [])
        )
        noise = [path for path in needed if ".noise" in path]
        assert [path for path in needed if path not in noise] == alone
        assert bool(noise) == (name in BESIDE)


@pytest.mark.parametrize("name", MEASURED)
def test_without_noise_the_table_is_the_same_but_for_its_rows(published, name):
    tables = real(name)
    figure, beside, told = draw(name, tables, published)
    _, alone, untold = draw(
        name, {p: one for p, one in tables.items() if ".noise" not in p}, published
    )
    names = [beside[column].map(null_of) for column in ("series", "panel") if column in beside]
    nulls = names[0].where(names[0] != "", names[-1])
    assert {*nulls} == {"", "noise", "matched"}
    words = [text.get_text() for text in figure.findobj(Text)]
    for (
        null
    ) in labelling.NULL_WORDS.values():  # in the legend, which is above one panel or above all
        assert words.count(null) == (name != "beyond/where")
    pd.testing.assert_frame_equal(beside[nulls == ""].reset_index(drop=True), alone)
    assert told.count("noise") + told.count("random weights added") > 0 and "noise" not in untold


def test_noise_that_changes_more_than_the_model_is_not_cut_off(published):
    tables = real("kovaleva2019/own_or_inherited", "/mnli")
    tables["results/own_or_inherited/mnli.noise_vs_base.tsv"]["value"] = 0.69
    figure, *_ = draw("kovaleva2019/own_or_inherited", tables, published)
    assert all(axes.get_ylim()[1] > 0.68 for axes in figure.axes)


def test_failed_runs_are_told_of_models_alone(published):
    tables = {
        path: one.assign(failed=one["seed"] == 1) for path, one in real("hao2020/figure1").items()
    }
    caption = draw("hao2020/figure1", tables, published)[2]
    assert "MNLI 1 of 3, RTE 1 of 3" in caption and "noise of the same size 1 of" not in caption
