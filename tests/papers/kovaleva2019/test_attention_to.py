import numpy as np
import pandas as pd
import pytest
from made_papers import real, stretched

from bertshift.errors import UserError
from bertshift.figures import numbers
from bertshift.papers.kovaleva2019 import panels
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED


@pytest.fixture
def changed(decide):
    """changed(figure, change) -> its claims on tables of MRPC that were changed."""

    def decide_changed(item, change):
        tables = stretched(f"kovaleva2019/{item}", "/mrpc", inits=5)
        tables = {path: change(table[table["seed"] <= 1]) for path, table in tables.items()}
        return decide(f"kovaleva2019/{item}", tables)

    return decide_changed


def test_correlation_only_between_the_same_heads():
    cells = np.random.default_rng(0).normal(size=(2, 12, 12))
    ours, theirs = (pd.DataFrame(numbers.cells(matrix)) for matrix in cells)
    fewer = ours[ours["layer"] != 3]  # as a kind of token that no input of ours has
    r = np.corrcoef(fewer["value"], theirs["value"][fewer.index])[0, 1]
    assert panels.agreement(fewer, theirs) == f"r = {r:.2f}".replace("-", "−")
    assert panels.agreement(ours[ours["layer"] <= 6], theirs) == panels.NOT_COMPARABLE


def test_a_model_against_itself_has_no_before(draw):
    tables = real("kovaleva2019/figure6", "/mrpc")
    for table in tables.values():
        table["model"] = "base"
    with pytest.raises(UserError, match="compares a model with itself"):
        draw("kovaleva2019/figure6", tables)


@pytest.mark.parametrize(
    ("first", "last", "verdict"), [("cls", "sep", HOLDS), ("sep", "cls", FAILS)]
)
def test_verdicts_follow_the_layers_of_special_tokens(changed, first, last, verdict):
    """The claim holds if early layers attend to [CLS] and late ones to [SEP], else it fails."""

    def change(table):
        level = table["token"].map({first: 1, last: 0}).fillna(0.5)
        return table.assign(value=(level - table["layer"] / 12).abs() / 2)

    rows = changed("figure6", change).filter(regex=r"K6.1 .*mrpc", axis=0)
    assert {*rows["verdict"]} == {verdict}, rows[["ours", "reason"]].to_string()


def test_gains_are_over_the_replicates_own_parent_and_open_without_tokens(changed):
    """Each pretraining run has its own level, which a mean of all runs would take for a gain of
    one of them."""

    def change(table):
        is_tuned = table["model"] == table["stimuli"]
        gains = is_tuned & (table["head"] == 1) & (table["layer"] == 2)
        return table.assign(value=0.1 * table["init"] + 0.02 * gains)[table["token"] != "neg"]

    gains = changed("linguistic", change).filter(like="K6.4 (mrpc", axis=0)
    tested = gains[~gains.index.str.contains("neg")]
    assert tested[["ours", "high"]].to_numpy(float) == pytest.approx(0.02, abs=1e-6)
    assert (tested["replicates"] == 5).all()
    assert (gains.drop(tested.index)["verdict"] == UNTESTED).all()
