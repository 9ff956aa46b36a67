import re

import numpy as np
import pytest
from made_papers import merchant2020
from made_tables import EDGES, FINETUNED, PAPER, VIEWS, of_merchant, only_row

from bertshift.errors import UserError
from bertshift.figures import grids
from bertshift.papers import by_name
from bertshift.papers.merchant2020 import edge_probes
from bertshift.rows import statistics
from bertshift.rows.blocks import WITHOUT
from bertshift.rows.estimates import BOTH, NONE


def draw(item, published, **runs):
    inputs = of_merchant(12, **runs)[item]
    return by_name.draw(f"merchant2020/{item}", inputs, published["merchant2020"])


@pytest.fixture(scope="module")
def table1(published):
    return draw("table1", published, inits=2, seeds=1)


def written(figure):
    """(column, row, text) of everything in the cells of the first block, by line from top to bottom."""
    axes = figure.axes[0]
    columns = [label.get_text() for label in axes.get_xticklabels()]
    tasks = [label.get_text() for label in axes.get_yticklabels()]
    cells = {}
    for text in axes.texts:
        x, y = text.get_position()
        if text.get_transform() == axes.transData:
            cells.setdefault((columns[round(x)], tasks[round(y)]), []).append((y, text.get_text()))
    return {key: [line for _, line in sorted(lines)] for key, lines in cells.items()}


def test_a_cell_of_table_1_says_ours_both_replicates_and_the_papers(table1):
    figure, table, _ = table1
    cells = written(figure)
    assert len(cells) == 8 * 7
    ours = table[(table["source"] == "ours") & (table["view"] == "micro_all")]
    for name, label in (("mnli", "MNLI"), ("lexical", "Lexical"), ("randomized", "Randomized")):
        row = only_row(ours, panel="delta", series=name, task="relations")
        value, both, paper = cells[label, "Relations"]
        digits = [float(number.replace("−", "-")) for number in re.findall(r"[−\d.]+", f"{value} {both}")]
        assert (
            digits == pytest.approx([row["value"], *statistics.each_of(row["each"])], abs=0.0501)
            and " / " in both
        )
        assert paper == f"paper −{-PAPER['delta'][name]['relations']}"
    assert cells["Base", "POS"][-1] == "paper 97.5"
    assert len(cells["Word only", "POS"]) == 2  # of which the paper has no number
    shown = figure.axes[0].get_xticklabels()
    assert [text.get_text() for text in shown] == [
        "Base",
        "Lexical",
        "Word only",
        "Randomized",
        "MNLI",
        "SQuAD",
        "Dep",
    ]


def test_the_table_holds_every_view_both_readings_of_lexical_and_the_spreads(table1):
    _, table, _ = table1
    ours = table[table["source"] == "ours"]
    names = {"base", "lexical", "word_only", "randomized", *FINETUNED}
    for panel, expected in (("f1", names), ("delta", names - {"base"}), ("selectivity", names)):
        rows = ours[ours["panel"] == panel]
        assert set(zip(rows["series"], rows["task"], rows["view"], strict=True)) == {
            (name, task, view) for name in expected for task in EDGES for view in VIEWS
        }
        assert rows["sd_probe"].notna().all() and rows["sd_pretraining"].notna().all()
    f1, moved = (only_row(ours, panel=p, series="squad", task="srl", view="clean") for p in ("f1", "delta"))
    base = only_row(ours, panel="f1", series="base", task="srl", view="clean")
    assert f1["value"] - base["value"] == pytest.approx(
        moved["value"], abs=1
    )  # two tables with noises of their own
    printed = table[table["source"] == "published"]
    assert len(printed) == 8 * 6
    for row in printed.itertuples():
        known = PAPER["base"] if row.panel == "f1" else PAPER["delta"][row.series]
        assert row.value == known[row.task]


