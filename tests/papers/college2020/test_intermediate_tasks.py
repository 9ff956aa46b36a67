import numpy as np
import pytest
from made_transfer import PAPER, gains, of_college, replicates

from bertshift.papers.college2020 import figure2
from bertshift.rows.blocks import WITHOUT
from bertshift.rows.significance import benjamini_hochberg


@pytest.fixture(scope="module")
def paper(published):
    return published["college2020"]


def cell(table, panel, final, intermediate, heads, source="ours"):
    chosen = (table["panel"] == panel) & (table["final"] == final) & (table["intermediate"] == intermediate)
    [row] = table[chosen & (table["heads"] == heads) & (table["source"] == source)].itertuples()
    return row


def test_published_accuracies_are_counts_with_their_errors(paper):
    table = figure2.tidy(of_college()["figure2"], paper)
    rte = cell(table, "score", "rte", "cola", "", "published")
    assert (rte.value, rte.provenance) == (pytest.approx(128 / 277), "derived") and rte.se == pytest.approx(
        0.03, abs=5e-4
    )
    assert cell(table, "gain", "rte", "cola", "", "published").value == pytest.approx((128 - 176) / 277)
    cola = cell(table, "score", "cola", "wnli", "", "published")
    assert (cola.value, cola.provenance) == (0.536, "printed") and np.isnan(cola.se)
    for final, row in PAPER["rows"].items():  # cut, not rounded
        for first, value in zip(PAPER["columns"], row, strict=True):
            shown = cell(table, "score", final, "" if first == final else first, "", "published").value
            assert int(shown * 1000 + 1e-6) / 1000 == value


def test_means_gains_and_the_better_of_two(paper):
    inputs = of_college(inits=1, seeds=3)["figure2"]
    table = figure2.tidy(inputs, paper)
    values = (
        inputs["results/gains/wnli+rte.carry@cased_vs_rte@cased.tsv"]
        .query("score == 'accuracy'")["value"]
        .to_numpy()
    )
    where = ("rte", "wnli", "carry")
    assert cell(table, "score", *where).value == pytest.approx(values.mean())
    assert cell(table, "gain", *where).value == pytest.approx(0.588 - 0.635)
    pairs = [max(values[i], values[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert cell(table, "best_of_two", *where).value == pytest.approx(np.mean(pairs))
    two = of_college(inits=2, seeds=2)["figure2"]  # pairs lie within a pretraining run
    runs = two["results/scores/cola@cased.tsv"].query("metric == 'mcc'").groupby("init")["value"].max()
    assert cell(figure2.tidy(two, paper), "best_of_two", "cola", "", "").value == pytest.approx(runs.mean())


def test_runs_that_failed_count_and_are_counted_and_no_interval_is_named_where_there_is_none(paper):
    inputs = of_college(inits=1, seeds=3, heads=["fresh"])["figure2"]
    path = "results/gains/wnli+rte@cased_vs_rte@cased.tsv"
    inputs[path] = inputs[path].assign(failed=inputs[path]["seed"] == 1, ref_failed=inputs[path]["seed"] == 2)
    path = "results/scores/rte@cased.tsv"
    inputs[path] = inputs[path].assign(failed=inputs[path]["seed"] == 2)
    table = figure2.tidy(inputs, paper)
    for panel, intermediate, counts in (
        ("score", "wnli", (2, 1)), ("gain", "wnli", (1, 2)), ("score", "", (2, 1)), ("majority", "", (0, 0)),
    ):  # fmt: skip
        row = cell(table, panel, "rte", intermediate, "fresh" if intermediate else "")
        assert (row.trained, row.failed) == counts
    whole = figure2.tidy(of_college(inits=1, seeds=3, heads=["fresh"])["figure2"], paper)
    assert table["value"].equals(whole["value"])  # none is left out
    ours = table[table["source"] == "ours"]
    assert ((ours["interval"] == "none") == ours["low"].isna()).all()


def test_the_score_of_a_chain_has_its_own_blocks_not_those_of_its_gain(paper):
    """Blocks are as hard for the chain as for the model alone, so that the gain is sure and the score is not."""
    inputs = of_college(inits=1, seeds=1)["figure2"]
    hard = dict(zip(WITHOUT, 0.01 * np.random.default_rng(0).normal(size=len(WITHOUT))))
    for path, table in inputs.items():
        chain = "delta" in table
        number = table["delta"] if chain else table["value"]
        inputs[path] = table.assign(**{name: number + off * (not chain) for name, off in hard.items()})
    table = figure2.tidy(inputs, paper)
    for where in (("rte", "wnli", "carry"), ("rte", "", "")):
        score = cell(table, "score", *where)
        assert score.high - score.low == pytest.approx(0.2, rel=0.5) and score.low < score.value < score.high
    gain = cell(table, "gain", "rte", "wnli", "carry")
    assert gain.high - gain.low < 1e-9


def test_the_least_certain_replicate_is_corrected_for_all_chains_of_a_head(paper):
    inputs = of_college()["figure2"]
    runs = replicates(2, 2, 0.005)
    path = "results/gains/cola+wnli@cased_vs_wnli@cased.tsv"
    inputs[path] = gains("wnli", "cola", runs).assign(p=[0.001, 0.001, 0.03, 0.001] * 2)
    chains = figure2.tidy(inputs, paper).query("panel == 'gain' and source == 'ours' and heads == 'fresh'")
    assert len(chains) == 12 and chains["p"].max() == 0.4
    assert chains["q"].to_numpy() == pytest.approx(benjamini_hochberg(chains["p"].to_numpy()))
    assert chains.set_index(["final", "intermediate"]).loc[("wnli", "cola"), "p"] == 0.03


def test_one_seed_has_no_better_of_two_and_no_test_over_replicates(paper):
    figure, table, caption = figure2.draw(of_college(inits=1, seeds=1, heads=["fresh"])["figure2"], paper)
    assert "best_of_two" not in set(table["panel"]) and table["q_runs"].isna().all()
    assert "The better of two runs needs two seeds" in caption
    assert len(figure.axes) == 1


def test_tasks_that_the_paper_lacks_are_drawn_by_their_headline(paper):
    renamed = {path: table.replace({"mrpc": "sst2", "mrpc@cased": "sst2@cased"})
               for path, table in of_college(heads=["fresh"])["figure2"].items()}  # fmt: skip
    table = figure2.tidy(renamed, paper)
    assert cell(table, "score", "sst2", "", "").score == "other"
    assert "sst2" not in set(table.loc[table["source"] == "published", "final"])
