import numpy as np
import pandas as pd
import pytest
from made_papers import needs, stretched

from bertshift.figures import numbers
from bertshift.papers import by_name
from bertshift.papers.kovaleva2019 import ablations
from bertshift.verdicts.deciding import FAILS, HOLDS

BERT = "google-bert/bert-base-uncased@86b5e09"
TASKS = [path.rpartition("/")[2].partition(".")[0] for path in needs("kovaleva2019/figure8")]


@pytest.fixture(scope="module")
def paper(published):
    return published["kovaleva2019"]


def make_table(task, gains, layer_gains=0.0, q=1.0, inits=5, checkpoint=BERT):
    """Make the rows of a complete set on which heads [12, 12] and layers [12] gain this, in every
    run."""
    tables = stretched("kovaleva2019/figure8", f"/{task}.", inits=inits, checkpoint=checkpoint)
    [table] = tables.values()
    table = table[(table["sample"] == "sample") & (table["seed"] == 1)].reset_index(drop=True)
    gains = np.broadcast_to(gains, (12, 12))
    layer_gains = np.broadcast_to(layer_gains, 12)
    layer, head = table["layer"].to_numpy() - 1, table["head"].to_numpy() - 1
    is_head = head >= 0
    of_layer = np.where(layer >= 0, layer_gains[layer], 0)
    delta = np.where(is_head, gains[layer, head], of_layer)
    q = np.where(is_head, np.broadcast_to(q, (12, 12))[layer, head], 1.0)
    table = table.assign(sample="complete", delta=delta, value=0.8 + delta, q=q, p=q / 10)
    # The gain of the best head on the other half of examples.
    is_half = table["metric"] == "ablation_split_half"
    best_layer, best_head = np.unravel_index(gains.argmax(), gains.shape)
    gain = gains.max() / 2
    halves = table[is_half].drop_duplicates("init")
    halves = halves.assign(
        layer=best_layer + 1,
        head=best_head + 1,
        delta=gain,
        value=0.8 + gain,
    )
    return pd.concat([table[~is_half], halves], ignore_index=True)


def verdicts(item, tables, paper):
    return by_name.decide(f"kovaleva2019/{item}", tables, paper).set_index("claim")


@pytest.fixture(scope="module")
def papers_own(paper):
    """Make tables with the gains of the paper's digitised panels."""
    tables = {}
    for task in TASKS:
        heads, layers = (paper[item]["tasks"][task] for item in ("figure8", "figure9"))
        tables[task] = make_table(
            task,
            np.array(heads["matrix"]) - heads["baseline"],
            np.array(layers["layers"]) - layers["baseline"],
        )
    return tables


@pytest.fixture(scope="module")
def about_heads(paper, papers_own):
    return verdicts("figure8", papers_own, paper)


def test_the_papers_own_panels_bear_out_what_it_says_of_heads_and_half_of_layers(
    about_heads, papers_own, paper
):
    rows = about_heads
    assert len(rows) == 25 and (rows["verdict"] == HOLDS).all(), rows["verdict"]
    assert rows.loc["K8.1 (mrpc)", "ours"] == pytest.approx(1.13, abs=0.02)
    assert rows.loc["K8.1 (mrpc)", "published_value"] == "1.13 (digitised)"
    assert rows.loc["K8.1 (mrpc, other half)", "ours"] == pytest.approx(
        rows.loc["K8.1 (mrpc)", "ours"] / 2
    )
    layers = verdicts("figure9", papers_own, paper)
    assert layers.loc["K9.1", "verdict"] == HOLDS and layers.loc["K9.1", "ours"] == pytest.approx(
        3.2, abs=0.05
    )
    for task, worst in (("qnli", -8.6), ("mnli", -3.2)):
        row = layers.loc[f"K9.2 ({task})"]
        assert row["verdict"] == FAILS and row["ours"] == pytest.approx(worst, abs=0.02)


def test_verdicts_flip_with_the_data(paper):
    tables = {task: make_table(task, -0.01, -0.001, q=0.01) for task in TASKS}
    for table in tables.values():
        is_named = (table["layer"] == 4) & (table["head"] == 1)
        table.loc[is_named, ["value", "delta"]] += 0.005
    rows = verdicts("figure8", tables, paper)
    assert (rows["verdict"] == FAILS).all() and rows.loc["K8.3 (mrpc)", "ours"] == pytest.approx(1)
    rows = verdicts("figure9", tables, paper)
    holds = rows.index.isin(["K9.2 (mnli)", "K9.2 (qnli)"])
    assert (rows["verdict"][~holds] == FAILS).all() and rows.loc["K9.2 (mnli)", "verdict"] == HOLDS


@pytest.mark.parametrize("draw", [ablations.figure8, ablations.figure9])
def test_runs_that_failed_to_train_are_left_out_and_named(paper, draw):
    alone = make_table("rte", 0.01, 0.01, q=0.01, inits=1)
    bad = alone.assign(seed=2, failed=True, q=1.0, value=0.5, delta=-0.3)
    _, drawn, caption = draw({"rte": pd.concat([alone, bad])}, paper)
    _, expected, _ = draw({"rte": alone}, paper)
    disabled = "source == 'ours' and variant == 'uniform'"
    rows = drawn.query(disabled)
    expected_values = expected.query(disabled)["value"].to_numpy()
    assert rows["value"].to_numpy() == pytest.approx(expected_values)
    assert (rows["failed"] >= 1).all() and "Failed to train" in caption


def test_the_first_run_drawn_is_one_that_learned_its_task():
    rows = pd.DataFrame([("a", 1, 1, True), ("a", 2, 1, False), ("a", 2, 0, False), ("a", 1, 0, False),
                         ("b", 1, 1, True), ("b", 2, 1, True), ("c", 1, 0, False)],
                        columns=["panel", "init", "seed", "failed"])  # fmt: skip
    first = numbers.first_run(rows)
    assert first.groupby("panel")["init"].unique().map(list).to_dict() == {
        "a": [2],
        "b": [1],
        "c": [1],
    }
