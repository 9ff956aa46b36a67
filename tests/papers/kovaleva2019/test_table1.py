import numpy as np
import pytest
from made_scores import ANSWERS, HEADS, frozen, of_kovaleva, printed, scores
from made_tables import only_row

from bertshift.papers.kovaleva2019 import table1
from bertshift.rows.blocks import WITHOUT
from bertshift.rows.estimates import INPUTS


@pytest.fixture(scope="module")
def paper(published):
    return published["kovaleva2019"]


@pytest.fixture(scope="module")
def drawn(paper):
    return table1.draw(of_kovaleva(), paper)


def one(table, **where):
    return only_row(table, **{"panel": "score", "source": "ours"} | where)


def written(figure):
    """Lines of every cell, from top to bottom, by the words of its column and row."""
    axes = figure.axes[0]
    columns = [label.get_text().replace("\n", " ") for label in axes.get_xticklabels()]
    rows = {
        place: label.get_text().replace("\n", " ")
        for place, label in zip(axes.get_yticks(), axes.get_yticklabels())
    }
    cells = {}
    for text in axes.texts:
        x, y = text.get_position()
        if text.get_transform() == axes.transData:
            row = min(rows, key=lambda place: abs(place - y))
            cells.setdefault((columns[round(x)], rows[row]), []).append((y, text.get_text()))
    return {key: [line for _, line in sorted(lines)] for key, lines in cells.items()}


def test_a_cell_says_ours_its_spread_and_the_papers(drawn):
    figure, table, _ = drawn
    cells = written(figure)
    heads = one(table, series="random_head", model="rte", score="accuracy")
    assert heads["runs"] == 2 * HEADS and heads["constant"] == 2
    number, spread, paper = cells["8 random heads", "RTE accuracy"]
    assert number == f"{heads['value']:.1f} ± {heads['sd']:.1f}" and paper == "paper 52.7 †"
    assert spread == f"[{heads['least']:.1f}, {heads['most']:.1f}] †2"
    assert cells["Majority class", "MRPC accuracy"] == ["68.3"]
    assert cells["from random weights", "MRPC F1"] == ["81.2 †", "paper 81.2 †"]
    assert cells["from random weights", "STS-B Pearson"] == [
        "2.9"
    ]  # which correlation the paper has is not known
    assert cells["from the pretrained", "STS-B mean of both"][-1] == "paper 82.7"
    assert cells["the paper's Figures 8, 9", "RTE accuracy"] == ["58.5"]
    assert cells["Transformers examples", "QQP F1"] == ["84.3"]
    assert cells["8 random heads", "Mean gain of fine-tuning"][-1] == "paper +35.9"


def test_fine_tunings_that_failed_are_counted_and_what_is_not_fine_tuned_is_not(paper):
    failed = {"rte": False, "rte.random": True}
    inputs = {
        path: table.assign(failed=table["model"].map(failed)) if "/scores/" in path else table
        for path, table in of_kovaleva().items() if "/rte." in path
    }  # fmt: skip
    table = table1.tidy(inputs, paper)
    counts = {"finetuned": (2, 0), "random_start": (0, 1), "random_head": (0, 0), "majority": (0, 0)}
    for series, expected in counts.items():
        row = one(table, series=series, score="accuracy")
        assert (row["trained"], row["failed"]) == expected


def test_means_and_gains_are_those_of_the_rows(drawn):
    _, table, _ = drawn
    rows = table1.runs(of_kovaleva())
    both = [rows.query(f"model == 'stsb' and series == 'finetuned' and score == '{name}'")["value"].to_numpy()
            for name in ("pearson", "spearman", "correlation")]  # fmt: skip
    assert (both[0] + both[1]) / 2 == pytest.approx(both[2])
    score = {
        name: table.query(f"panel == 'score' and source == 'ours' and series == '{name}'")
        for name in table["series"]
    }
    for name in ("majority", "random_head", "linear_probe_mean"):
        mean = [
            rows.query("score in ('accuracy', 'correlation')")["value"].mean()
            for rows in (score["finetuned"], score[name])
        ]
        assert one(table, panel="gain", series=name)["value"] == pytest.approx(mean[0] - mean[1])
    above = one(table, panel="above_majority", series="finetuned", model="sst2")
    assert above["value"] == pytest.approx(one(table, series="finetuned", model="sst2")["value"] - 50.9)
    assert one(table, panel="gain", series="random_start", source="published")["value"] == pytest.approx(
        26.44, abs=0.01
    )


def test_a_gain_is_as_sure_as_the_same_examples_make_it(paper):
    """Blocks that are hard for all starts alike make scores unsure, and gains not."""
    hard = 0.01 * np.random.default_rng(0).normal(size=len(WITHOUT))
    inputs = {
        path: table.assign(**{name: table["value"] + off for name, off in zip(WITHOUT, hard)})
        for path, table in of_kovaleva(inits=1, seeds=1).items()
    }
    rows = table1.runs(inputs).query("model == 'stsb' and series == 'finetuned'").set_index("score")
    assert rows.loc["correlation", WITHOUT].tolist() == pytest.approx(
        rows.loc[["pearson", "spearman"], WITHOUT].mean().tolist()
    )
    table = table1.tidy(inputs, paper)
    score, gain = one(table, series="finetuned", model="rte"), one(table, panel="gain", series="random_head")
    assert score["interval"] == gain["interval"] == INPUTS
    assert score["high"] - score["low"] > 5 and gain["high"] - gain["low"] < 1e-6


def test_a_run_is_constant_if_all_its_metrics_are_one_answers():
    """An accuracy alone can be a constant's by chance; with F1 it cannot."""
    accuracy = ANSWERS["mrpc"][0][1]
    tuned = scores("mrpc", "finetuned", [(1, 1), (1, 2)])
    second = tuned["seed"] == 2
    tuned.loc[tuned["metric"] == "accuracy", "value"] = accuracy
    tuned.loc[second & (tuned["metric"] == "f1"), "value"] = ANSWERS["mrpc"][0][0]
    rows = table1.runs({"a": tuned, "b": frozen("mrpc")}).query("series == 'finetuned'")
    assert rows.groupby("seed")["constant"].agg(["min", "max"]).to_numpy().tolist() == [
        [False] * 2,
        [True] * 2,
    ]


def test_unlike_training_samples_and_foreign_tasks_are_told(paper):
    _, _, caption = table1.draw(of_kovaleva(train=1200), paper)
    assert "random weights are trained on 1200 rows, pretrained ones on 3600" in caption
    assert "Not alike" not in table1.draw(of_kovaleva(), paper)[2]
    cola = {key: rows.assign(model=rows["model"].replace("rte", "cola"), task="cola", child="cola")
            for key, rows in of_kovaleva().items() if "rte" in key and "random" not in key}  # fmt: skip
    cola["results/scores/rte.tsv"] = cola["results/scores/rte.tsv"].drop(columns="child")
    _, table, _ = table1.draw(cola, paper)
    assert set(table["source"]) == {"ours"} and np.isfinite(table["value"]).all()
    assert "random_start" not in set(table["series"]) and printed("rte", "finetuned")
