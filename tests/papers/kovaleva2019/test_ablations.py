import re

import numpy as np
import pandas as pd
import pytest
from made_ablations import BASE, TASKS, ablation, confirmed, of_kovaleva
from matplotlib.collections import PathCollection, QuadMesh

from bertshift.errors import UserError
from bertshift.figures import numbers
from bertshift.papers.kovaleva2019 import ablations

FIGURES = {"figure8": ablations.figure8, "figure9": ablations.figure9}


def panels(figure):
    return [
        axes
        for axes in figure.axes
        if any(isinstance(each, QuadMesh) for each in axes.collections) and axes.get_title()
    ]


def bars(figure):
    return [axes for axes in figure.axes if hasattr(axes, "_colorbar")]


@pytest.fixture(scope="module")
def paper(published):
    return published["kovaleva2019"]


@pytest.mark.parametrize("item", FIGURES)
def test_every_panel_has_its_own_colours_and_marks_nothing_disabled(paper, item):
    figure, table, _ = FIGURES[item](of_kovaleva(4, 4), paper)
    assert len(bars(figure)) == 14
    baselines = []
    for axes in bars(figure):
        [line] = axes.get_lines()
        place = np.unique(line.get_xdata() if item == "figure8" else line.get_ydata())
        limits = axes.get_xlim() if item == "figure8" else axes.get_ylim()
        ticks = axes.get_xticks() if item == "figure8" else axes.get_yticks()
        baselines += [value for value in place if limits[0] <= value <= limits[1] and value not in (0, 1)]
        assert ticks == pytest.approx(np.linspace(*limits, 5))
    published = [paper[item]["tasks"][task]["baseline"] for task in TASKS]
    assert sorted(baselines) == pytest.approx(sorted([*BASE.values(), *published]))
    rows = table[table["source"] == "published"].groupby("panel").size()
    assert (rows == (145 if item == "figure8" else 13)).all()


def test_heads_that_all_score_alike_correlate_with_nothing(paper):
    """Heads of a model that gives one answer to every input score alike, so that there is no r."""
    alike = {"results/ablation/rte.tsv": ablation("rte", matrix=np.zeros((12, 12)))}
    figure, _, _ = ablations.figure8(alike, paper)
    assert "RTE, paper\nno r: all alike" in [axes.get_title() for axes in figure.axes]


def test_dots_are_heads_of_the_first_pretraining_run(paper):
    q = np.ones((4, 4))
    q[1, 2] = q[3, 0] = 0.01
    tables = of_kovaleva(4, 4, q=q)
    for init, task in enumerate(["mrpc", "rte"], 1):
        table = tables[f"results/ablation/{task}.tsv"]
        table.loc[(table["init"] == 3 - init) & (table["layer"] == 4) & (table["head"] == 1), "q"] = 0.2
    figure, _, _ = ablations.figure8(tables, paper)
    dots = {}
    for axes in figure.axes:
        for each in axes.collections:
            if isinstance(each, PathCollection):
                dots[axes.get_title().partition("\n")[0]] = sorted(
                    map(tuple, (each.get_offsets() + 0.5).astype(int).tolist())
                )
    assert dots["MRPC (F1), ours"] == [(1, 4), (3, 2)] and dots["RTE (accuracy), ours"] == [(3, 2)]
    assert all(places == [] for name, places in dots.items() if "paper" in name)


def test_a_dot_needs_every_seed(paper):
    q = np.ones((4, 4))
    q[1, 2] = q[3, 0] = 0.01
    table = ablation("mrpc", 4, 4, seeds=2, q=q)
    table.loc[(table["seed"] == 2) & (table["layer"] == 4) & (table["head"] == 1), "q"] = 0.2
    _, drawn, _ = ablations.figure8({"mrpc": table}, paper)
    cells = drawn[(drawn["source"] == "ours") & (drawn["head"] > 0)].set_index(["layer", "head"])
    assert (cells["replicates"] == 2).all()
    assert (cells.loc[(2, 3), "significant"], cells.loc[(4, 1), "significant"]) == (1, 0.5)


def test_heads_run_again_are_framed_and_their_dots_are_of_the_complete_set(paper):
    q = np.ones((4, 4))
    q[0, 0] = q[1, 2] = 0.01
    sampled = ablation("mrpc", 4, 4, q=q)
    tables = {
        "mrpc": confirmed(sampled, [(2, 3), (4, 1)], 0.02).reset_index(drop=True),
        "rte": ablation("rte", 4, 4),
    }
    again = (tables["mrpc"]["sample"] == "complete") & (tables["mrpc"]["layer"] == 4)
    tables["mrpc"].loc[again, "q"] = 0.01
    figure, table, caption = ablations.figure8(tables, paper)
    [axes] = [axes for axes in figure.axes if axes.get_title().startswith("MRPC (F1)")]
    assert sorted(patch.get_xy() for patch in axes.patches) == [(0, 3), (2, 1)]
    [dots] = [each for each in axes.collections if isinstance(each, PathCollection)]
    assert sorted(map(tuple, (dots.get_offsets() + 0.5).astype(int).tolist())) == [(1, 1), (1, 4)]
    assert "best +2.0" in axes.get_title() and "Framed: " in caption
    [mesh] = [each for each in axes.collections if isinstance(each, QuadMesh)]
    plain, alone, caption = ablations.figure8({"mrpc": sampled}, paper)
    cells = alone[(alone["source"] == "ours") & (alone["variant"] == "uniform")]
    assert np.sort(mesh.get_array().compressed()) == pytest.approx(np.sort(cells["value"]))
    assert "Framed" not in caption and not plain.axes[0].patches
    both = table[
        (table["panel"] == "mrpc")
        & (table["layer"] == 2)
        & (table["head"] == 3)
        & (table["source"] == "ours")
    ]
    assert both["sample"].tolist() == ["sample", "complete"]
    _, layers, _ = ablations.figure9(tables, paper)
    assert (layers[(layers["panel"] == "mrpc") & (layers["source"] == "ours")]["sample"] == "sample").all()


