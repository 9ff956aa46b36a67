"""Every figure and every claim, whatever failed: at the shapes of scale paper, or of a run of
one checkpoint."""

import re
import warnings

import pandas as pd
import pytest
from made_papers import HEADS, real, stretched
from made_tables import measured
from pictures import (
    assert_caption_and_picture_agree,
    assert_every_number_is_in_the_table,
    assert_legible,
    shown,
)

from bertshift.papers import by_name, catalogue
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

# All that have tables of their own. Planted changes are in no archive yet: tests of their own have
# made-up ones.
WITHOUT = {"beyond/planted", *(f"college2020/{item}" for item in HEADS)}
FIGURES = [name for name in catalogue.FIGURES if name not in WITHOUT]
FIRST_OF_MODULE = {by_name.module_of(name): name for name in reversed(FIGURES)}.values()
# What is the same in every layer and head where fine-tuning changed nothing; any score is 0.5.
UNCHANGED = {"cosine": 1.0, "rsa": 1.0} | dict.fromkeys(
    [
        "js",
        "svcca",
        "pwcca",
        "cka",
        "procrustes",
        "own_or_inherited",
        "restored",
        "steps",
        "gain",
        "spectra",
    ],
    0.0,
)
ONE, MOST = (
    "one run failed and one collapsed",
    "most runs failed and the others did nothing",
)
# They have no value where all tokens are alike.
ALIKE = ["rsa", "svcca", "pwcca", "cka", "procrustes", "layer_cka"]
SENSELESS, LARGEST = re.compile(r"\b(nan|inf)\b|\de\+\d|\d{9}", re.IGNORECASE), 1e6


def in_state(table, state):
    if state == MOST:
        table = unchanged(table)
    elif "layer" in table:
        table = table[~is_collapsed(table)]
    for side in ("", "ref_"):
        if f"{side}failed" in table:
            init, seed = table[f"{side}init"], table[f"{side}seed"]
            first = (init == 1) & (seed == 1)
            last = (init == init.max()) & (seed == seed.max()) & (table["model"] != "mnli")
            table = table.assign(
                **{f"{side}failed": first if state == ONE else (seed > 0) & ~last}
            )
    return table


def is_collapsed(table):
    """Mark the rows that a run lacks in whose last layer all tokens are alike."""
    of_run = (table["init"] == 2) & (table["seed"] == 1)
    in_last_layer = table["layer"] == table["layer"].max()
    return of_run & in_last_layer & table["metric"].isin(ALIKE)


def unchanged(table):
    """Return a table as after a fine-tuning that did nothing; what unrelated models would have
    stays."""
    set_ = {
        column: table[column].where(table[column].isna(), 1.0)
        for column in ("p", "q")
        if column in table
    }
    if "value" in table:
        null = table.get("variant", pd.Series("", table.index)).str.endswith("_null", na=False)
        value = table["value"].where(null, table["metric"].map(UNCHANGED).fillna(0.5))
        set_ |= {column: value for column in ("value", "low", "high") if column in table}
    return table.assign(**set_, **({"delta": 0.0} if "delta" in table else {}))


@pytest.mark.slow("every figure")
@pytest.mark.parametrize("state", [ONE, MOST])
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_and_every_claim_decided(published, name, state):
    """Where runs did nothing, one figure of each module is drawn."""
    made = stretched(name, inits=2) if state == ONE else real(name)
    tables = measured({path: in_state(table, state) for path, table in made.items()})
    paper = published[name.split("/")[0]]
    with warnings.catch_warnings():
        warnings.simplefilter(
            "error"
        )  # of matplotlib on layout, of numpy on numbers that are none
        if state == ONE or name in FIRST_OF_MODULE:
            figure, table, caption = by_name.draw(name, tables, paper)
            said = [text.get_text() for text in shown(figure)]
            assert not [words for words in said if SENSELESS.search(words)]
            assert len(table) and not table["value"].abs().max() >= LARGEST
        if state == ONE:
            assert_legible(figure)
            assert_caption_and_picture_agree(figure, table, caption)
            assert_every_number_is_in_the_table(figure, table)
        rows = by_name.decide(name, tables, paper)
    assert rows["verdict"].isin([HOLDS, FAILS, UNDECIDED, UNTESTED]).all()
    said = rows[["reason", "measure", "published_value"]].agg(" ".join, axis=1)
    assert (
        not [words for words in said if SENSELESS.search(words)] and (rows["reason"] != "").all()
    )
    number = rows["ours"].abs() < LARGEST
    without = (rows["verdict"] == UNTESTED) | rows["reason"].str.contains("no such layer")
    assert (number | rows["ours"].isna() & without).all(), rows.loc[
        ~number, ["claim", "ours", "reason"]
    ]
