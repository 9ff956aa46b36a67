import numpy as np
import pytest
from made_merchant import told
from made_tables import only_row

from bertshift.errors import UserError
from bertshift.papers import by_name
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.estimates import BOTH


@pytest.fixture
def draw(published):
    def drawn(item, tables=None):
        return by_name.draw(f"merchant2020/{item}", tables or told(item), published["merchant2020"])

    return drawn


@pytest.mark.parametrize("item", ["table1", "appendix_b"])
def test_probes_of_runs_that_failed_are_left_out_and_counted(draw, item):
    whole = told(item, inits=3)

    def drawn(*inits):
        inputs = {}
        for path, rows in whole.items():
            failed = (rows["model"] == "mnli") & rows["init"].isin(inits)
            p = {"p": rows["p"].where(~failed, 1.0)} if "p" in rows else {}
            inputs[path] = rows.assign(failed=failed, value=rows["value"].where(~failed, 0.1), **p)
        _, table, caption = draw(item, inputs)
        return table[table["source"] == "ours"].reset_index(drop=True), caption

    complete, caption = drawn()
    assert "Failed" not in caption
    table, caption = drawn(2)
    same = [key for key in ("value", "sd_pretraining") if key in table]
    np.testing.assert_allclose(table[same], complete[same], atol=1e-9)
    of_mnli = table[table["series"] == "mnli"]
    assert (of_mnli["trained"] == 2).all() and (of_mnli["failed"] == 1).all() and "MNLI 1 of 3;" in caption
    table, caption = drawn(1, 2, 3)
    assert (table.loc[table["series"] == "mnli", "trained"] == 0).all() and "MNLI 3 of 3;" in caption


def test_freezing_is_shown_relative_to_each_replicates_own_score(draw):
    """Without each block all scores of a model are the same share of what they are with it: their ratio is sure."""
    shares = dict(
        zip(JACKKNIFE_COLUMNS, 1 + 0.02 * np.random.default_rng(0).normal(size=len(JACKKNIFE_COLUMNS)))
    )
    tables = {
        path: table.assign(value=table["value"] * (1 - 0.1 * (table["init"] - 1)))
        for path, table in told("figure3").items()
    }
    tables = {
        p: one.assign(**{name: one["value"] * share for name, share in shares.items()})
        for p, one in tables.items()
    }
    _, table, _ = draw("figure3", tables)
    whole = table[(table["panel"] == "percent of unfrozen") & (table["position"] == -1)]
    assert whole["value"].tolist() == [100, 100, 100]
    half = only_row(table, panel="percent of unfrozen", series="dep", position=11)
    assert half["value"] == pytest.approx(100 * 0.5 / 0.91)
    where = {"series": "dep", "position": 5, "source": "ours"}
    score, percent = (only_row(table, panel=panel, **where) for panel in ("score", "percent of unfrozen"))
    assert score["interval"] == BOTH and score["high"] - score["low"] > 5
    assert percent["high"] - percent["low"] < 1e-6


def test_layers_to_95_percent_are_counted_by_replicate(draw):
    _, table, _ = draw("figure4")
    reached = table[table["panel"] == "layers_to_95pct"].set_index("series")["value"]
    # What is missing of the gain is (1 - k/12) to the power 6, 5 and 2: at most a twentieth from these k on.
    assert reached.to_dict() == {"mnli": 5, "squad": 6, "dep": 10}
    flat = {path: rows.assign(value=0.5) for path, rows in told("figure4").items()}
    _, table, caption = draw("figure4", flat)
    assert "layers_to_95pct" not in set(table["panel"]) and "no task gains" in caption


@pytest.mark.parametrize(
    ("item", "kept", "said"),
    [
        ("figure3", lambda rows: rows["position"] > -1, "lacks its unfrozen end"),
        (
            "appendix_a",
            lambda rows: rows["variant"] != "top",
            "no edge probes of kind 'top' on the pretrained model",
        ),
    ],
)
def test_what_is_needed_and_missing_is_told(draw, item, kept, said):
    with pytest.raises(UserError, match=said):
        draw(item, {path: rows[kept(rows)] for path, rows in told(item).items()})
