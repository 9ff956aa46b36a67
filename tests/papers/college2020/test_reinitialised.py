import made_reinit
import made_tables
import numpy as np
import pandas as pd
import pytest

from bertshift.papers.college2020 import (
    losses,
    reinitialised_heads,
    reinitialised_layers,
)


@pytest.mark.parametrize(
    ("key", "of", "by", "task", "wrong"),
    [
        ("figure7", "figure5", "layer", "cola", []), ("figure8", "figure6", "layer", "stsb", []),
        ("figure9", "figure5", "head", "cola", [1, 5, 11]), ("figure10", "figure6", "head", "stsb", []),
    ],
)  # fmt: skip
def test_the_papers_summaries_follow_from_its_differences_but_for_three(published, key, of, by, task, wrong):
    """Ours are made from the paper's differences, so that its summaries check our arithmetic."""
    inputs = {"made": made_reinit.heads(task)}
    table = reinitialised_heads.tidy_summaries(inputs, published["college2020"], key, of, by)
    cells = reinitialised_heads.with_derived(table)
    found = cells[reinitialised_heads.differs(cells)]
    assert found["head"].tolist() == wrong and set(found["series"]) <= {"p25"}
    cells = ["series", "layer", "head"]
    ours = table[table["source"] == "ours"].set_index(cells)["value"]
    printed = table[(table["source"] == "published") & (table["provenance"] == "printed")].set_index(cells)[
        "value"
    ]
    printed = printed.drop(index=[("p25", 0, head) for head in wrong])
    assert np.abs(ours.loc[printed.index] - printed).max() < reinitialised_heads.EXACT
    assert len(printed) == len(ours) - len(wrong)


def test_stars_are_for_heads_that_no_seed_explains(published):
    rows = {"made": made_reinit.heads("cola", spread=0.004)}
    table = reinitialised_heads.tidy(rows, published["college2020"], "figure5")
    ours = table[(table["source"] == "ours") & (table["series"] == "delta")].set_index(["layer", "head"])
    assert ours.loc[(2, 9), "q"] < 0.05 < ours.loc[(12, 5), "p"]
    base = table[(table["source"] == "ours") & (table["series"] == "baseline")].iloc[0]
    assert base["runs"] == 10 and base["value"] == pytest.approx(0.526)
    assert not reinitialised_heads.comparable(
        reinitialised_heads.tidy(
            {"made": made_reinit.heads("cola", 4, 4)}, published["college2020"], "figure5"
        )
    )


def test_training_to_a_plateau_is_a_second_line(published):
    plain = made_reinit.layers_sweep("rte", 4)
    longer = made_reinit.layers_sweep("rte", 4, name="{}.plateau").assign(epochs=7.0)
    inputs = {
        "results/sweeps/rte@cased.reinit.tsv": plain,
        "results/sweeps/rte.plateau@cased.reinit.tsv": longer,
    }
    figure, table, _ = reinitialised_layers.figure3(inputs, published["college2020"])
    ours = table[(table["source"] == "ours") & (table["run"] == "")]
    assert set(ours["panel"]) == {"rte@cased"}
    assert ours.groupby("series").size().to_dict() == {"majority": 1, "reinit": 5, "reinit.plateau": 5}
    assert "until the loss is on a plateau" in [
        text.get_text() for text in figure.axes[1].get_legend().get_texts()
    ]


def test_mrpc_is_the_majority_class_for_every_layer(published):
    inputs = {"results/sweeps/mrpc@cased.reinit.tsv": made_reinit.layers_sweep("mrpc", 12)}
    table = reinitialised_layers.of_mrpc(inputs, published["college2020"])
    mean = table[table["score"] == "accuracy_and_f1"].set_index(["source", "position"])["value"]
    correct = 279 / 408
    majority = (correct + 2 * 279 / (408 + 279)) / 2
    for k in range(13):
        assert mean["ours"][k] == pytest.approx(majority, abs=1e-9)
        assert mean["published"][k] == pytest.approx(majority, abs=1e-9)
    said = reinitialised_layers.identity(table, published["college2020"])
    assert "Ours equals the majority class, in every score, for 12 of 12 k." in said
    k4 = (table["position"] == 4) & (table["source"] == "ours")
    table.loc[k4 & (table["score"] == "f1"), "value"] -= 0.0009
    table.loc[k4 & (table["score"] == "accuracy_and_f1"), "value"] -= 0.00045
    said = reinitialised_layers.identity(table, published["college2020"])
    assert "for 11 of 12 k; a score differs by up to 0.0009 (k = 4)." in said


