import numpy as np
import pytest
from made_papers import stretched

from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

NAME = "college2020/figure2"


@pytest.fixture(scope="module")
def paper(published):
    return published["college2020"]


def make_tables(paper, inits=5):
    """Make tables of one seed with the scores of the paper's Figure 2."""
    entry, tables = paper["figure2"], stretched(NAME, inits=inits)
    for path, table in tables.items():
        table = table[table["seed"] == 1].reset_index(drop=True)
        first, final = path.rpartition("/")[2].partition("@")[0].split("+")[0], table["task"][0]
        printed = dict(zip(entry["columns"], entry["rows"][final], strict=True))
        scores = table["score" if "delta" in table else "metric"]
        rows, offset = scores == entry["metrics"][final], 0.001 * (table["init"] - 3)
        table.loc[rows, "value"] = printed[first] + offset
        if "delta" in table:
            table.loc[rows, "before"] = printed[final] + offset
            table["delta"] = table["delta"].mask(rows, printed[first] - printed[final])
        tables[path] = table
    return tables


def test_the_papers_own_table_bears_out_what_it_says(paper, decide):
    rows = decide(NAME, make_tables(paper))
    assert rows.loc["C2.1 (rte)", "verdict"] == FAILS  # .588 < .635
    assert rows.loc["C2.2 (rte)", "verdict"] == UNDECIDED  # .526 is .526
    assert (rows.drop(index=["C2.1 (rte)", "C2.2 (rte)"])["verdict"] == HOLDS).all()
    published = rows["published_value"].astype(float)
    assert np.abs(rows["ours"] - published).max() <= 0.001 and published["C2.4 (rte)"] == -0.025
    assert set(decide(NAME, make_tables(paper, inits=1))["verdict"]) == {UNTESTED}


@pytest.mark.parametrize(
    ("curve", "verdict"),
    [(lambda step: 0.2 + 0.7 * np.exp(-5 * step), HOLDS), (lambda step: 1 - 0.75 * step, FAILS)],
)
def test_a_curve_that_still_falls_has_not_flattened(decide, curve, verdict):
    tables = {
        path: table.assign(value=curve(table["step"] / table["step"].max()))
        for path, table in stretched("college2020/figure1", inits=5).items()
    }
    assert set(decide("college2020/figure1", tables)["verdict"]) == {verdict}
