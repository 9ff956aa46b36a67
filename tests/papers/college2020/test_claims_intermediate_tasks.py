import numpy as np
import pytest
from made_transfer import of_college

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED


def made(item, inits=5, seeds=1, **more):
    return of_college(inits, seeds, **more)[item]


def verdicts(item, published, **more):
    tables = made(item, **more)
    return by_name.decide(f"college2020/{item}", tables, published["college2020"]).set_index("claim")


def test_the_papers_own_table_bears_out_what_it_says(published):
    rows = verdicts("figure2", published)
    fails = {"C2.1 (rte)", "C2.2 (rte)"}  # .588 < .635; .526 is no more than .526
    assert set(rows.index[rows["verdict"] == FAILS]) == fails and set(rows["verdict"]) == {HOLDS, FAILS}
    said = rows["published_value"].astype(float)
    assert np.abs(rows["ours"] - said).max() <= 0.001 and said["C2.4 (rte)"] == -0.025
    assert said["C2.1 (mrpc)"] == 0.01 and said["C2.1 (rte)"] == -0.047


def test_a_fresh_head_stands_for_the_model_unless_only_the_other_is_there(published):
    tables = made("figure2")
    bent = {path: table.assign(delta=-1.0) if ".carry" in path else table for path, table in tables.items()}
    rows = by_name.decide("college2020/figure2", bent, published["college2020"]).set_index("claim")
    assert rows.loc["C2.1 (cola)", "verdict"] == HOLDS
    assert verdicts("figure2", published, heads=["carry"]).loc["C2.1 (cola)", "verdict"] == HOLDS


def test_a_curve_that_still_falls_has_not_flattened(published):
    assert set(verdicts("figure1", published)["verdict"]) == {HOLDS}
    tables = made("figure1")
    falling = {path: table.assign(value=1 - table["step"] / 80) for path, table in tables.items()}
    rows = by_name.decide("college2020/figure1", falling, published["college2020"])
    assert set(rows["verdict"]) == {FAILS}
    assert rows["ours"].to_numpy() == pytest.approx(1 - (1 - 55.5 / 80) / (1 - 45.5 / 80))


def test_one_run_decides_nothing(published):
    assert set(verdicts("figure2", published, inits=1)["verdict"]) == {UNTESTED}
