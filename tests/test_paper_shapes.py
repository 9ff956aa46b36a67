"""Every figure and every claim at the shapes of scale paper, whatever failed: from made-up tables of its models' layers,
heads and replicates."""

import re
import warnings
from functools import cache, lru_cache

import made_papers
import made_tables
import numpy as np
import pandas as pd
import pytest
from pictures import assert_every_number_is_in_the_table, assert_legible
from texts import shown

from bertshift.papers import by_name, catalogue
from bertshift.requests import figures
from bertshift.rows.blocks import WITHOUT
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED
from bertshift.verdicts.deciding import UNDECIDED as UNSURE

BASES = {
    "kovaleva2019": "base",
    "college2020": "cased",
    "hao2020": "large",
    "merchant2020": "base",
    "beyond": "base",
}
# What is the same in every layer and head where fine-tuning changed nothing; any score is 0.5.
UNCHANGED = {"cosine": 1.0, "rsa": 1.0} | dict.fromkeys(
    ["js", "svcca", "pwcca", "cka", "procrustes", "own_or_inherited", "restored", "steps", "gain", "spectra"],
    0.0,
)
# With all of them trained, figures are drawn as with one that failed.
STATES = ["one run failed", "most runs failed", "nothing changed"]
TRAINED, COLLAPSED = "all trained", "one run collapsed"
ALIKE = re.compile(r"results/(?:rsa|svcca|similarity|layer_cka)/")
# Labels by a person are not made up here.
UNDECIDED = {"K2.1", "K2.2", "K2.3"}
BLOCKS = WITHOUT[:4]  # a claim is decided once more without each
SENSELESS, LARGEST = re.compile(r"\b(nan|inf)\b|\de\+\d|\d{9}", re.IGNORECASE), 1e6


@cache
def settings():
    return made_papers.shipped("paper")


published = cache(made_tables.published)


@cache
def tables_of(paper):
    base = settings()["bases"][BASES[paper]]
    names = {n: f"{one['hub']}@{one['revision'][:7]}" for n, one in enumerate(base["checkpoints"], 1)}
    made = made_papers.tables_of(paper, base["layers"], base["heads"], inits=len(names), seeds=base["seeds"])
    return {
        path: table.assign(scale="paper", checkpoint=table["init"].map(names)) for path, table in made.items()
    }


@lru_cache(maxsize=1)
def needed(name, state):
    """{path: table} of all that a figure and its claims read."""
    paper, item = name.split("/")
    tables, first = tables_of(paper), settings()["figures"][paper][item]["models"][0]
    if made_papers.unmade(name, tables, settings()):
        return made_papers.ByFigure()[name]
    made = {path: in_state(tables[path], state, first) for path in catalogue.needs(name, settings())}
    return {path: with_blocks(path, one) for path, one in made.items()} if state == "one run failed" else made


def with_blocks(path, table):
    """Return a table as jobs write it: where a measure tells them, with its values without each block of inputs."""
    if not figures.measured([path]):
        return table
    spread = 1e-3 * np.random.default_rng(0).normal(size=(len(table), len(BLOCKS)))
    of = "delta" if {"before", "baseline"} & {*table} else "value"
    values = table[of].to_numpy(float)[:, None] * (1 + spread)
    return pd.concat([table.reset_index(drop=True), pd.DataFrame(values, columns=BLOCKS)], axis=1)


def in_state(table, state, first):
    """Most runs are all but the last of a model, and of the model `first` all."""
    if state == "nothing changed":
        return unchanged(table)
    if state == COLLAPSED:
        if not table["metric"].isin(["rsa", "svcca", "pwcca", "cka", "procrustes", "layer_cka"]).any():
            return table
        last = table["layer"] == table["layer"].max()
        return table[~((table["init"] == 1) & (table["seed"] == 1) & last)].reset_index(drop=True)
    if table["metric"].iloc[0] == "frozen":  # which says nothing of failures
        return table
    for side, model in (("", "model"), ("ref_", "reference")):
        if f"{side}seed" in table:
            init, seed = table[f"{side}init"], table[f"{side}seed"]
            last = (init == table["init"].max()) & (seed == seed.max()) & (table[model] != first)
            failed = {
                TRAINED: False, "one run failed": (init == 1) & (seed == 1), "most runs failed": (seed > 0) & ~last
            }[state]  # fmt: skip
            table = table.assign(**{f"{side}failed": table.get(f"{side}failed", default=False) | failed})
    return table


def unchanged(table):
    """Return a table as after a fine-tuning that did nothing; what unrelated models would have stays."""
    table = table.assign(
        **{column: table[column].where(table[column].isna(), 1.0) for column in ("p", "q") if column in table}
    )
    if "value" in table:
        null = table.get("variant", pd.Series("", table.index)).str.endswith("_null", na=False)
        value = table["value"].where(null, table["metric"].map(UNCHANGED).fillna(0.5))
        table = table.assign(**{column: value for column in ("value", "low", "high") if column in table})
    return table.assign(delta=0.0) if "delta" in table else table


@cache
def decided(name, state):
    paper = name.split("/")[0]
    return by_name.decide(name, needed(name, state), published(paper))


def cases():
    """States and figures; a layer in which a run's tokens are all alike has no rows of the metrics that compare them."""
    compared = {
        name for name in catalogue.FIGURES if ALIKE.search(" ".join(catalogue.needs(name, settings())))
    }
    drawn = [(state, name) for state in STATES for name in catalogue.FIGURES]
    return drawn + [(COLLAPSED, name) for name in sorted(compared)]


@pytest.mark.parametrize(("state", "name"), cases())
def test_every_figure_is_drawn_and_every_claim_decided(state, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of matplotlib on layout, of numpy on numbers that are none
        figure, table, _ = by_name.draw(name, needed(name, state), published(name.split("/")[0]))
        assert_legible(figure)
        rows = decided(name, state)
    if state == "one run failed":
        assert_every_number_is_in_the_table(figure, table)
    assert not [text.get_text() for text in shown(figure) if SENSELESS.search(text.get_text())]
    assert (
        len(table) and not table["value"].abs().max() >= LARGEST
    )  # where nothing changed, no ranks correlate
    assert rows["verdict"].isin([HOLDS, FAILS, UNSURE, UNTESTED]).all()
    said = rows[["reason", "measure", "published_value"]].agg(" ".join, axis=1)
    assert not [words for words in said if SENSELESS.search(words)] and (rows["reason"] != "").all()
    number = rows["ours"].abs() < LARGEST
    without = (rows["verdict"] == UNTESTED) | rows["reason"].str.contains("no such layer")
    assert (number | rows["ours"].isna() & without).all(), rows.loc[~number, ["claim", "ours", "reason"]]


def test_few_claims_need_more_than_runs_that_trained():
    rows = pd.concat(decided(name, TRAINED) for name in catalogue.FIGURES)
    untested = rows.loc[rows["verdict"] == UNTESTED, "claim"].str.split().str[0]
    assert set(untested) == UNDECIDED
