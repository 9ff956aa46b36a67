import numpy as np
import pandas as pd
import pytest
from made_papers import real, stretched

from bertshift.errors import UserError
from bertshift.figures import numbers
from bertshift.papers import by_name
from bertshift.papers.kovaleva2019 import claims, panels
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED


def draw(item, published, inputs):
    return by_name.draw(f"kovaleva2019/{item}", inputs, published["kovaleva2019"])


def decide(item, published, bend, task="/mrpc"):
    tables = stretched(f"kovaleva2019/{item}", task, inits=5)
    tables = {path: bend(table[table["seed"] <= 1]) for path, table in tables.items()}
    return by_name.decide(f"kovaleva2019/{item}", tables, published["kovaleva2019"]).set_index(
        "claim"
    )


def test_correlation_only_between_the_same_heads():
    cells = np.random.default_rng(0).normal(size=(2, 12, 12))
    ours, theirs = (pd.DataFrame(numbers.cells(matrix)) for matrix in cells)
    fewer = ours[ours["layer"] != 3]  # as a kind of token that no input of ours has
    r = np.corrcoef(fewer["value"], theirs["value"][fewer.index])[0, 1]
    assert panels.agreement(fewer, theirs) == f"r = {r:.2f}".replace("-", "−")
    assert panels.agreement(ours[ours["layer"] <= 6], theirs) == panels.NOT_COMPARABLE


def test_a_model_against_itself_has_no_before(published):
    tables = {
        path: table.assign(model="base")
        for path, table in real("kovaleva2019/figure6", "/mrpc").items()
    }
    with pytest.raises(UserError, match="compares a model with itself"):
        draw("figure6", published, tables)


def test_verdicts_follow_the_layers_of_special_tokens(published):
    """The claim holds if early layers attend to [CLS] and late ones to [SEP], else it fails."""

    def bend(first, last):
        def change(table):
            depth = table["layer"] / 12
            level = table["token"].map({first: 1, last: 0}).fillna(0.5)
            return table.assign(value=(level - depth).abs() / 2)

        return change

    for tokens, verdict in ((("cls", "sep"), HOLDS), (("sep", "cls"), FAILS)):
        rows = decide("figure6", published, bend(*tokens)).filter(regex=r"K6.1 .*mrpc", axis=0)
        assert len(rows) and (rows["verdict"] == verdict).all(), rows[
            ["ours", "reason"]
        ].to_string()
    flat = decide(
        "figure7", published, lambda t: t.assign(value=t["value"].mask(t["token"] == "sep", 0.9))
    )
    assert flat.loc["K7.1 (mrpc)", "verdict"] != UNTESTED
    printed = (
        flat.filter(like="K7.1", axis=0)["published_value"]
        .str.extract(r"([-\d.]+)")[0]
        .astype(float)
    )
    assert set(printed.index[printed <= 0]) == {f"K7.1 ({task})" for task in claims.EXCEPTIONS}


def test_gains_are_over_the_replicates_own_parent_and_open_without_tokens(published):
    """Each pretraining run has its own level, which a mean of all runs would take for a gain of
    one of them."""

    def bend(table):
        here = (table["model"] == table["stimuli"]) & (table["head"] == 1) & (table["layer"] == 2)
        return table.assign(value=0.1 * table["init"] + 0.02 * here)[table["token"] != "neg"]

    gains = decide("linguistic", published, bend).filter(like="K6.4 (mrpc", axis=0)
    tested = gains[~gains.index.str.contains("neg")]
    assert tested[["ours", "high"]].to_numpy(float) == pytest.approx(0.02)
    assert (tested["replicates"] == 5).all()
    assert (gains.drop(tested.index)["verdict"] == UNTESTED).all()
