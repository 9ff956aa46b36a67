import made_reinit
import made_tables
import numpy as np
import pandas as pd
import pytest

from bertshift.papers.college2020 import (
    losses,
    reinitialised_heads,
)


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
    inputs = {"made": made_reinit.heads(task)}
    table = reinitialised_heads.tidy_summaries(
        inputs, published["college2020"], key, differences, unit
    )
    cells = reinitialised_heads.with_derived(table)
    differing = cells[reinitialised_heads.differs(cells)]
    assert differing["head"].tolist() == wrong and set(differing["series"]) <= {"p25"}
    cells = ["series", "layer", "head"]
    ours = table[table["source"] == "ours"].set_index(cells)["value"]
    printed = table[
        (table["source"] == "published") & (table["provenance"] == "printed")
    ].set_index(cells)["value"]
    printed = printed.drop(index=[("p25", 0, head) for head in wrong])
    assert np.abs(ours.loc[printed.index] - printed).max() < reinitialised_heads.EXACT
    assert len(printed) == len(ours) - len(wrong)


def test_losses_of_runs_that_stop_apart_are_averaged_at_one_step(published):
    short, long = (
        pd.DataFrame({"seed": seed, "step": np.linspace(0, end, 11)[1:].round().astype(int)})
        for seed, end in ((1, 70), (2, 100))
    )
    table = pd.concat([short, long]).assign(
        init=1, model="rte.plateau@cased", position=5, layers=4, **made_tables.PLACE
    )
    table = table.assign(
        value=1 - table["step"] / 100,
        data="rte",
        task="rte",
        metric="loss",
        failed=table["seed"] == 1,
    )
    inputs = {"losses.tsv": table.assign(smoothed=table["value"])}
    _, drawn, _ = losses.figure4(inputs, published["college2020"])
    assert drawn["value"].to_numpy() == pytest.approx(1 - drawn["step"].to_numpy() / 100)
    assert drawn.set_index(["series", "step"])["replicates"]["loss"].to_dict() == {
        step: 2 if step <= 70 else 1 for step in range(10, 101, 10)
    }
    assert drawn["trained"].eq(1).all() and drawn["failed"].eq(drawn["step"] <= 70).all()
