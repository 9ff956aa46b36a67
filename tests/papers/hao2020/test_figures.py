import numpy as np
import pytest

from bertshift.papers import by_name


@pytest.fixture(scope="module")
def tables_of(made):
    return made(6, 2)


def failing(tables, model, seeds):
    """These seeds of a model did not learn its task."""
    return {
        path: table.assign(failed=(table["model"] == model) & table["seed"].isin(seeds), ref_failed=False)
        for path, table in tables.items()
    }


def words(figure):
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return [text.get_text() for legend in legends if legend for text in legend.get_texts()]


@pytest.mark.parametrize("item", ["figure1", "figure2", "figure3"])
def test_runs_that_failed_to_train_are_left_out_and_counted(tables_of, published, item):
    name = f"hao2020/{item}"
    tables = failing(tables_of[name], "mrpc@large", [2])
    figure, table, caption = by_name.draw(name, tables, published["hao2020"])
    ours = table[table["layer"] > 0].set_index(["series", "variant", "layer"])
    path = next(path for path in tables if "mrpc" in path)
    kept = tables[path][(tables[path]["seed"] == 1) & (tables[path]["head"] == 0)]
    variant = "nats" if item == "figure1" else "svcca99"
    means = kept[kept["variant"] == variant].groupby("layer")["value"].mean()
    for layer, mean in means.items():
        row = ours.loc[("mrpc@large", variant, layer)]
        assert row["value"] == pytest.approx(mean) and (row["trained"], row["failed"]) == (2, 2)
    assert (ours.drop("mrpc@large", level="series")["failed"] == 0).all()
    assert "MRPC@large 2 of 4; left out" in caption
    assert "MRPC@large" in words(figure) and not any("failed" in word for word in words(figure))


def test_directions_are_those_of_the_runs_that_are_drawn(tables_of, published):
    tables = failing(tables_of["hao2020/figure2"], "mrpc@large", [2])
    path = next(path for path in tables if "mrpc" in path)
    tables[path] = tables[path].assign(k_model=np.where(tables[path]["seed"] == 2, 10, 100))
    table = by_name.draw("hao2020/figure2", tables, published["hao2020"])[1].query("series == 'mrpc@large'")
    assert (table["failed"] == 2).all() and (table["k_model"] == 100).all()
    tables[path] = tables[path].assign(failed=True)
    table = by_name.draw("hao2020/figure2", tables, published["hao2020"])[1].query("series == 'mrpc@large'")
    assert (table["failed"] == 4).all() and (table["k_model"] == 55).all()


def test_where_every_run_failed_all_are_drawn_and_marked(tables_of, published):
    tables = failing(tables_of["hao2020/figure1"], "mrpc@large", [1, 2])
    figure, table, _ = by_name.draw("hao2020/figure1", tables, published["hao2020"])
    rows = table[table["series"] == "mrpc@large"]
    assert len(rows) == 6 and (rows["replicates"] == 2).all() and (rows["failed"] == 4).all()
    assert {"MRPC@large (failed)", "MNLI@large"} <= set(words(figure))


def test_every_reading_of_restored_layers_has_its_null(tables_of, published):
    _, table, _ = by_name.draw("hao2020/figure3", tables_of["hao2020/figure3"], published["hao2020"])
    variants = table[table["panel"] == "distance"].groupby("provenance")["variant"].unique()
    assert set(variants["measured"]) == {"svcca99", "cca_full"}
    assert set(variants["derived"]) == {"svcca99_null", "cca_full_null"}


def test_pairs_of_tasks_stand_beside_seeds_on_as_many_tokens(tables_of, published):
    figure, table, caption = by_name.draw(
        "hao2020/figure7", tables_of["hao2020/figure7"], published["hao2020"]
    )
    assert words(figure)[:4] == ["RTE–MNLI@large", "MRPC–RTE@large", "MRPC–SST-2@large", "MNLI@large seeds"]
    pairs = table[table["series"] == "rte@large_vs_mnli@large"]
    assert (
        set(pairs["stimuli"]) == {"mnli+rte"}
        and (table["n"] == 2400).all()
        and (table["k_model"] == 100).all()
    )
    assert "2400 tokens in every comparison" in caption and "dotted lines are at 0.80." in caption


def test_unmatched_numbers_of_tokens_are_told(tables_of, published):
    tables = dict(tables_of["hao2020/figure2"])
    first = next(iter(tables))
    tables[first] = tables[first].assign(n=3000)
    _, _, caption = by_name.draw("hao2020/figure2", tables, published["hao2020"])
    assert "2400 to 3000 tokens: distances on other numbers" in caption
