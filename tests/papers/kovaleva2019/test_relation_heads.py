import numpy as np
import pytest
from made_papers import stretched
from made_tables import measured

from bertshift.errors import UserError
from bertshift.papers.kovaleva2019 import figure3
from bertshift.verdicts.deciding import FAILS, HOLDS

NAME, PATH = "kovaleva2019/figure3", "results/relation_heads/base.tsv"


def make_matrix():
    """Make scores up to 0.15, and two heads at .2 and .21."""
    matrix = np.random.default_rng(0).uniform(0, 0.15, (12, 12))
    matrix[0, 1], matrix[6, 5] = 0.2, 0.21
    return matrix


BERT = "google-bert/bert-base-uncased@86b5e09"
CLAIMS = ["K3.1 (L1H2)", "K3.1 (L7H6)", "K3.3 (two best heads)", "K3.3 (some head)"]


def make_tables(matrix, null=0.05, back=0.5, inits=5, checkpoint=BERT):
    """Make scores [12, 12] of arguments as queries; the other way they are `back` times that."""
    table = stretched(NAME, inits=inits, checkpoint=checkpoint)[PATH]
    is_score = table["metric"] == "relation_heads"
    cells = np.column_stack([matrix.mean(1), matrix])[table["layer"] - 1, table["head"]]
    factors = {"max_fe_to_lu": 1, "max_lu_to_fe": back, "max_both": max(back, 1), "code_zip": 1}
    value = table["value"].mask(is_score, cells * table["variant"].map(factors))
    table = table.assign(value=value, heads_99=np.percentile(matrix, 99))
    table.loc[is_score, ["null", "null_99"]] = null, 1.1 * null
    heads = table[is_score & (table["head"] > 0)].groupby(["variant", "init"])["value"]
    return {PATH: table.assign(rank=heads.rank(ascending=False, method="first"))}


@pytest.fixture
def verdicts(decide):
    def decide_on_scores(matrix=None, **settings):
        tables = make_tables(make_matrix() if matrix is None else matrix, **settings)
        return decide(NAME, tables)

    return decide_on_scores


def test_the_papers_own_figure_agrees_with_itself_and_bears_out_its_two_heads(paper, verdicts):
    matrix = np.array(paper["figure3"]["matrix"])
    figure, table, _ = figure3.draw(measured(make_tables(matrix, inits=1)), paper)
    assert any("r = 1.00" in axes.get_title() for axes in figure.axes)
    row = table.query("source == 'published' and panel == 'map' and layer == 7")
    assert row["value"].tolist() == paper["figure3"]["example"]["L7H6"]
    rows = verdicts(matrix)
    assert (rows.loc[CLAIMS, "verdict"] == HOLDS).all()
    # Both are above the third best head, by .087 and .135.
    third = np.sort(matrix.ravel())[-3]
    lead = matrix[[0, 6], [1, 5]] - third
    assert rows.loc[CLAIMS[:2], "ours"].tolist() == pytest.approx(lead.tolist(), abs=1e-6)
    assert rows.loc["K3.2", "verdict"] == FAILS
    assert rows.loc["K3.2", "ours"] == pytest.approx(-0.1, abs=0.01)
    assert (verdicts(matrix[::-1]).loc[CLAIMS[:2], "verdict"] == FAILS).all()


def test_runs_of_other_checkpoints_do_not_agree_with_the_papers(decide):
    tables = make_tables(make_matrix())
    tables[PATH].loc[tables[PATH]["init"] > 1, "checkpoint"] = "google/multiberts-seed_0@1234567"
    row = decide(NAME, tables).loc["K3.1 (L1H2)"]
    assert (row["verdict"], row["replicates"]) == (HOLDS, 1)
    assert "over inputs alone" in row["reason"]


def test_a_score_that_positions_give_is_no_relation(verdicts):
    rows = verdicts(null=0.185)  # 0.2 and 0.21 against 0.2035
    assert rows.loc[CLAIMS[2:], "verdict"].tolist() == [FAILS, HOLDS]


@pytest.mark.parametrize("inits", [1, 5])
def test_the_other_direction_may_score_higher(verdicts, inits):
    row = verdicts(back=2, inits=inits).loc["K3.2"]
    assert (row["verdict"], row["replicates"]) == (HOLDS, inits)


def test_one_model_at_a_time(paper):
    table = make_tables(make_matrix(), inits=1)[PATH]
    with pytest.raises(UserError, match="draws the heads of one"):
        figure3.draw(measured({PATH: table, "other": table.assign(model="mnli")}), paper)
