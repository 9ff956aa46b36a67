import pytest
from made_scores import of_kovaleva

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED


def verdicts(published, **made):
    tables = of_kovaleva(**made)
    return by_name.decide("kovaleva2019/table1", tables, published["kovaleva2019"]).set_index("claim")


@pytest.fixture(scope="module")
def rows(published):
    return verdicts(published, inits=1, seeds=5)


def test_the_papers_own_numbers_bear_out_what_it_says(rows):
    assert len(rows) == 1 + 7 + 2 + 7 + 6
    heads = ["K1.1", *rows.filter(like="K1.3", axis=0).index]  # a fourth of our heads is constant
    assert (rows.drop(index=[*heads, "K1.5 (qnli)"])["verdict"] == HOLDS).all(), rows["verdict"]
    assert rows.loc["K1.1", "published_value"] == "35.9" and 30 < rows.loc["K1.1", "ours"] < 41
    assert rows.loc["K1.2 (stsb)", "ours"] == pytest.approx(79.8, abs=0.5)
    assert rows.loc["K1.2 (stsb)", "published_value"] == "79.8"
    assert (
        rows.loc["K1.3 (stsb)", "verdict"] == HOLDS and rows.loc["K1.3 (qnli)", "published_value"] == "-3.3"
    )
    assert rows.loc["K1.4 (mrpc)", "published_value"] == "50.7"
    # 52.8 is the only pretrained accuracy that is above the majority class, 50.5.
    assert rows.loc["K1.5 (qnli)", "verdict"] == FAILS


def test_random_weights_are_compared_on_the_run_that_they_replicate(published):
    two = verdicts(published, inits=2, seeds=2)
    assert two.loc["K1.2 (rte)", "replicates"] == 2 and "2 of 2" in two.loc["K1.2 (rte)", "reason"]
    demo = verdicts(published, inits=2, seeds=1)
    assert demo.loc["K1.2 (rte)", "reason"] == "one replicate only; at least two are needed."
    assert demo.loc["K1.4 (rte)", "replicates"] == 2 and demo.loc["K1.4 (rte)", "verdict"] == HOLDS


def test_fewer_rows_for_random_weights_decide_nothing(published):
    rows = verdicts(published, inits=1, seeds=2, train=1200)
    unlike = rows[rows.index.str.startswith(("K1.2", "K1.3"))]
    assert (unlike["verdict"] == UNTESTED).all()
    assert set(unlike["reason"]) == {"random weights were trained on 1200 rows, pretrained ones on 3600."}
    assert (rows.filter(like="K1.4", axis=0)["verdict"] == HOLDS).all()
