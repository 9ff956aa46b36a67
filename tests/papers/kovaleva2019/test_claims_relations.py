import numpy as np
import pytest
from made_relations import of_kovaleva

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

CHECKPOINT = "google-bert/bert-base-uncased@86b5e09"


def verdicts(published, checkpoint=CHECKPOINT, **more):
    tables = {
        path: table.assign(checkpoint=checkpoint)
        for path, table in of_kovaleva(**({"inits": 5} | more)).items()
    }
    return by_name.decide("kovaleva2019/figure3", tables, published["kovaleva2019"]).set_index("claim")


def test_the_papers_own_figure_bears_out_its_two_heads(published):
    matrix = np.array(published["kovaleva2019"]["figure3"]["matrix"])
    rows = verdicts(published, matrix=matrix)
    assert (rows.loc[["K3.1 (L1H2)", "K3.1 (L7H6)"], "verdict"] == HOLDS).all()
    assert rows.loc["K3.1 (L1H2)", "ours"] == 2 and rows.loc["K3.1 (L7H6)", "ours"] == 1
    assert rows.loc["K3.2", "verdict"] == FAILS and rows.loc["K3.2", "ours"] == pytest.approx(-0.1, abs=0.01)
    assert (rows.loc[["K3.3 (two best heads)", "K3.3 (some head)"], "verdict"] == HOLDS).all()
    moved = verdicts(published, matrix=matrix[::-1])
    assert (moved.loc[["K3.1 (L1H2)", "K3.1 (L7H6)"], "verdict"] == FAILS).all()


def test_heads_are_named_on_the_papers_checkpoint_alone(published):
    for more, why in (
        ({"checkpoint": "local other"}, "other numbers in local other"),
        ({"layers": 4}, "this one is 4x12"),
    ):
        row = verdicts(published, **more).loc["K3.1 (L1H2)"]
        assert row["verdict"] == UNTESTED and why in row["reason"]


def test_a_score_that_positions_give_is_no_relation(published):
    rows = verdicts(published, null=0.195, back=2)
    assert rows.loc["K3.3 (two best heads)", "verdict"] == FAILS  # 0.2 and 0.21 against 0.2145
    assert rows.loc["K3.2", "verdict"] == HOLDS and rows.loc["K3.2", "replicates"] == 5
    single = verdicts(published, null=0.195, back=2, inits=1).loc["K3.2"]
    assert (single["verdict"], single["replicates"]) == (UNDECIDED, 1)
    assert single["ours"] == pytest.approx(rows.loc["K3.2", "ours"])
    between = verdicts(published, null=0.185)  # 0.2035
    assert between.loc["K3.3 (two best heads)", "verdict"] == FAILS
    assert between.loc["K3.3 (some head)", "verdict"] == HOLDS
