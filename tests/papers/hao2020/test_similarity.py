import numpy as np
import pytest
from made_papers import hao2020
from scipy import stats

from bertshift.papers import by_name
from bertshift.papers.hao2020 import similarity
from bertshift.papers.hao2020.similarity import tidy
from bertshift.verdicts.deciding import FAILS, HOLDS

CKA = ["cka_debiased", "cka_debiased_null"]


@pytest.fixture(scope="module")
def falling():
    """Tables in which CKA falls with depth on MNLI's tokens, and every other distance rises on all tasks'."""
    tables = hao2020(6, 2, inits=5)["similarity"]
    one = tables["results/similarity/mnli@large_vs_large.tsv"]
    chosen = (one["variant"] == "cka_debiased") & (one["tokens"] == "all")
    one.loc[chosen, "value"] = 1 - one.loc[chosen, "value"]
    return tables


def test_shares_and_ranks_are_of_each_replicate(falling):
    table = tidy(falling, {}).query("panel == 'mnli@large' and tokens == 'all'")
    ours = falling["results/similarity/mnli@large_vs_large.tsv"].query("tokens == 'all' and layer == 4")
    runs = ours[ours["variant"].isin(CKA)].pivot(index=["init", "seed"], columns="variant", values="value")
    share = table[(table["quantity"] == "share of null") & (table["variant"] == CKA[0])].set_index("layer")
    expected = (runs[CKA[0]] / runs[CKA[1]]).groupby("init").mean()
    assert share.loc[4, "value"] == pytest.approx(expected.mean())
    on_logs = stats.t.interval(0.95, 4, np.log(expected.mean()), stats.sem(expected) / expected.mean())
    assert share.loc[4, ["low", "high"]].tolist() == pytest.approx(np.exp(on_logs).tolist())
    ranks = table[table["quantity"] == "rank correlation"].set_index("variant")["value"]
    assert ranks["cka_debiased ~ procrustes"] < -0.9 and ranks["svcca99 ~ procrustes"] > 0.9
    assert len(ranks) == 15


def test_a_measure_without_canonical_correlations_leaves_the_others(falling):
    kept = {
        path: table[(table["tokens"] != "cls") | ~table["metric"].isin(["svcca", "pwcca"])]
        for path, table in falling.items()
    }
    figure, table, _ = similarity.draw(kept, {})
    of_cls = table[(table["tokens"] == "cls") & (table["quantity"] == "share of null")]
    assert set(of_cls["variant"]) == {"cka_debiased", "cka_biased", "procrustes"}
    [first, *_] = [axes for axes in figure.axes if axes.get_ylabel() == "[CLS]"]
    lines = [line for line in first.get_lines() if line.get_transform() == first.transData]
    assert sum(np.size(line.get_ydata()) > 0 for line in lines) == 2


def test_a_conclusion_that_one_measure_refutes_fails_for_it_alone(falling, published):
    rows = by_name.decide("hao2020/similarity", falling, published["hao2020"]).set_index("claim")
    failed = {"H2.3 (CKA, mnli)", "H2.4 (CKA, mnli)"}
    assert set(rows.index[rows["verdict"] == FAILS]) == failed and len(rows) == 24
    assert (rows.drop(index=failed)["verdict"] == HOLDS).all()
