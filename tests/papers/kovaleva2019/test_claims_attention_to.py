from functools import cache

import numpy as np
import pytest
from made_attention import of_kovaleva

from bertshift.papers import by_name
from bertshift.papers.kovaleva2019 import claims
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED

ITEMS = ["figure6", "figure7", "linguistic"]
made = cache(of_kovaleva)


def decide(published, item, bend=lambda table: table, **more):
    tables = {path: bend(table) for path, table in made(**{"inits": 5} | more).items()}
    return by_name.decide(f"kovaleva2019/{item}", tables, published["kovaleva2019"]).set_index("claim")


def where(table, **values):
    return np.logical_and.reduce([table[column] == value for column, value in values.items()])


@pytest.mark.parametrize("layers", [4, 12])
@pytest.mark.parametrize("item", ITEMS)
def test_the_papers_own_story_holds(published, item, layers):
    rows = decide(published, item, layers=layers)
    sum_is_larger = rows.loc[rows.index == "K6.2 (sep_sum)", "verdict"]  # of two [SEP] than of one
    assert (rows["verdict"] == HOLDS).all(), rows["verdict"]
    assert len(sum_is_larger) == (item == "figure6") and (rows["replicates"] == 5).all()


def test_verdicts_flip_with_the_data(published):
    swapped = {"cls": "sep", "sep": "cls"}
    upside_down = decide(
        published, "figure6", lambda table: table.assign(token=table["token"].replace(swapped))
    )
    assert (upside_down.filter(like="K6.1", axis=0)["verdict"] == FAILS).all()
    assert upside_down.loc["K6.2 (sep)", "verdict"] != HOLDS
    words = decide(
        published,
        "linguistic",
        lambda t: t.assign(value=t["value"].where(t["token"].isin(["cls", "sep"]), 0.4)),
    )
    assert (words["verdict"] == FAILS).all()  # as much as special tokens, and as much as before
    flat = decide(published, "figure7", lambda t: t.assign(value=t["value"].mask(t["token"] == "sep", 0.9)))
    assert (flat.loc[[f"K7.1 ({task})" for task in ("stsb", "rte", "qnli")], "verdict"] == FAILS).all()
    assert (flat.filter(like="K7.2", axis=0)["verdict"] == FAILS).all()


def test_gains_are_over_the_replicates_own_parent(published):
    """Each pretraining run has its own level, which a mean of all runs would take for a gain of one of them."""

    def bend(table):
        level = 0.2 * table["init"]
        return table.assign(
            value=level + 0.02 * where(table, model=table["stimuli"].iloc[0], head=1, layer=2)
        )

    rows = decide(published, "linguistic", bend)
    gains = rows.filter(like="K6.4", axis=0)
    assert gains["ours"].to_numpy() == pytest.approx(0.02) and gains["high"].to_numpy() == pytest.approx(0.02)


def test_what_no_input_has_is_left_out_or_left_open(published):
    assert (decide(published, "figure7", without=("pron", "neg"))["verdict"] == HOLDS).all()
    open_ = decide(published, "linguistic", without=("neg",))
    assert open_.loc["K6.4 (qnli, neg)", "verdict"] == UNTESTED
    assert "no attention to 'neg' for QNLI" in open_.loc["K6.4 (qnli, neg)", "reason"]
    few = decide(published, "figure6", tasks=("sst2", "mrpc"))
    assert (
        few.loc["K6.2 (sep)", "verdict"] == UNTESTED and "no results for" in few.loc["K6.2 (sep)", "reason"]
    )


def test_the_papers_panels_say_what_the_paper_says(published):
    rows = decide(published, "figure7")
    printed = rows.filter(like="K7.1", axis=0)["published_value"].str.extract(r"([-\d.]+)")[0].astype(float)
    exceptions = {f"K7.1 ({task})" for task in claims.EXCEPTIONS}
    assert set(printed.index[printed <= 0]) == exceptions
    centres = decide(published, "figure6").filter(like="K6.1", axis=0)["published_value"]
    assert (centres.str.extract(r"([-\d.]+)")[0].astype(float) > 3).all()