def test_marks_need_every_replicate_and_say_what_survives_correction(published):
    inputs = of_merchant(12)["table1"]
    path = "results/edge_probes/mnli_vs_base.tsv"
    deltas = inputs[path]
    deltas["p"], deltas["value"] = 1.0, deltas["value"].abs()
    here = (deltas["task"] == "pos") & (deltas["view"] == "micro_all") & (deltas["variant"] == "mix")
    for task, p in (("srl", [0.04, 0.03]), ("coref", [0.04, 0.06])):
        chosen = (deltas["task"] == task) & (deltas["view"] == "micro_all") & (deltas["variant"] == "mix")
        deltas.loc[chosen, "p"] = p
    deltas.loc[here, "p"] = 0.001
    both_ways = (
        (deltas["task"] == "relations") & (deltas["view"] == "micro_all") & (deltas["variant"] == "mix")
    )
    deltas.loc[both_ways, ["p", "value"]] = [[0.001, 0.02], [0.001, -0.03]]
    figure, table, _ = by_name.draw("merchant2020/table1", inputs, published["merchant2020"])
    cells = written(figure)
    marks = {
        task: re.sub(r"[^*]", "", cells["MNLI", task][0])
        for task in ("POS", "SRL", "Coreference", "Relations")
    }
    assert marks == {"POS": "**", "SRL": "*", "Coreference": "", "Relations": ""}
    tested = table[(table["panel"] == "delta") & (table["view"] == "micro_all") & table["p"].notna()]
    assert len(tested) == 24
    assert tested["p_holm"].to_numpy() == pytest.approx(statistics.holm(tested["p"]).to_numpy())


