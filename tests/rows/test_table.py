import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertshift.errors import UserError
from bertshift.files import read_tsv, write_tsv
from bertshift.rows.blocks import BLOCKS, interval, padded
from bertshift.rows.table import Table, concat, concatenate
from bertshift.version import version


@pytest.fixture
def table():
    """Four rows, whose values without block b are the value and b."""
    rows = pd.DataFrame(
        {"layer": [1, 2, 1, 2], "seed": [1, 1, 2, 2], "value": [0.1, 0.2, 0.3, 0.4]}
    )
    left_out = rows["value"].to_numpy()[:, None] + np.arange(BLOCKS)
    return Table.of(rows, left_out).within(([0.0, 1.0, 2.0, 3.0], 5.0))


def test_what_is_known_of_a_row_goes_with_it(table):
    kept = table.keep(table.rows.sort_values("value", ascending=False).query("layer == 2"))
    assert kept["value"].tolist() == [0.4, 0.2] and kept.left_out[:, 3].tolist() == [3.4, 3.2]
    assert kept.bounds.tolist() == [[3.0, 5.0], [1.0, 5.0]]
    both = concat([kept, table.where(table["seed"] == 1)])
    assert both.rows.index.tolist() == [0, 1, 2, 3]
    assert both.left_out[:, 0].tolist() == both["value"].tolist() == [0.4, 0.2, 0.1, 0.2]
    with pytest.raises(ValueError, match="of another table"):
        table.keep(pd.DataFrame({"value": [1.0]}, index=[7]))


def test_a_table_has_one_of_each_for_every_row(table):
    with pytest.raises(ValueError, match="left_out is"):
        Table.of(table.rows, table.left_out[:3])
    with pytest.raises(ValueError, match="one label"):
        Table.of(pd.concat([table.rows, table.rows]))


def test_numbers_are_calculated_together(table):
    halves = table.mean_of(["layer", "layer"])
    assert halves["value"].tolist() == pytest.approx([0.2, 0.3])
    assert halves.left_out[:, 1].tolist() == pytest.approx([1.2, 1.3])
    changed = table.minus(
        table.where(table["seed"] == 1).averages(["layer", "seed"]), ["layer", "seed"]
    )
    assert changed.numbers[:2].eq(0).all(axis=None) and changed.numbers[2:].isna().all(axis=None)
    assert np.isinf(changed.bounds).all()
    turned = table.mapped(lambda value: 1 - value)
    assert turned.bounds[0].tolist() == [-4.0, 1.0]
    assert turned.left_out[0, :2].tolist() == pytest.approx([0.9, -0.1])
    other = table.with_value([1.0, 2.0, 3.0, 4.0])
    assert np.isnan(other.left_out).all() and other["value"].sum() == 10


def test_a_table_with_blocks_comes_back(tmp_path):
    generator, path = np.random.default_rng(1), tmp_path / "mnli.at10_vs_base.tsv"
    blocks = tmp_path / "mnli.at10_vs_base.blocks.npy"
    twenty, five = generator.normal(size=BLOCKS), generator.normal(size=5)
    shown = pd.DataFrame({"layer": [1, 2], "value": [0.5, 0.25], "sd": 1.0})
    Table.of(shown, padded([twenty, five])).write(path)
    written, back = read_tsv(path), Table.read(path)
    assert list(written) == ["layer", "value", "low", "high", "sd", "version"]
    assert written.loc[1, ["low", "high"]].tolist() == pytest.approx(list(interval(0.25, five)))
    assert back.left_out[0].tolist() == twenty.tolist()
    assert np.isfinite(back.left_out[1]).sum() == 5
    content = blocks.read_bytes()
    back.write(path)
    assert blocks.read_bytes() == content and read_tsv(path).equals(written)

    np.save(blocks, np.zeros((3, BLOCKS)))
    with pytest.raises(UserError, match="3 rows"):
        Table.read(path)
    for damaged in (content[:-8], b"", content.replace(b"<f8", b"<i8")):
        blocks.write_bytes(damaged)
        with pytest.raises(UserError, match=r"blocks\.npy is damaged"):
            Table.read(path)
    blocks.unlink()
    assert np.isnan(Table.read(path).left_out).all()


def test_a_score_of_examples_that_are_all_right_has_an_interval(tmp_path):
    """On the table of scores, and on that of their means in points."""
    path, low = tmp_path / "sst2.tsv", 1 - stats.t.ppf(0.975, BLOCKS - 1) * 2 / (150 + 4)
    columns = {"init": 1, "seed": 1, "value": 1.0, "metric": ["accuracy", "f1"], "dev": 150}
    table = Table.of(pd.DataFrame(columns), np.ones((2, BLOCKS)))
    with pytest.raises(UserError, match="sst2.tsv: .*'mine'"):
        table.assign(metric=["accuracy", "mine"]).write(path)
    assert not list(tmp_path.iterdir())
    table.write(path)
    assert read_tsv(path)["low"].tolist() == pytest.approx([low, 1])
    means = Table.read(path).in_points().averaged(["metric"])
    assert means["low"].tolist() == pytest.approx([100 * low, 100])


def test_tables_one_below_the_other_keep_what_made_each_row(tmp_path):
    paths = [tmp_path / name for name in ("a.tsv", "b.tsv")]
    for number, path in enumerate(paths):
        blocks = np.random.default_rng(number).normal(size=(2, BLOCKS))
        Table.of(pd.DataFrame({"value": [0.5, 0.25]}), blocks).write(path)
    write_tsv(paths[0], read_tsv(paths[0]).assign(version="bertshift 0.0.1"))
    concatenate(tmp_path / "both.tsv", list(map(str, paths)))
    table, expected = Table.read(tmp_path / "both.tsv"), concat(map(Table.read, paths))
    pd.testing.assert_frame_equal(table.rows, expected.rows)
    assert (table.left_out == expected.left_out).all()
    assert table["version"].tolist() == ["bertshift 0.0.1"] * 2 + [version()] * 2
