import numpy as np
from made_papers import stretched

from bertshift.papers import by_name
from bertshift.patterns.features import CLASSES
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

NAME, F1 = "kovaleva2019/figure2", {"f1_macro_cross_validated": 0.7, "f1_macro_resubstituted": 0.9}


def verdicts(published, checkpoint, change=()):
    """Decide on the paper's own shares, with a task's heterogeneous share times its factor."""
    paper = published["kovaleva2019"]
    entry, tables = paper["figure2"], stretched(NAME, inits=5, checkpoint=checkpoint)
    for path, table in tables.items():
        task = table["model"].iloc[0]
        share = dict(zip(entry["columns"], np.array(entry["rows"][task]) / 100, strict=True))
        share["heterogeneous"] *= dict(change).get(task, 1)
        value = table["pattern"].map(share) * (1 + 0.001 * (table["init"] - 3))
        tables[path] = table.assign(value=value, labels_by_person=400, **F1)
    assert set(tables[path]["pattern"]) == set(CLASSES)
    return by_name.decide(NAME, tables, paper).set_index("claim")


def test_the_papers_own_shares_bear_out_its_numbers(published):
    bert = "google-bert/bert-base-uncased@86b5e09"
    rows = verdicts(published, bert, {"qqp": 1.02})
    named = ["K2.1 (mrpc, lowest)", "K2.1 (qqp, highest)", "K2.2 (mrpc)", "K2.2 (qqp)"]
    assert (rows.loc[named, "verdict"] == HOLDS).all(), rows[["ours", "reason"]].to_string()
    assert rows.loc["K2.1 (mrpc, lowest)", "published_value"] == "-6.8 (digitised)"
    # One classifier, whatever the runs: its F1 has no interval.
    f1 = rows.loc[["K2.3 (cross_validated)", "K2.3 (resubstituted)"]]
    assert f1["ours"].round(9).tolist() == [0.7, 0.9] and (f1["verdict"] == UNDECIDED).all()
    bent = verdicts(published, bert, {"mrpc": 1.5})
    assert (bent.loc[["K2.1 (mrpc, lowest)", "K2.2 (mrpc)"], "verdict"] == FAILS).all()
    demo = verdicts(published, "a BERT").loc["K2.2 (mrpc)"]
    assert demo["verdict"] == UNTESTED and "a BERT" in demo["reason"]
