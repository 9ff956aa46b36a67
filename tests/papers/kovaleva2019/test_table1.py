import numpy as np
import pytest
from made_papers import real
from made_tables import measured

from bertshift.papers.kovaleva2019 import table1
from bertshift.verdicts.deciding import HOLDS, UNTESTED

NAME = "kovaleva2019/table1"
METRICS = {
    "f1_acc": ["f1", "accuracy"],
    "correlation": ["pearson", "spearman"],
    "accuracy": ["accuracy"],
}


def make_tables(paper):
    """Give the real run's tables the paper's scores; its one correlation is that of both."""
    tables, spread = real(NAME), np.linspace(-0.005, 0.005, 20)
    for path, table in tables.items():
        task = path.rpartition("/")[2].partition(".")[0]
        row = paper["table1"]["rows"][task]
        is_frozen, is_random = "/frozen/" in path, ".random" in path
        column = "pretrained" if is_frozen else "random_init" if is_random else "finetuned"
        names = METRICS[row["metric"]]
        scores = dict(zip(names, np.resize(row[column], len(names)) / 100, strict=True))
        if is_frozen:
            heads = table["variant"] == "random_head"
            offset = spread[table["draw"].clip(1, 20).to_numpy(int) - 1]
            value = (table["score"].map(scores) + offset).clip(0)
            table["value"] = table["value"].mask(heads, value)
            table["answer"] = table["answer"].mask(heads)
        else:
            offset = 0 if is_random else 0.001 * (table["seed"] - 2)
            table["value"] = table["metric"].map(scores) + offset
            table["train"] = 3600
            table["failed"] = False
        tables[path] = table
    return tables


def test_the_papers_own_numbers_bear_out_what_it_says(paper, decide):
    rows = decide(NAME, make_tables(paper))
    assert len(rows) == 1 + 7 + 2 + 7 + 6
    published = rows.loc[["K1.1", "K1.2 (stsb)", "K1.3 (qnli)"], "published_value"]
    assert published.tolist() == ["35.9", "79.8", "-3.3"]
    assert rows.loc["K1.1", "ours"] == pytest.approx(35.9, abs=0.1)
    assert rows.loc["K1.2 (stsb)", "ours"] == pytest.approx(79.8, abs=0.5)
    assert (rows.filter(like="K1.2", axis=0)["verdict"] == HOLDS).all()
    # Random heads on one pretrained model are one replicate, whatever was fine-tuned.
    constant = rows.filter(like="K1.5", axis=0)
    assert (constant["verdict"] == UNTESTED).all()
    assert constant["ours"].idxmax() == "K1.5 (qnli)"


def test_a_run_is_constant_if_all_its_metrics_are_one_answers():
    """An accuracy alone can be a constant's by chance; with F1 it cannot."""
    tables = real(NAME, "/mrpc.tsv")
    frozen, tuned = tables["results/frozen/mrpc.tsv"], tables["results/scores/mrpc.tsv"]
    scores = frozen.query("variant == 'constant' and draw == 1").set_index("score")["value"]
    is_constant = (tuned["metric"] == "accuracy") | (tuned["seed"] == 2)
    tuned["value"] = tuned["value"].mask(is_constant, tuned["metric"].map(scores))
    rows = table1.runs(measured(tables)).rows.query("series == 'finetuned'")
    constant = rows.groupby("seed")["constant"]
    assert constant.all().tolist() == constant.any().tolist() == [False, True, False]
