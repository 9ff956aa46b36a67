import numpy as np
import pytest
from made_papers import stretched

from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

NAME, F1 = "kovaleva2019/figure2", {"f1_macro_cross_validated": 0.7, "f1_macro_resubstituted": 0.9}


@pytest.fixture
def verdicts(decide, paper):
    """verdicts(checkpoint, {task: factor}): on the paper's own shares, with a task's heterogeneous
    share times its factor."""

    def decide_on_shares(checkpoint, factors):
        entry, tables = paper["figure2"], stretched(NAME, inits=5, checkpoint=checkpoint)
        for path, table in tables.items():
            task = table["model"].iloc[0]
            share = dict(zip(entry["columns"], np.array(entry["rows"][task]) / 100, strict=True))
            share["heterogeneous"] *= factors.get(task, 1)
            value = table["pattern"].map(share) * (1 + 0.001 * (table["init"] - 3))
            tables[path] = table.assign(value=value, labels_by_person=400, **F1)
        return decide(NAME, tables)

    return decide_on_shares


def test_the_papers_own_shares_bear_out_its_numbers(verdicts):
    bert = "google-bert/bert-base-uncased@86b5e09"
    rows = verdicts(bert, {"qqp": 1.02})
    of_mrpc, of_qqp = ["K2.1 (mrpc, lowest)", "K2.2 (mrpc)"], ["K2.1 (qqp, highest)", "K2.2 (qqp)"]
    holds = rows.loc[of_mrpc + of_qqp, "verdict"] == HOLDS
    assert holds.all(), rows[["ours", "reason"]].to_string()
    assert rows.loc["K2.1 (mrpc, lowest)", "published_value"] == "-6.8 (digitised)"
    # One classifier, whatever the runs: its F1 has no interval.
    f1 = rows.loc[["K2.3 (cross_validated)", "K2.3 (resubstituted)"]]
    assert f1["ours"].tolist() == pytest.approx([0.7, 0.9])
    assert (f1["verdict"] == UNDECIDED).all()
    assert (verdicts(bert, {"mrpc": 1.5}).loc[of_mrpc, "verdict"] == FAILS).all()
    row = verdicts("a BERT", {}).loc["K2.2 (mrpc)"]
    assert row["verdict"] == UNTESTED and "a BERT" in row["reason"]
