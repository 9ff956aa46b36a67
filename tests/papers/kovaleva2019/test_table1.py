import numpy as np
import pytest
from made_papers import real

from bertshift.papers import by_name
from bertshift.papers.kovaleva2019 import table1
from bertshift.verdicts.deciding import HOLDS, UNTESTED

NAME = "kovaleva2019/table1"
METRICS = {
    "f1_acc": ["f1", "accuracy"],
    "correlation": ["pearson", "spearman"],
    "accuracy": ["accuracy"],
}


@pytest.fixture(scope="module")
def paper(published):
    return published["kovaleva2019"]


def make_tables(paper, train=3600):
    """Give the real run's tables the paper's scores; its one correlation is that of both."""
    tables, spread = real(NAME), np.linspace(-0.005, 0.005, 20)
    for path, table in tables.items():
        task = path.rpartition("/")[2].partition(".")[0]
        row = paper["table1"]["rows"][task]
        names = METRICS[row["metric"]]
        is_frozen, is_random = "/frozen/" in path, ".random" in path
        column = "finetuned"
        if is_frozen:
            column = "pretrained"
        elif is_random:
            column = "random_init"
        score = dict(zip(names, np.broadcast_to(np.ravel(row[column]) / 100, len(names))))
        value = table["score" if is_frozen else "metric"].map(score)
        if is_frozen:
            heads = table["variant"] == "random_head"
            offset = spread[table["draw"].clip(1, 20).to_numpy(int) - 1]
            table["value"] = table["value"].mask(heads, (value + offset).clip(0))
            table["answer"] = table["answer"].mask(heads)
        else:
            table = table.assign(
                value=value + 0.001 * (table["seed"] - 2) * (column == "finetuned"),
                train=train if is_random else 3600,
            )
        tables[path] = table.assign(**({"failed": False} if "failed" in table else {}))
    return tables


def verdicts(paper, **more):
    return by_name.decide(NAME, make_tables(paper, **more), paper).set_index("claim")


def test_the_papers_own_numbers_bear_out_what_it_says(paper):
    rows = verdicts(paper)
    assert len(rows) == 1 + 7 + 2 + 7 + 6
    assert rows.loc["K1.1", "published_value"] == "35.9"
    assert rows.loc["K1.1", "ours"] == pytest.approx(35.9, abs=0.1)
    assert rows.loc["K1.2 (stsb)", "published_value"] == "79.8"
    assert rows.loc["K1.2 (stsb)", "ours"] == pytest.approx(79.8, abs=0.5)
    assert (rows.filter(like="K1.2", axis=0)["verdict"] == HOLDS).all()
    assert rows.loc["K1.3 (qnli)", "published_value"] == "-3.3"
    assert rows.loc["K1.5 (qnli)", "ours"] > 1  # the only accuracy above the majority class


def test_fewer_rows_for_random_weights_decide_nothing(paper):
    rows = verdicts(paper, train=1200)
    unlike = rows[rows.index.str.startswith(("K1.2", "K1.3"))]
    assert (unlike["verdict"] == UNTESTED).all()
    assert (
        unlike["reason"].str.contains("were trained on 1200 rows, pretrained ones on 3600").all()
    )
    assert (rows.filter(like="K1.4", axis=0)["verdict"] != UNTESTED).all()
    _, _, caption = table1.draw(make_tables(paper, train=1200), paper)
    assert "on 1200 rows, pretrained ones on 3600" in caption


def test_a_run_is_constant_if_all_its_metrics_are_one_answers():
    """An accuracy alone can be a constant's by chance; with F1 it cannot."""
    frozen, tuned = (
        real(NAME, "/mrpc.tsv")[f"results/{kind}/mrpc.tsv"] for kind in ("frozen", "scores")
    )
    answer = frozen[(frozen["variant"] == "constant") & (frozen["draw"] == 1)].set_index("score")[
        "value"
    ]
    first, second = tuned["metric"] == "accuracy", tuned["seed"] == 2
    tuned["value"] = tuned["value"].mask(first | second, tuned["metric"].map(answer))
    rows = table1.runs({"a": tuned, "b": frozen}).query("series == 'finetuned'")
    assert rows.groupby("seed")["constant"].agg(["min", "max"]).to_numpy().tolist() == [[False] * 2, [True] * 2, [False] * 2]  # fmt: skip
