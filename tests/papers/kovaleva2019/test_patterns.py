import numpy as np
import pytest
from made_patterns import maps, of_kovaleva, shares

from bertshift.papers.kovaleva2019 import attention_maps
from bertshift.patterns.features import CLASSES
from bertshift.rows.estimates import REPLICATES


def test_shares_beside_the_papers(published):
    _, table, _ = attention_maps.figure2({"mrpc": shares("mrpc")}, published["kovaleva2019"])
    ours = table[table["source"] == "ours"].set_index(["series", "pattern"])
    assert (ours["interval"] == REPLICATES).all() and len(ours) == 15
    paper = table[table["source"] == "published"]
    assert len(paper) == 5 and paper["value"].sum() == pytest.approx(100, abs=0.2)


def test_the_surest_map_of_all_models_and_runs_is_drawn(published):
    tables = of_kovaleva(2, 2)["figure1"]
    path = "results/patterns/maps/rte.tsv"
    row = tables[path].query("variant == 'most_confident' and pattern == 'block' and init == 2").index
    tables[path].loc[row, "value"] = 1.5
    figure, table, _ = attention_maps.figure1(tables, published["kovaleva2019"])
    assert table["pattern"].tolist() == list(CLASSES)
    block = table.set_index("pattern").loc["block"]
    assert (block["panel"], block["value"]) == ("rte", 1.5)
    drawn = figure.axes[3].images[0].get_array()
    np.testing.assert_array_equal(drawn.ravel(), np.array(block["weights"].split(), float))
    assert [tick.get_text() for tick in figure.axes[3].get_yticklabels()] == ["[CLS]", "[SEP]", "[SEP]"]


def test_one_model_is_enough(published):
    _, table, _ = attention_maps.figure1({"cola": maps("cola", 2, 2)}, published["kovaleva2019"])
    assert set(table["panel"]) == {"cola"}
