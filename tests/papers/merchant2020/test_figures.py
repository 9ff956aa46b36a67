import numpy as np
import pytest
from made_merchant import told
from made_papers import real
from pictures import shown

from bertshift.errors import UserError


@pytest.mark.parametrize("item", ["table1", "appendix_b"])
def test_probes_of_runs_that_failed_are_left_out_and_counted(draw, item):
    def draw_without(*inits):
        tables = told(item, inits=3)
        for table in tables.values():
            table["failed"] = (table["model"] == "mnli") & table["init"].isin(inits)
            table.loc[table["failed"], "value"] = 0.1
            if "p" in table:
                table.loc[table["failed"], "p"] = 1.0
        _, table, caption = draw(f"merchant2020/{item}", tables)
        return table[table["source"] == "ours"].reset_index(drop=True), caption

    expected, _ = draw_without()
    table, caption = draw_without(2)
    columns = [key for key in ("value", "sd_pretraining") if key in table]
    np.testing.assert_allclose(table[columns], expected[columns], atol=1e-9)
    mnli = table[table["series"] == "mnli"]
    assert (mnli["trained"] == 2).all() and (mnli["failed"] == 1).all()
    assert "MNLI 1 of 3;" in caption


def test_one_run_has_the_spread_of_its_probes(draw):
    figure, *_ = draw("merchant2020/table1", told("table1", inits=1))
    assert any(text.get_text().startswith("sd ") for text in shown(figure))


@pytest.mark.parametrize(
    ("item", "rows", "message"),
    [
        ("figure3", "position > -1", "lacks its unfrozen end"),
        ("appendix_a", "variant != 'top'", "no edge probes of kind 'top' on the pretrained model"),
    ],
)
def test_what_is_needed_and_missing_is_told(draw, item, rows, message):
    tables = {path: table.query(rows) for path, table in told(item).items()}
    with pytest.raises(UserError, match=message):
        draw(f"merchant2020/{item}", tables)


def test_a_gain_that_may_be_none_has_no_shares(draw):
    """Dep gains or loses, run by run; MNLI has one run, and SQuAD gains in all."""
    tables = told("figure4", inits=3)
    for path, table in tables.items():
        if "dep" in path:
            gain = table["init"].map({1: 0.2, 2: -0.1, 3: 0.05})
            is_complete = table["position"] == table["layers"]
            table["value"] = 0.4 + gain.where(is_complete, 0.0)
    [path] = [path for path in tables if "mnli" in path]
    tables[path] = tables[path][tables[path]["init"] == 1]
    figure, table, caption = draw("merchant2020/figure4", tables)
    for panel in ("percent of gain", "layers_to_95pct"):
        assert {*table.loc[table["panel"] == panel, "series"]} == {"squad"}
    gains = table[table["panel"] == "gain"].set_index("series")
    assert gains.loc["dep", "low"] < 0 < gains.loc["dep", "value"]
    assert "has 0 or is not known: MNLI +38.0 from one run, Dep +5.0 [" in caption
    assert "95 % of the gain, mean over replicates: SQuAD" in caption
    assert "MNLI (accuracy, 1 seed)" in [text.get_text() for text in shown(figure)]


def test_a_published_value_stands_at_its_share_of_the_depth(draw):
    """Layer 11 of 12 falls between the last two of six."""
    tables = real("merchant2020/figure2")
    figure, table, caption = draw("merchant2020/figure2", tables)
    [star] = [line for line in figure.axes[0].get_lines() if line.get_marker() == "*"]
    assert star.get_xdata() == [5.5] and "Star: " in caption
    assert table.loc[table["source"] == "published", "layer"].tolist() == [11]
    others = {path: table for path, table in tables.items() if "mnli" not in path}
    assert "Star: " not in draw("merchant2020/figure2", others)[2]
