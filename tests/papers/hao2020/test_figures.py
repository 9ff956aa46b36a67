import numpy as np
import pytest
from made_papers import real

from bertshift.figures.intervals import INTERVAL


@pytest.fixture
def drawn(draw):
    """drawn(figure, failed seeds of MRPC, change) -> (figure, its rows, caption, MRPC's table)."""

    def draw_changed(item, failed=(), change=lambda table: table):
        tables = real(f"hao2020/{item}", "/m")
        for path, table in tables.items():
            is_failed = (table["model"] == "mrpc") & table["seed"].isin(failed)
            tables[path] = change(table.assign(failed=is_failed))
            if path.endswith(("/mrpc.tsv", "/mrpc_vs_base.tsv")):
                mrpc = tables[path]
        return *draw(f"hao2020/{item}", tables), mrpc

    return draw_changed


def legend_texts(figure):
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return {text.get_text() for legend in legends if legend for text in legend.get_texts()}


@pytest.mark.parametrize("item", ["figure1", "figure2", "figure3"])
def test_runs_that_failed_to_train_are_left_out_and_counted(drawn, item):
    figure, table, caption, mrpc = drawn(item, [2])
    variant = "nats" if item == "figure1" else "svcca99"
    trained = mrpc.query("seed != 2 and head == 0 and layer > 0 and variant == @variant")
    means = trained.groupby("layer").mean(numeric_only=True)
    rows = table[(table["series"] == "mrpc") & (table["variant"] == variant)]
    rows = rows.set_index("layer").loc[means.index]
    assert rows["value"].to_numpy() == pytest.approx(means["value"].to_numpy())
    assert (rows["trained"] == 2).all() and (rows["failed"] == 1).all()
    assert (table.loc[~table["series"].str.startswith("mrpc"), "failed"] == 0).all()
    assert "MRPC 1 of 3; left out" in caption and "MRPC" in legend_texts(figure)
    if item == "figure2":  # so are the directions
        directions = pytest.approx(means["k_model"].to_numpy(), rel=0.01)
        assert rows["k_model"].to_numpy() == directions


def test_where_every_run_failed_all_are_drawn_and_marked(drawn):
    figure, table, *_ = drawn("figure1", [1, 2, 3])
    rows = table[table["series"] == "mrpc"]
    assert len(rows) == 6 and (rows[["replicates", "failed"]] == 3).all(axis=None)
    assert {"MRPC (failed)", "MNLI"} <= legend_texts(figure)


def test_unmatched_numbers_of_tokens_are_told(drawn):
    def change(table):
        return table.assign(n=table["n"].mask(table["model"] == "mnli", 3000))

    caption = drawn("figure2", change=change)[2]
    assert "3000 to 4000 tokens: distances on other numbers" in caption


def test_more_lines_than_bands_can_be_told_apart_have_intervals_of_the_last_layer(draw):
    figure, table, caption = draw("hao2020/figure6", real("hao2020/figure6"))
    [axes] = figure.axes
    lines = [each for each in axes.collections if each.get_gid() == INTERVAL]
    bars = [path.vertices for each in lines for path in each.get_paths()]
    last = table[table["layer"] == table["layer"].max()]
    assert len(bars) == len(last) == 7 and "Bars: " in caption
    assert np.sort([bar[:, 1] for bar in bars], axis=None).tolist() == pytest.approx(
        sorted([*last["low"], *last["high"]])
    )
