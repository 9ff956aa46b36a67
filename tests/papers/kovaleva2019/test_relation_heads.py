import numpy as np
import pytest
from made_papers import stretched

from bertshift.errors import UserError
from bertshift.papers import by_name
from bertshift.papers.kovaleva2019 import figure3
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

NAME, PATH = "kovaleva2019/figure3", "results/relation_heads/base.tsv"
BACK = {"max_lu_to_fe": 0.5, "code_zip": 1}


@pytest.fixture(scope="module")
def paper(published):
    return published["kovaleva2019"]


def make_matrix():
    """Make scores up to 0.15, and two heads at .2 and .21."""
    matrix = np.random.default_rng(0).uniform(0, 0.15, (12, 12))
    matrix[0, 1], matrix[-1, -2] = 0.2, 0.21
    return matrix


def make_tables(
    matrix, null=0.05, back=0.5, inits=5, checkpoint="google-bert/bert-base-uncased@86b5e09"
):
    """Make scores [12, 12] of arguments as queries; the other way they are `back` times that."""
    table = stretched(NAME, inits=inits, checkpoint=checkpoint)[PATH]
    cells = np.column_stack([matrix.mean(1), matrix])[table["layer"] - 1, table["head"]]
    scores = table["metric"] == "relation_heads"
    factor = (
        table["variant"]
        .map(BACK | {"max_lu_to_fe": back})
        .fillna(max(back, 1))
        .where(table["variant"] != "max_fe_to_lu", 1)
    )
    value = table["value"].mask(scores, cells * factor)
    numbers = {
        "null": table["null"].mask(scores, null),
        "null_99": table["null_99"].mask(scores, 1.1 * null),
    }
    table = table.assign(value=value, heads_99=np.percentile(matrix, 99), **numbers)
    heads = (
        table[scores & (table["head"] > 0)]
        .groupby(["variant", "init"])["value"]
        .rank(ascending=False, method="first")
    )
    return {PATH: table.assign(rank=heads)}


def verdicts(paper, *matrix, **more):
    tables = make_tables(*(matrix or [make_matrix()]), **more)
    return by_name.decide(NAME, tables, paper).set_index("claim")


def test_the_papers_own_figure_agrees_with_itself_and_bears_out_its_two_heads(paper):
    matrix = np.array(paper["figure3"]["matrix"])
    figure, table, _ = figure3.draw(make_tables(matrix, inits=1), paper)
    assert [axes for axes in figure.axes if "r = 1.00" in axes.get_title()]
    row = table[
        (table["source"] == "published") & (table["panel"] == "map") & (table["layer"] == 7)
    ]
    assert row["value"].tolist() == paper["figure3"]["example"]["L7H6"]
    rows = verdicts(paper, matrix)
    two = ["K3.1 (L1H2)", "K3.1 (L7H6)"]
    assert (
        rows.loc[[*two, "K3.3 (two best heads)", "K3.3 (some head)"], "verdict"] == HOLDS
    ).all()
    assert rows.loc[two, "ours"].tolist() == [2, 1]
    assert rows.loc["K3.2", "verdict"] == FAILS and rows.loc["K3.2", "ours"] == pytest.approx(
        -0.1, abs=0.01
    )
    assert (verdicts(paper, matrix[::-1]).loc[two, "verdict"] == FAILS).all()


def test_heads_are_named_on_the_papers_checkpoint_alone(paper):
    row = verdicts(paper, checkpoint="local other").loc["K3.1 (L1H2)"]
    assert row["verdict"] == UNTESTED and "other numbers in local other" in row["reason"]


def test_a_score_that_positions_give_is_no_relation(paper):
    rows = verdicts(paper, null=0.195, back=2)
    assert rows.loc["K3.3 (two best heads)", "verdict"] == FAILS  # 0.2 and 0.21 against 0.2145
    assert rows.loc["K3.2", "verdict"] == HOLDS and rows.loc["K3.2", "replicates"] == 5
    single = verdicts(paper, null=0.195, back=2, inits=1).loc["K3.2"]
    assert (single["verdict"], single["replicates"]) == (UNDECIDED, 1)
    between = verdicts(paper, null=0.185)  # 0.2035
    assert between.loc["K3.3 (two best heads)", "verdict"] == FAILS
    assert between.loc["K3.3 (some head)", "verdict"] == HOLDS


def test_one_model_at_a_time(paper):
    table = make_tables(make_matrix(), inits=1)[PATH]
    with pytest.raises(UserError, match="draws the heads of one"):
        figure3.draw({PATH: table, "other": table.assign(model="mnli")}, paper)
