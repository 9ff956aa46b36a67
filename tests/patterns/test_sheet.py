import numpy as np
import pytest

from bertshift.patterns import maps as files
from bertshift.patterns import sheet
from bertshift.patterns.classes import FEATURES
from bertshift.patterns.pages import pages


def test_every_task_and_layer_has_its_share_and_replicates_take_turns(models, inputs):
    def choose(inputs):
        return sheet.choose(models, dict.fromkeys(models, inputs), 42)

    chosen = choose(inputs)
    assert sorted(chosen.groupby(["task", "layer"]).size()) == [10, 10, 11, 11]
    runs = chosen[chosen["model"] == "rte"].groupby(["layer", "init"]).size()
    assert set(runs) <= {5, 6} and set(chosen["head"]) == {1, 2, 3}
    # Without an input twice in a stratum, as there are enough; in random order; the same again.
    assert not chosen.duplicated(["task", "layer", "example"]).any()
    assert chosen["map"].tolist() == [*range(1, 43)]
    assert chosen["page"].tolist() == [1] * 40 + [2] * 2
    assert chosen["task"].iloc[:20].nunique() == 2
    assert chosen.equals(choose(inputs))
    assert len(choose(inputs[:2])) == 42
    just_enough = choose(inputs[:11])
    assert not just_enough.duplicated(["task", "layer", "example"]).any()


def test_the_table_is_of_the_maps_that_are_stored(attended, models, inputs, tmp_path):
    rows = dict.fromkeys(models, inputs)
    chosen = sheet.choose(models, rows, 42)
    table, maps, special = sheet.measure(chosen, rows, 64)
    files.write_maps(tmp_path / "maps.npz", maps, special)
    stored, stored_special = files.read_maps(tmp_path / "maps.npz")
    assert list(table) == sheet.COLUMNS and set(table["source"]) == {"proposed"}
    assert table["label"].equals(table["proposed"])
    assert table[list(FEATURES)].notna().all(axis=None)
    table_rows = table.assign(folder=chosen["folder"]).itertuples()
    for row, weights, marks in zip(table_rows, stored, stored_special, strict=True):
        [source] = [source for source in inputs if source["id"] == row.example]
        expected = attended(row.folder, source, row.length)[row.layer - 1, row.head - 1]
        np.testing.assert_array_equal(weights, expected)
        assert len(marks) == row.length and marks.sum() == 2 + ("text_b" in source)
        assert row.v == pytest.approx(np.sort(expected.mean(0, dtype=np.float64))[-3:].sum())
    assert [len(figure.axes[0].images) for figure in pages(table, stored, stored_special)] == [
        40,
        2,
    ]
