import made_reinit
import made_tables
import numpy as np
import pandas as pd
import pytest
from made_tables import measured
from scipy import stats

from bertshift.papers.college2020 import losses, reinitialised_heads


@pytest.mark.parametrize(
    ("key", "differences", "unit", "task", "wrong"),
    [
        ("figure7", "figure5", "layer", "cola", []), ("figure8", "figure6", "layer", "stsb", []),
        ("figure9", "figure5", "head", "cola", [1, 5, 11]), ("figure10", "figure6", "head", "stsb", []),
    ],
)  # fmt: skip
def test_the_papers_summaries_follow_from_its_differences_but_for_three(
    published, key, differences, unit, task, wrong
):
    """Ours are made from the paper's differences, so that its summaries check our arithmetic."""
    tables = measured({"made": made_reinit.heads(task)})
    table = reinitialised_heads.tidy_summaries(
        tables, published["college2020"], key, differences, unit
    )
    cells = reinitialised_heads.with_derived(table)
    differing = cells[reinitialised_heads.differs(cells)]
    assert differing["head"].tolist() == wrong and set(differing["series"]) <= {"p25"}
    said = reinitialised_heads.corrections(table, unit)
    assert said.count("p25 of ") == len(wrong) and bool(said) == bool(wrong)
    ours, printed = (
        table.query(rows).set_index(["series", "layer", "head"])["value"]
        for rows in ("source == 'ours'", "source == 'published' and provenance == 'printed'")
    )
    printed = printed.drop(index=[("p25", 0, head) for head in wrong])
    assert np.abs(ours.loc[printed.index] - printed).max() < reinitialised_heads.EXACT
    assert len(printed) == len(ours) - len(wrong)


@pytest.mark.parametrize(("layers", "quartiles"), [(3, False), (4, True)])
def test_fewer_than_four_numbers_have_no_quartiles(published, layers, quartiles):
    table = made_reinit.heads("cola")
    first = sorted(table["layer"].unique())[:layers]
    tables = {"results/reinit_heads/cola@cased.tsv": table[table["layer"].isin(first)]}
    tables = measured(tables)
    figure, table, _ = reinitialised_heads.draw_summaries(
        tables, published["college2020"], "figure9", "figure5", "head"
    )
    ours = table[table["source"] == "ours"]
    assert ({"p25", "p50", "p75"} <= set(ours["series"])) == quartiles
    assert {"min", "max"} <= set(ours["series"])
    drawn = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert ("p25" in drawn) == quartiles


def test_intervals_over_seeds_have_the_noise_of_the_baselines(published, decide):
    """Three seeds that agree, beside the same five baselines."""
    table = made_reinit.heads("cola", seeds=3, inits=1)
    half = stats.t.ppf(0.975, 4) * table["baseline_sd"].iloc[0] / np.sqrt(5)
    path = "results/reinit_heads/cola@cased.tsv"
    drawn = reinitialised_heads.tidy_summaries(
        measured({path: table}), published["college2020"], "figure7", "figure5", "layer"
    )
    widths = (drawn["high"] - drawn["low"])[drawn["source"] == "ours"] / 2
    of = drawn["series"][widths.index]
    assert widths[of == "p75"].to_numpy() == pytest.approx(half)
    assert widths[of == "std"].max() == 0
    row = decide("college2020/figure7", {path: table}).loc["C7.1 (1)"]
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half)
    several = {path: made_reinit.heads("cola", seeds=3, inits=2)}
    row = decide("college2020/figure7", several).loc["C7.1 (1)"]
    assert row["high"] - row["low"] < half  # each run has baselines of its own


def test_losses_of_runs_that_stop_apart_are_averaged_at_one_step(published):
    """One run failed and stopped at step 70, the other at 100."""
    steps = np.concatenate([np.arange(7, 71, 7), np.arange(10, 101, 10)])
    loss = 1 - steps / 100
    table = pd.DataFrame(
        {"seed": [1] * 10 + [2] * 10, "step": steps, "value": loss, "smoothed": loss}
    )
    table = table.assign(failed=table["seed"] == 1, data="rte", task="rte", metric="loss", init=1,
                         model="rte.plateau@cased", position=5, layers=4,
                         **made_tables.PLACE)  # fmt: skip
    _, rows, _ = losses.figure4(measured({"losses.tsv": table}), published["college2020"])
    assert rows["value"].to_numpy() == pytest.approx(1 - rows["step"].to_numpy() / 100)
    losses_drawn = rows[rows["series"] == "loss"]
    assert losses_drawn["step"].tolist() == [*range(10, 101, 10)]
    assert losses_drawn["replicates"].tolist() == [2] * 7 + [1] * 3
    assert (rows["trained"] == 1).all() and (rows["failed"] == (rows["step"] <= 70)).all()