def test_a_dot_of_a_head_run_again_needs_every_seed_too(paper):
    """Each seed runs its own extremes again: what they say is of those seeds alone."""
    sampled = ablation("mrpc", 4, 4, inits=1, seeds=3, q=0.6)
    parts = [confirmed(sampled[sampled["seed"] == seed], [(2, seed)], 0.02, q=0.01) for seed in (1, 2, 3)]
    _, drawn, _ = ablations.figure8({"mrpc": pd.concat(parts, ignore_index=True)}, paper)
    cells = drawn[(drawn["source"] == "ours") & (drawn["head"] > 0) & (drawn["sample"] == "sample")]
    dots = cells.set_index(["layer", "head"])["significant"]
    assert dots[2].to_list() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0]) and dots.drop(2, level=0).eq(0).all()


def test_runs_that_failed_to_train_are_left_out_and_told(paper):
    table = ablation("rte", 4, 4, seeds=2, q=0.01)
    useless = table["seed"] == 2
    table = table.assign(
        failed=useless, q=table["q"].where(~useless, 1), value=table["value"].where(~useless, 0.5)
    )
    alone = ablation("rte", 4, 4, seeds=2, q=0.01)
    for item, draw in FIGURES.items():
        _, drawn, caption = draw({"rte": table}, paper)
        ours = drawn[(drawn["source"] == "ours") & (drawn["variant"] == "uniform")]
        assert (ours["failed"] >= 1).all() and (item == "figure9" or (ours["significant"] == 1).all())
        _, expected, _ = draw({"rte": alone[alone["seed"] == 1]}, paper)
        expected = expected.query("source == 'ours' and variant == 'uniform'")["value"].to_numpy()
        assert ours["value"].to_numpy() == pytest.approx(expected)
        assert "Failed to train" in caption


def test_the_first_run_drawn_is_one_that_learned_its_task():
    rows = pd.DataFrame([("a", 1, 1, True), ("a", 2, 1, False), ("a", 2, 0, False), ("a", 1, 0, False),
                         ("b", 1, 1, True), ("b", 2, 1, True), ("c", 1, 0, False)],
                        columns=["panel", "init", "seed", "failed"])  # fmt: skip
    kept = numbers.first_run(rows)
    assert kept.groupby("panel")["init"].unique().map(list).to_dict() == {"a": [2], "b": [1], "c": [1]}


def test_titles_say_what_the_best_head_gains_and_whether_panels_agree(paper):
    eight = paper["figure8"]["tasks"]["mrpc"]
    same = np.array(eight["matrix"]) - eight["baseline"]
    figure, table, _ = ablations.figure8(
        {"mrpc": ablation("mrpc", matrix=same), "rte": ablation("rte", 4, 4)}, paper
    )
    titles = [axes.get_title() for axes in figure.axes]
    assert (
        "MRPC (F1), ours\nbest +1.1, other half +0.6" in titles
        and "MRPC, paper\nr = 1.00 with ours" in titles
    )
    assert "RTE, paper\nnot comparable" in titles
    assert re.search(
        r"accuracy\), ours\nbest [+−]0\.\d, other half", titles[[t[:3] for t in titles].index("RTE")]
    )
    rows = table[(table["panel"] == "mrpc") & (table["source"] == "ours")].set_index("variant")["value"]
    assert rows["largest_gain"] == pytest.approx(same.max()) and rows[
        "largest_gain_other_half"
    ] == pytest.approx(same.max() / 2)


@pytest.mark.parametrize("item", FIGURES)
def test_a_task_that_the_paper_lacks_is_drawn(paper, item):
    figure, table, _ = FIGURES[item]({"cola": ablation("mrpc", 4, 4).assign(model="cola")}, paper)
    assert set(table["source"]) == {"ours"} and len(bars(figure)) == 1


@pytest.mark.parametrize("item", FIGURES)
def test_a_table_without_the_variant_says_so(paper, item):
    table = ablation("mrpc", 4, 4)
    with pytest.raises(UserError, match="results/ablation/mrpc.tsv has no variant 'uniform'"):
        FIGURES[item]({"mrpc": table[table["variant"] != "uniform"]}, paper)