@pytest.mark.parametrize("item", ["table1", "appendix_a", "figure1", "appendix_b"])
def test_probes_of_runs_that_failed_are_left_out_and_counted(published, item):
    whole = of_merchant(12, inits=3, noise=0.0)[item]

    def drawn(*inits):
        inputs = {}
        for path, rows in whole.items():
            failed = (rows["model"] == "mnli") & rows["init"].isin(inits)
            p = {"p": rows["p"].where(~failed, 1.0)} if "p" in rows else {}
            inputs[path] = rows.assign(failed=failed, value=rows["value"].where(~failed, 0.1), **p)
        figure, table, caption = by_name.draw(f"merchant2020/{item}", inputs, published["merchant2020"])
        ours = table[table["source"] == "ours"].reset_index(drop=True)
        return figure, ours, caption

    _, complete, caption = drawn()
    assert "Failed" not in caption
    _, table, caption = drawn(2)
    same = [key for key in ("value", "p", "p_holm", "sd_pretraining") if key in table]
    np.testing.assert_allclose(table[same], complete[same], atol=1e-9)
    of_mnli = table[table["series"] == "mnli"]
    assert (of_mnli["trained"] == 2).all() and (of_mnli["failed"] == 1).all() and "MNLI 1 of 3;" in caption
    figure, table, caption = drawn(1, 2, 3)
    of_mnli = table[table["series"] == "mnli"]
    assert (of_mnli["trained"] == 0).all() and "MNLI 3 of 3;" in caption
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    names += [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert "MNLI (failed)" in names


def test_one_run_without_blocks_has_no_interval_but_the_sd_between_probes(published):
    figure, table, _ = draw("table1", published, inits=1, seeds=1)
    row = only_row(table, panel="delta", series="mnli", task="pos", view="micro_all", source="ours")
    assert row["interval"] == NONE and np.isnan(row["low"])
    assert written(figure)["Base", "POS"][1].startswith("sd ")


def test_numbers_are_printed_like_the_papers():
    printed = [grids.number(value, True) for value in (-0.04, 0.04, 0.06, -12.34)]
    assert printed == ["0.0", "0.0", "+0.1", "−12.3"]


def test_appendix_a_sets_the_mix_beside_the_top_layer(published):
    figure, table, _ = draw("appendix_a", published)
    value, _, beside = written(figure)["SQuAD", "SRL"]
    top = only_row(table, panel="delta", series="squad", task="srl", variant="top", view="micro_all")
    mix = only_row(table, panel="delta", series="squad", task="srl", variant="mix", view="micro_all")
    assert value.startswith(grids.number(top["value"], True))
    assert beside == f"mix {grids.number(mix['value'], True)}"
    assert set(table["source"]) == {"ours"}


def test_tasks_whose_control_labels_are_not_learned_are_named(published):
    inputs = of_merchant(12)["table1"]
    _, table, _ = draw("table1", published)
    assert edge_probes.unlearned(table[table["source"] == "ours"]) == ""
    for path in ("results/edge_probes/base.tsv", "results/edge_probes/mnli.tsv"):
        rows, one = inputs[path], ["relations"] + ["srl"] * ("mnli" in path)
        zero = rows["task"].isin(one) & (rows["variant"] == "mix")
        inputs[path] = rows.assign(selectivity=rows["selectivity"].where(~zero, rows["value"]))
    _, _, caption = by_name.draw("merchant2020/table1", inputs, published["merchant2020"])
    columns = table["series"].nunique()
    assert f"selectivity is F1: SRL (1 of {columns} columns), Relations (2 of {columns} columns)." in caption


def test_without_controls_there_is_no_selectivity(published):
    inputs = {
        path: table.assign(control=np.nan, selectivity=np.nan) if "control" in table else table
        for path, table in of_merchant(12)["table1"].items()
    }
    figure, table, _ = by_name.draw("merchant2020/table1", inputs, published["merchant2020"])
    assert len(figure.axes) == 1 and "selectivity" not in set(table["panel"])


@pytest.mark.parametrize(("item", "position"), [("figure3", -1), ("figure4", 12)])
def test_ablations_start_from_the_papers_scores(published, item, position):
    figure, table, _ = draw(item, published)
    printed = table[table["source"] == "published"].set_index("series")
    assert printed["value"].to_dict() == {"mnli": 83.3, "squad": 89.2, "dep": 96.3}
    assert (printed["position"] == position).all()
    stars = [line for line in figure.axes[0].get_lines() if line.get_marker() == "*"]
    assert sorted(star.get_ydata()[0] for star in stars) == [83.3, 89.2, 96.3]


def test_freezing_is_shown_relative_to_each_replicates_own_score(published):
    figure, table, _ = draw("figure3", published, noise=0.0)
    whole = table[(table["panel"] == "percent of unfrozen") & (table["position"] == -1)]
    assert whole["value"].tolist() == [100, 100, 100]
    half = only_row(table, panel="percent of unfrozen", series="dep", position=11)
    assert half["value"] == pytest.approx(100 * 0.5 / 0.91)
    hollow = [line for line in figure.axes[0].get_lines() if line.get_markerfacecolor() == "white"]
    assert [line.get_xdata()[0] for line in hollow] == [-0.5] * 3  # between nothing and layer 0


def test_hard_examples_make_scores_unsure_and_not_their_ratio(published):
    """Without each block all scores of a model are the same share of what they are with it."""
    shares = dict(zip(WITHOUT, 1 + 0.02 * np.random.default_rng(0).normal(size=len(WITHOUT))))
    inputs = {
        path: table.assign(**{name: table["value"] * share for name, share in shares.items()})
        for path, table in of_merchant(12, noise=0.0)["figure3"].items()
    }
    _, table, _ = by_name.draw("merchant2020/figure3", inputs, published["merchant2020"])
    where = {"series": "dep", "position": 5, "source": "ours"}
    score, percent = (only_row(table, panel=panel, **where) for panel in ("score", "percent of unfrozen"))
    assert score["interval"] == BOTH and score["high"] - score["low"] > 5
    assert percent["high"] - percent["low"] < 1e-6


def test_layers_to_95_percent_are_counted_by_replicate(published):
    _, table, _ = draw("figure4", published, noise=0.0)
    reached = table[table["panel"] == "layers_to_95pct"].set_index("series")["value"]
    # What is missing of the gain is (1 - k/12) to the power 6, 5 and 2: at most a twentieth from these k on.
    assert reached.to_dict() == {"mnli": 5, "squad": 6, "dep": 10}
    _, table, _ = draw("figure4", published, noise=0.05)
    rows = table[table["panel"] == "layers_to_95pct"]
    assert (rows["low"] < rows["high"]).any() and (rows["low"] >= 0).all() and (rows["high"] <= 12).all()
    inputs = of_merchant(12, noise=0.0)["figure4"]
    flat = {path: rows.assign(value=0.5) for path, rows in inputs.items()}
    _, table, caption = by_name.draw("merchant2020/figure4", flat, published["merchant2020"])
    assert "layers_to_95pct" not in set(table["panel"]) and "no task gains" in caption
    assert "without 6 of 6 replicates, in which more layers gain nothing" in caption


@pytest.mark.parametrize(
    ("item", "position", "frozen"), [("figure3", -1, "mnli.freeze11"), ("figure4", 12, "mnli.keep0")]
)
def test_a_sweep_whose_complete_run_failed_is_left_out_unless_all_are(published, item, position, frozen):
    inputs = of_merchant(12, inits=2, noise=0.0)[item]
    path = next(path for path in inputs if "/mnli." in path)
    rows = inputs[path]

    def drawn(failed):
        bent = rows.assign(failed=failed | (rows["model"] == frozen), value=rows["value"].where(~failed, 0.3))
        figure, table, caption = by_name.draw(
            f"merchant2020/{item}", inputs | {path: bent}, published["merchant2020"]
        )
        score = only_row(table, panel="score", series="mnli", position=position, source="ours")
        cut = rows.loc[rows["model"] == frozen, "position"].iloc[0]
        at_cut = only_row(table, panel="score", series="mnli", position=cut, source="ours")
        assert (at_cut["trained"], at_cut["failed"]) == (0, 2)  # counted, though they stay
        return (score, caption, figure.axes[0].get_legend_handles_labels()[1])

    complete = rows["position"] == position
    score, caption, labels = drawn(complete & (rows["init"] == 2))
    assert score["value"] == pytest.approx(83) and (score["trained"], score["failed"]) == (1, 1)
    assert "MNLI 1 of 2;" in caption and not any("failed" in label for label in labels)
    score, caption, labels = drawn(complete)
    assert score["value"] == pytest.approx(30) and (score["trained"], score["failed"]) == (0, 2)
    assert "MNLI 2 of 2;" in caption and any("(failed)" in label for label in labels)
    _, caption, _ = drawn(rows["init"] == 0)
    assert "Failed" not in caption


def test_a_sweep_without_its_end_says_so(published):
    inputs = of_merchant(12)["figure3"]
    path, rows = next(iter(inputs.items()))
    with pytest.raises(UserError, match="lacks its unfrozen end"):
        by_name.draw("merchant2020/figure3", {path: rows[rows["position"] > -1]}, published["merchant2020"])


@pytest.mark.parametrize("item", ["table1", "appendix_a", "appendix_b"])
def test_the_caption_says_where_seeds_share_a_probe_of_the_pretrained_model(published, item):
    def said(inits, seeds, probes):
        inputs = {
            path: table[table["probe_seed"] <= probes] if "probe_seed" in table else table
            for path, table in of_merchant(12, inits=inits, seeds=seeds)[item].items()
        }
        return (
            "Seeds share a probe"
            in by_name.draw(f"merchant2020/{item}", inputs, published["merchant2020"])[2]
        )

    assert said(1, 2, 1)
    assert not said(1, 2, 2) and not said(2, 2, 1)


def test_code_lengths_are_relative_to_the_same_pretraining_run(published):
    inputs = of_merchant(12, noise=0.0)["appendix_b"]
    scaled = {}
    for path, rows in inputs.items():
        bits = rows["quantity"] == "codelength"
        scaled[path] = rows.assign(value=rows["value"].where(~bits, rows["value"] * rows["init"]))
    _, table, _ = by_name.draw("merchant2020/appendix_b", scaled, published["merchant2020"])
    ratios = table[table["panel"] == "relative code length"].set_index(["series", "task"])["value"]
    assert ratios["dep", "dependencies"] == pytest.approx(0.85)
    assert ratios.drop(("dep", "dependencies")).to_numpy() == pytest.approx(1.0)


def means_in(axes):
    """The lines that are no single replicate's."""
    return [line for line in axes.get_lines() if line.get_alpha() is None]


def test_figure_5_shows_own_controls_thin_and_dep_by_itself(published):
    inputs = merchant2020(12)["figure5"]
    figure, table, _ = by_name.draw("merchant2020/figure5", inputs, published["merchant2020"])
    assert [axes.get_title() for axes in figure.axes] == ["MNLI model", "SQuAD model", "Dep model"]
    widths = [sorted(line.get_linewidth() for line in means_in(axes)) for axes in figure.axes]
    assert widths == [[1, 1, 1, 1, 1.4, 1.4, 2.2]] * 2 + [[1, 1, 1, 1.4, 2.2]]
    assert {"mnli_premise", "wiki_like_mnli", "mnli_train"} <= set(
        table.loc[table["panel"] == "mnli", "series"]
    )
    [legend] = figure.legends
    assert len([text for text in legend.get_texts() if text.get_text().strip()]) == 8
    # and with what the pretrained figures had: two models, four inputs
    few = {
        path: rows[rows["stimuli"].isin(["wiki", "wiki_pair", "mnli", "squad"])]
        for path, rows in inputs.items()
    }
    few.pop("results/rsa/dep_vs_base.tsv")
    figure, _, _ = by_name.draw("merchant2020/figure5", few, published["merchant2020"])
    assert [len(means_in(axes)) for axes in figure.axes] == [4, 4]


def test_a_task_that_the_paper_has_not_stands_below_its_own(published):
    inputs = {
        path: table.replace({"task": {"spr": "spr2"}}) for path, table in of_merchant(12)["table1"].items()
    }
    figure, _, _ = by_name.draw("merchant2020/table1", inputs, published["merchant2020"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()][-2:] == ["Relations", "spr2"]


def test_probes_of_the_pretrained_model_are_needed(published):
    inputs = of_merchant(12)["appendix_a"]
    only_mix = {path: table[table["variant"] != "top"] for path, table in inputs.items()}
    with pytest.raises(UserError, match="no edge probes of kind 'top' on the pretrained model"):
        by_name.draw("merchant2020/appendix_a", only_mix, published["merchant2020"])
