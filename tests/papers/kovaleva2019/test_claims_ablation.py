import numpy as np
import pytest
from made_ablations import BASE, TASKS, ablation, confirmed

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED

CHECKPOINT = "google-bert/bert-base-uncased@86b5e09"


@pytest.fixture(scope="module")
def papers_own(published):
    """Tables that say what the paper's digitised panels say."""
    paper = published["kovaleva2019"]
    tables = {}
    for task in TASKS:
        eight, nine = (paper[item]["tasks"][task] for item in ("figure8", "figure9"))
        heads = np.array(eight["matrix"]) - eight["baseline"]
        layers = np.array(nine["layers"]) - nine["baseline"]
        made = ablation(task, inits=5, matrix=heads, whole=layers)
        tables[task] = made.assign(checkpoint=CHECKPOINT)
    return tables


def verdicts(item, tables, published):
    return by_name.decide(f"kovaleva2019/{item}", tables, published["kovaleva2019"]).set_index("claim")


@pytest.fixture(scope="module")
def about_heads(published, papers_own):
    return verdicts("figure8", papers_own, published)


def test_the_papers_own_panels_bear_out_what_it_says_of_heads(about_heads):
    rows = about_heads
    assert len(rows) == 2 * 7 + 2 + 7 + 2 and (rows["verdict"] == HOLDS).all(), rows["verdict"]
    assert rows.loc["K8.1 (mrpc)", "ours"] == pytest.approx(1.13, abs=0.02)
    assert rows.loc["K8.1 (mrpc)", "published_value"] == "1.13 (digitised)"
    assert rows.loc["K8.1 (mrpc, other half)", "published_value"] == ""
    assert rows.loc["K8.1 (mrpc, other half)", "ours"] == pytest.approx(rows.loc["K8.1 (mrpc)", "ours"] / 2)
    assert rows.loc["K8.2 (rte)", "ours"] > 0 and rows.loc["K8.4 (rte)", "ours"] <= 2


def test_and_half_of_what_it_says_of_layers(published, papers_own):
    rows = verdicts("figure9", papers_own, published)
    assert rows.loc["K9.1", "verdict"] == HOLDS and rows.loc["K9.1", "ours"] == pytest.approx(3.2, abs=0.05)
    for task, worst in (("qnli", -8.6), ("mnli", -3.2)):
        row = rows.loc[f"K9.2 ({task})"]
        assert row["verdict"] == FAILS and row["ours"] == pytest.approx(worst, abs=0.02)
    assert (rows.filter(like="K9.3", axis=0)["verdict"] == HOLDS).all()


def test_verdicts_flip_with_the_data(published):
    tables = {
        task: ablation(task, inits=5, matrix=np.full((12, 12), -0.01), whole=np.full(12, -0.001), q=0.01)
        for task in TASKS
    }
    for table in tables.values():
        table["checkpoint"] = CHECKPOINT
        table.loc[(table["layer"] == 4) & (table["head"] == 1), ["value", "delta"]] += 0.005
    rows = verdicts("figure8", tables, published)
    assert (rows["verdict"] == FAILS).all(), rows["verdict"]
    assert rows.loc["K8.3 (mrpc)", "ours"] == pytest.approx(1)
    rows = verdicts("figure9", tables, published)
    assert (rows.drop(index=["K9.2 (qnli)", "K9.2 (mnli)"])["verdict"] == FAILS).all()
    assert rows.loc["K9.2 (mnli)", "verdict"] == HOLDS


def test_heads_run_again_count_as_on_the_complete_set(published, papers_own, about_heads):
    before = about_heads
    tables = papers_own | {"qqp": confirmed(papers_own["qqp"], [(1, 2), (5, 5)], -0.03, q=0.01)}
    after = verdicts("figure8", tables, published)
    assert before.loc["K8.1 (qqp)", "verdict"] == HOLDS and after.loc["K8.1 (qqp)", "verdict"] == FAILS
    assert after.loc["K8.1 (qqp)", "ours"] == pytest.approx(-3)
    assert before.loc["K8.3 (qqp)", "ours"] == 0 and after.loc["K8.3 (qqp)", "ours"] == pytest.approx(3)
    same = [claim for claim in before.index if claim not in ("K8.1 (qqp)", "K8.3 (qqp)")]
    assert before.loc[same, "ours"].equals(after.loc[same, "ours"])


def test_named_heads_and_layers_exist_in_the_papers_model_alone(published, papers_own):
    other = "google/multiberts-seed_0@1234567"
    tables = {task: table.assign(checkpoint=other) for task, table in papers_own.items()}
    rows = verdicts("figure8", tables, published)
    for name in ("K8.3 (rte)", "K8.4 (rte)"):
        assert (
            rows.loc[name, "verdict"] == UNTESTED
            and "other numbers in google/multiberts" in rows.loc[name, "reason"]
        )
    assert rows.loc["K8.1 (rte)", "verdict"] == HOLDS
    small = {task: ablation(task, 4, 4) for task in BASE}
    rows = verdicts("figure8", small, published)
    assert (
        "this one is 4x4" in rows.loc["K8.4 (stsb)", "reason"]
        and rows.loc["K8.2 (rte)", "verdict"] != UNTESTED
    )
    assert verdicts("figure9", small, published).loc["K9.1", "verdict"] == UNTESTED
