from made_papers import real

PATH = "results/grounding/cola@cased.tsv"


def test_too_few_runs_for_any_p_are_told_and_runs_that_failed_are_left_out(draw):
    """Seven models' first runs, of which four failed."""
    table = real("beyond/grounding")[PATH].query("seed == 1 and ref_seed == 1")
    names = sorted({*table["model"], *table["reference"]})[:4]
    failed, ref_failed = table["model"].isin(names), table["reference"].isin(names)
    table = table.assign(failed=failed, ref_failed=ref_failed)
    figure, _, caption = draw("beyond/grounding", {PATH: table})
    title = "CoLA@cased: 3 runs, 3 pairs; too few runs to test"
    assert figure.axes[0].get_title() == title
    assert "CoLA@cased 4 of 7" in caption
