import made_lora
import numpy as np
import pytest
from made_tables import only_row
from texts import clashes

from bertshift.papers import by_name, catalogue

NAME = "beyond/lora"


def drawn(published, tables):
    return by_name.draw(NAME, tables, published["beyond"])


@pytest.fixture(scope="module")
def made():
    return made_lora.of_beyond(layers=12, heads=12)


def test_what_is_drawn_is_the_mean_of_the_tables(made, published):
    figure, table, _ = drawn(published, made)
    spectra = made["results/spectra/mnli.lora8_vs_base.tsv"]
    norm = spectra[(spectra["variant"] == "norm") & (spectra["layer"] == 3)]
    where = {"panel": "norm", "series": "mnli.lora8", "layer": 3}
    assert only_row(table, **where)["value"] == pytest.approx(norm["value"].mean())
    third = spectra[
        (spectra["variant"] == "singular") & (spectra["matrix"] == "key") & (spectra["rank"] == 3)
    ]
    where = {"panel": "singular", "series": "mnli.lora8", "matrix": "key", "rank": 3}
    assert only_row(table, **where)["value"] == pytest.approx(third["value"].mean())
    score = only_row(table, panel="score", series="mnli")
    assert f"points: {score['value']:.1f} (full), " in figure.axes[0].texts[0].get_text()
    assert len(figure.axes) == 8


def test_singular_values_behind_the_rank_are_not_drawn(made, published):
    figure, *_ = drawn(published, made)
    lengths = {tuple(len(line.get_xdata()) for line in axes.get_lines()) for axes in figure.axes[4:8]}
    assert lengths == {(64, 8)}


def test_edge_probes_are_a_third_row_where_they_are_asked_for(made, published):
    wanted = {"models": ["mnli", "mnli.lora8"], "probed": ["mnli", "mnli.lora8"]}
    paths = catalogue.needs(NAME, {"figures": {"beyond": {"lora": wanted}}})
    assert paths[-2:] == [f"results/edge_probes/{model}_vs_base.tsv" for model in made_lora.MODELS]
    figure, table, _ = drawn(published, made | made_lora.deltas())
    assert len(figure.axes) == 9 and not clashes(figure)
    edges = table[table["panel"] == "edges"]
    assert set(edges["series"]) == {"mnli", "mnli.lora8"} and len(edges) == 16
    means = [line for line in figure.axes[8].get_lines() if len(line.get_ydata()) == 8]  # tasks
    inked = np.concatenate([line.get_ydata() for line in means])
    assert np.allclose(sorted(inked), sorted(edges["value"]))


def test_tasks_and_checkpoints_have_rows_of_their_own(made, published):
    more = {
        path.replace("mnli", "rte").replace("base", "large").replace("lora8", "lora8@large"): table.assign(
            model=table["model"].str.replace("mnli", "rte") + "@large"
        )
        for path, table in made.items()
    }
    figure, *_ = drawn(published, made | more)
    assert len(figure.axes) == 16 and not clashes(figure)
    assert figure.axes[8].texts[0].get_text().startswith("RTE@large, accuracy in points: ")
