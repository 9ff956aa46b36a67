import numpy as np
import pytest
from made_papers import real, stretched

from bertshift.papers import by_name
from bertshift.papers.college2020 import figure2
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED

NAME, CHAIN, RTE = (
    "college2020/figure2",
    "results/gains/wnli+rte@cased_vs_rte@cased.tsv",
    "results/scores/rte@cased.tsv",
)


@pytest.fixture(scope="module")
def paper(published):
    return published["college2020"]


def cell(table, panel, final, intermediate, source="ours"):
    """A score of a chain, or of a model alone if `intermediate` is empty."""
    chosen = (
        (table["panel"] == panel)
        & (table["final"] == final)
        & (table["intermediate"] == intermediate)
    )
    [row] = table[chosen & (table["source"] == source)].itertuples()
    return row


def make_tables(paper, inits=5):
    """Make tables of one seed with the scores of the paper's Figure 2."""
    entry, tables = paper["figure2"], stretched(NAME, inits=inits)
    printed = lambda final, first: entry["rows"][final][entry["columns"].index(first)]
    for path, table in tables.items():
        table = table[table["seed"] == 1].reset_index(drop=True)
        chain, final = path.rpartition("/")[2].partition("@")[0].split("+"), table["task"].iloc[0]
        scores = table["score" if "delta" in table else "metric"]
        is_printed = scores == entry["metrics"][final]
        before, offset = printed(final, final), 0.001 * (table["init"] - 3)
        change = printed(final, chain[0]) - before
        columns = {"value": before + change + offset}
        if "delta" in table:
            columns |= {"before": before + offset, "delta": np.full(len(table), change)}
        for name, values in columns.items():
            table[name] = table[name].mask(is_printed, values)
        tables[path] = table
    return tables


def test_published_accuracies_are_counts_with_their_errors(paper):
    table = figure2.tidy(real(NAME), paper)
    rte = cell(table, "score", "rte", "cola", "published")
    assert (rte.value, rte.provenance) == (pytest.approx(128 / 277), "derived")
    assert rte.se == pytest.approx(0.03, abs=5e-4)
    assert cell(table, "gain", "rte", "cola", "published").value == pytest.approx(
        (128 - 176) / 277
    )
    cola = cell(table, "score", "cola", "wnli", "published")
    assert (cola.value, cola.provenance) == (0.536, "printed") and np.isnan(cola.se)
    entry = paper["figure2"]
    for final, row in entry["rows"].items():  # cut, not rounded
        for first, value in zip(entry["columns"], row, strict=True):
            shown = cell(table, "score", final, "" if first == final else first, "published").value
            assert int(shown * 1000 + 1e-6) / 1000 == value


def decide(item, tables, paper):
    return by_name.decide(f"college2020/{item}", tables, paper).set_index("claim")


def test_the_papers_own_table_bears_out_what_it_says(paper):
    rows = decide("figure2", make_tables(paper), paper)
    fails = {"C2.1 (rte)", "C2.2 (rte)"}  # .588 < .635; .526 is no more than .526
    assert set(rows.index[rows["verdict"] == FAILS]) == fails and set(rows["verdict"]) == {
        HOLDS,
        FAILS,
    }
    theirs = rows["published_value"].astype(float)
    assert np.abs(rows["ours"] - theirs).max() <= 0.001 and theirs["C2.4 (rte)"] == -0.025
    one_run = decide("figure2", make_tables(paper, inits=1), paper)
    assert set(one_run["verdict"]) == {UNTESTED}


def test_a_curve_that_still_falls_has_not_flattened(paper):
    tables = stretched("college2020/figure1", inits=5)
    for curve, verdict in (
        (lambda step: 0.2 + 0.7 * np.exp(-5 * step), HOLDS),
        (lambda step: 1 - 0.75 * step, FAILS),
    ):
        bent = {
            path: table.assign(value=curve(table["step"] / table["step"].max()))
            for path, table in tables.items()
        }
        rows = decide("figure1", bent, paper)
        assert set(rows["verdict"]) == {verdict}