def test_runs_at_the_majority_class_count_and_are_counted(published):
    """Runs are counted for each k, each head and each layer; the baselines' own count stands with the baselines."""
    sweep = made_reinit.layers_sweep("mrpc", 4, inits=1, seeds=3)
    sweep["failed"] = (sweep["position"] <= 4) & (sweep["seed"] > 1)
    table = reinitialised_layers.means(reinitialised_layers.runs({"mrpc@cased.reinit.tsv": sweep}))
    counts = ["trained", "failed"]
    found = table.set_index(["series", "position", "run"])[counts].apply(tuple, axis=1)
    assert found["reinit", 2, ""] == (1, 2) and found["reinit", 5, ""] == (3, 0)
    assert found["reinit", 2, "init1_seed2"] == (0, 1) and found["majority", 0, ""] == (0, 0)

    rows = made_reinit.heads("cola", 4, 4, inits=1, seeds=3).assign(baseline_left_out=2)
    rows["failed"] = (rows["layer"] == 4) & (rows["head"] == 2) & (rows["seed"] == 1)
    inputs = {"heads.tsv": rows}
    table = reinitialised_heads.tidy(inputs, published["college2020"], "figure5")
    found = table[table["source"] == "ours"].set_index(["layer", "head"])[counts].apply(tuple, axis=1)
    assert (found[4, 2], found[4, 1], found[0, 0]) == ((2, 1), (3, 0), (5, 2))
    table = reinitialised_heads.tidy_summaries(
        inputs, published["college2020"], "figure7", "figure5", "layer"
    )
    found = table[table["source"] == "ours"].groupby("layer")[counts].agg(set)
    assert found.loc[4].tolist() == [{11}, {1}] and found.loc[1].tolist() == [{12}, {0}]


def test_the_table_of_mrpc_draws_the_model_that_is_listed_first(published):
    plateau = made_reinit.layers_sweep("mrpc", 4, name="{}.plateau")
    inputs = {"results/sweeps/mrpc.plateau@cased.reinit.tsv": plateau}
    inputs["results/sweeps/mrpc@cased.reinit.tsv"] = made_reinit.layers_sweep("mrpc", 4)
    figure, table, _ = reinitialised_layers.table_mrpc(inputs, published["college2020"])
    assert set(table["series"]) == {"reinit.plateau", "majority", "paper"}
    assert "for 4 of 4 k" in reinitialised_layers.identity(table, published["college2020"])
    assert len(figure.axes[0].texts) == 5 * 4 + 3 + 3 * 6


def test_losses_of_runs_that_stop_apart_are_averaged_at_one_step(published):
    short, long = (
        pd.DataFrame({"seed": seed, "step": np.linspace(0, end, 11)[1:].round().astype(int)})
        for seed, end in ((1, 70), (2, 100))
    )
    table = pd.concat([short, long]).assign(
        init=1, model="rte.plateau@cased", position=5, layers=4, **made_tables.PLACE
    )
    table = table.assign(
        value=1 - table["step"] / 100, data="rte", task="rte", metric="loss", failed=table["seed"] == 1
    )
    inputs = {"losses.tsv": table.assign(smoothed=table["value"])}
    _, drawn, _ = losses.figure4(inputs, published["college2020"])
    assert drawn["value"].to_numpy() == pytest.approx(1 - drawn["step"].to_numpy() / 100)
    assert drawn.set_index(["series", "step"])["replicates"]["loss"].to_dict() == {
        step: 2 if step <= 70 else 1 for step in range(10, 101, 10)
    }
    assert drawn["trained"].eq(1).all() and drawn["failed"].eq(drawn["step"] <= 70).all()


def test_heads_of_another_model_are_not_comparable(published):
    for by, of, key in (("layer", "figure5", "figure7"), ("head", "figure5", "figure9")):
        for checkpoint, same in (("google-bert/bert-base-cased@cd5ef92", True), ("multiberts", False)):
            inputs = {"made": made_reinit.heads("cola").assign(checkpoint=checkpoint)}
            table = reinitialised_heads.tidy_summaries(inputs, published["college2020"], key, of, by)
            assert reinitialised_heads.comparable(table) == same


def test_failed_baselines_are_told(published):
    rows = made_reinit.heads("cola").assign(baseline_left_out=2)
    rows.loc[:2, "failed"] = True
    said = reinitialised_heads.failures(reinitialised_heads.deltas({"made": rows}))
    assert f"2 of {len(rows) // 2} runs" in said and "baselines: 4 that failed" in said
    inputs = {"results/reinit_heads/stsb@cased.tsv": made_reinit.heads("stsb").assign(failed=True)}
    _, _, caption = reinitialised_heads.draw_summaries(
        inputs, published["college2020"], "figure8", "figure6", "layer"
    )
    assert "failed to train" in caption and "  " not in caption


def test_a_number_that_is_0_but_for_rounding_is_0():
    written = {value: reinitialised_heads.number(value) for value in (-1e-17, 0.0, 2.5e-4, -0.0123)}
    assert list(written.values()) == ["0", "0", ".00025", "−.012"]
