import numpy as np
import pandas as pd
import pytest
from made_papers import needs, stretched
from made_tables import measured

from bertshift.figures import numbers
from bertshift.papers.kovaleva2019 import ablations
from bertshift.rows.table import Table
from bertshift.verdicts.deciding import FAILS, HOLDS

BERT = "google-bert/bert-base-uncased@86b5e09"
TASKS = [path.rpartition("/")[2].partition(".")[0] for path in needs("kovaleva2019/figure8")]


def make_table(task, gains, layer_gains=0.0, q=1.0, inits=6):
    """Make the rows of a complete set on which heads [12, 12] and layers [12] gain this, in every
    run."""
    [table] = stretched("kovaleva2019/figure8", f"/{task}.", inits, BERT).values()
    table = table.query("sample == 'sample' and seed == 1").reset_index(drop=True)
    gains = np.broadcast_to(gains, (12, 12))
    layer_gains = np.broadcast_to(layer_gains, 12)
    layer, head = table["layer"].to_numpy() - 1, table["head"].to_numpy() - 1
    is_head = head >= 0
    delta = np.where(layer >= 0, layer_gains[layer], 0)
    delta = np.where(is_head, gains[layer, head], delta)
    q = np.where(is_head, q, 1.0)
    # The gain of the best head on the other half of examples.
    is_half = table["metric"] == "ablation_split_half"
    best_layer, best_head = np.unravel_index(gains.argmax(), gains.shape)
    delta = np.where(is_half, gains.max() / 2, delta)
    table = table.assign(sample="complete", delta=delta, value=0.8 + delta, q=q, p=q / 10)
    table.loc[is_half, ["layer", "head"]] = best_layer + 1, best_head + 1
    return table[~(is_half & table.duplicated(["metric", "init"]))]


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


def test_the_papers_own_panels_bear_out_what_it_says_of_heads(papers_own, decide):
    rows = decide("kovaleva2019/figure8", papers_own)
    # Some of the named heads lose or gain an example, which the text does not count.
    rows_of_others = rows[~rows.index.str.startswith("K8.3")]
    assert len(rows) == 32 and (rows_of_others["verdict"] == HOLDS).all(), rows["verdict"]
    best, best_of_half = rows.loc["K8.1 (mrpc)"], rows.loc["K8.1 (mrpc, other half)"]
    assert best["ours"] == pytest.approx(1.13, abs=0.02)
    assert best["published_value"] == "1.13 (digitised)"
    assert best_of_half["ours"] == pytest.approx(best["ours"] / 2, abs=1e-4)


def test_the_papers_own_panels_bear_out_half_of_what_it_says_of_layers(papers_own, decide):
    rows = decide("kovaleva2019/figure9", papers_own).loc[["K9.1", "K9.2 (qnli)", "K9.2 (mnli)"]]
    assert rows["verdict"].tolist() == [HOLDS, FAILS, FAILS]
    assert rows["ours"].iloc[0] == pytest.approx(3.2, abs=0.05)
    assert rows["ours"].iloc[1:].tolist() == pytest.approx([-8.6, -3.2], abs=0.02)


def test_verdicts_flip_with_the_data(decide):
    tables = {task: make_table(task, -0.01, -0.001, q=0.01) for task in TASKS}
    for table in tables.values():
        is_named = (table["layer"] == 4) & (table["head"] == 1)
        table.loc[is_named, ["value", "delta"]] += 0.005
    rows = decide("kovaleva2019/figure8", tables)
    assert (rows["verdict"] == FAILS).all()
    assert rows.loc["K8.3 (mrpc, L1H2)", "ours"] == pytest.approx(1)
    rows = decide("kovaleva2019/figure9", tables)
    holds = ["K9.2 (mnli)", "K9.2 (qnli)"]
    assert (rows.drop(index=holds)["verdict"] == FAILS).all()
    assert (rows.loc[holds, "verdict"] == HOLDS).all()


FIGURES = [ablations.figure8, ablations.figure9]


@pytest.mark.parametrize("figure", FIGURES)
def test_a_task_that_the_paper_lacks_is_drawn_without_its_panel(paper, figure):
    _, table, _ = figure(
        measured({"cola": make_table("rte", 0.01, inits=1).assign(model="cola")}), paper
    )
    assert set(table["source"]) == {"ours"}


@pytest.mark.parametrize("figure", FIGURES)
def test_runs_that_failed_to_train_are_left_out_and_named(paper, figure):
    trained = make_table("rte", 0.01, 0.01, q=0.01, inits=1)
    failed = trained.assign(seed=2, failed=True, q=1.0, value=0.5, delta=-0.3)
    _, table, caption = figure(measured({"rte": pd.concat([trained, failed])}), paper)
    _, expected, _ = figure(measured({"rte": trained}), paper)
    rows, expected = (
        rows.query("source == 'ours' and variant == 'uniform'") for rows in (table, expected)
    )
    assert rows["value"].to_numpy() == pytest.approx(expected["value"].to_numpy())
    assert (rows["failed"] >= 1).all() and "Failed to train" in caption


def test_the_first_run_drawn_is_one_that_learned_its_task():
    rows = pd.DataFrame([("a", 1, 1, True), ("a", 2, 1, False), ("a", 2, 0, False), ("a", 1, 0, False),
                         ("b", 1, 1, True), ("b", 2, 1, True), ("c", 1, 0, False)],
                        columns=["panel", "init", "seed", "failed"])  # fmt: skip
    first = numbers.first_run(Table.of(rows)).rows.drop_duplicates(["panel", "init"])
    assert dict(zip(first["panel"], first["init"], strict=True)) == {"a": 2, "b": 1, "c": 1}
    assert len(first) == 3
