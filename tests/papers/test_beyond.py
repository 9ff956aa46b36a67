from made_papers import real


def test_a_change_whose_interval_has_0_has_no_half(draw):
    """SVCCA distance of the last layer, run by run."""
    tables = real("beyond/when", "/sst2")
    for path, table in tables.items():
        if path == "results/svcca/sst2_vs_base.tsv":
            is_last = (table["layer"] == 6) & (table["variant"] == "svcca99")
            varied = table["seed"].map({1: 0.4, 2: 0.0, 3: 0.02})
            table["value"] = table["value"].mask(is_last, varied)
    _, table, _ = draw("beyond/when", tables)
    halves = table[table["panel"] == "half of svcca"]
    assert 6 not in set(halves["layer"]) and {3, 4, 5} <= set(halves["layer"])


def test_each_task_has_its_own_axis_of_losses_and_one_of_layers(draw):
    figure, *_ = draw("beyond/when", real("beyond/when"))
    rows = figure.axes[0].get_gridspec().nrows
    by_row = {row: [] for row in range(rows)}
    for axes in figure.axes[: 2 * rows]:
        by_row[axes.get_subplotspec().rowspan.start].append(axes.get_ylim())
    losses, change = by_row[1], by_row[2]
    assert losses[0][1] < 1 < losses[1][1] and change[0] == change[1]
