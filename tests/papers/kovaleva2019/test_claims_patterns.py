from made_patterns import TASKS, shares

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

PUBLISHED = "google-bert/bert-base-uncased@86b5e09"


def verdicts(published, checkpoint="4x128 BERT", change=None, **more):
    tables = {task: shares(task, inits=5, **more).assign(checkpoint=checkpoint) for task in TASKS}
    for task, factor in (change or {}).items():
        rows = tables[task]["pattern"] == "heterogeneous"
        tables[task].loc[rows, "value"] *= factor
    return by_name.decide("kovaleva2019/figure2", tables, published["kovaleva2019"]).set_index("claim")


def test_the_papers_own_shares_bear_out_its_numbers(published):
    rows = verdicts(published, PUBLISHED, change={"qqp": 1.02}, noise=0.05, by_person=400)
    assert (
        rows.loc[["K2.1 (mrpc, lowest)", "K2.1 (qqp, highest)", "K2.2 (mrpc)", "K2.2 (qqp)"], "verdict"]
        == HOLDS
    ).all()
    assert rows.loc["K2.1 (mrpc, lowest)", "published_value"] == "-6.8 (digitised)"
    assert rows.loc["K2.2 (qqp)", "published_value"] == "61 %"
    # One classifier, whatever the runs: its F1 has no interval.
    f1 = rows.loc[["K2.3 (cross_validated)", "K2.3 (resubstituted)"]]
    assert f1["ours"].round(9).tolist() == [0.7, 0.9] and (f1["verdict"] == UNDECIDED).all()
    other = verdicts(published, PUBLISHED, change={"mrpc": 1.5}, by_person=400)
    assert (other.loc[["K2.1 (mrpc, lowest)", "K2.2 (mrpc)"], "verdict"] == FAILS).all()


def test_what_a_demo_or_a_rules_labels_cannot_decide(published):
    rows = verdicts(published)
    assert (rows["verdict"] == UNTESTED).all() and rows["reason"].str.contains("patterns.labels").all()
    demo = verdicts(published, by_person=400).loc["K2.2 (mrpc)"]
    assert demo["verdict"] == UNTESTED and "4x128 BERT" in demo["reason"]
