import pytest
from made_papers import real

from bertshift.papers import by_name

ITEMS = ["figure1", "figure2", "figure3"]


def drawn(item, published, failed=(), change=lambda table: table):
    """With these seeds of MRPC failed: (figure, its rows, caption, MRPC's table)."""
    name = f"hao2020/{item}"
    tables = {
        path: change(table.assign(failed=(table["model"] == "mrpc") & table["seed"].isin(failed)))
        for path, table in real(name).items()
    }
    [own] = [
        table
        for path, table in tables.items()
        if path.endswith(("/mrpc.tsv", "/mrpc_vs_base.tsv"))
    ]
    return *by_name.draw(name, tables, published["hao2020"]), own


def words(figure):
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return [text.get_text() for legend in legends if legend for text in legend.get_texts()]


@pytest.mark.parametrize("item", ITEMS)
def test_runs_that_failed_to_train_are_left_out_and_counted(published, item):
    figure, table, caption, own = drawn(item, published, [2])
    variant = "nats" if item == "figure1" else "svcca99"
    kept = own[
        (own["seed"] != 2) & (own["head"] == 0) & (own["variant"] == variant) & (own["layer"] > 0)
    ]
    means = kept.groupby("layer")["value"].mean()
    rows = (
        table[(table["series"] == "mrpc") & (table["variant"] == variant)]
        .set_index("layer")
        .loc[means.index]
    )
    assert rows["value"].to_numpy() == pytest.approx(means.to_numpy())
    assert (rows["trained"] == 2).all() and (rows["failed"] == 1).all()
    assert (table.loc[~table["series"].str.startswith("mrpc"), "failed"] == 0).all()
    assert "MRPC 1 of 3; left out" in caption and "MRPC" in words(figure)
    if item == "figure2":  # so are the directions
        assert rows["k_model"].to_numpy() == pytest.approx(
            kept.groupby("layer")["k_model"].mean().to_numpy(), rel=0.01
        )


def test_where_every_run_failed_all_are_drawn_and_marked(published):
    figure, table, *_ = drawn("figure1", published, [1, 2, 3])
    rows = table[table["series"] == "mrpc"]
    assert len(rows) == 6 and (rows["replicates"] == 3).all() and (rows["failed"] == 3).all()
    assert {"MRPC (failed)", "MNLI"} <= set(words(figure))


def test_unmatched_numbers_of_tokens_are_told(published):
    change = lambda table: table.assign(n=3000) if table["model"].iloc[0] == "rte" else table
    assert (
        "3000 to 4000 tokens: distances on other numbers"
        in drawn("figure2", published, change=change)[2]
    )
