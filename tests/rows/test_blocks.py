import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertshift.errors import UserError
from bertshift.files import read_tsv, write_tsv
from bertshift.rows.blocks import (
    BLOCKS,
    JACKKNIFE_COLUMNS,
    block_of,
    check,
    concatenate,
    in_columns,
    interval,
    jackknife,
    left_out,
    read_with_blocks,
    write_with_blocks,
)
from bertshift.rows.statistics import in_points, summarise
from bertshift.version import version


@pytest.mark.parametrize("examples", [0, 7, 53])
def test_blocks_are_contiguous_and_as_equal_as_can_be(examples):
    block = block_of(examples)
    sizes = np.bincount(block)
    assert (len(block), len(sizes)) == (examples, min(examples, BLOCKS))
    assert (np.diff(block) >= 0).all() and np.ptp([*sizes, examples // BLOCKS]) <= 1


def test_a_mean_has_the_classical_standard_error_and_t_interval():
    x = np.random.default_rng(0).normal(size=(3, BLOCKS))
    without = left_out(x, np.ones(x.shape))
    assert without[1, 4] == pytest.approx(np.delete(x[1], 4).mean())
    mean, error = x.mean(axis=1), stats.sem(x, axis=1)
    assert jackknife(without)[0] == pytest.approx(error)
    expected = stats.t.interval(0.95, BLOCKS - 1, mean, error)
    assert np.array(interval(mean, without)) == pytest.approx(np.array(expected))


def test_few_blocks_and_blocks_with_nothing():
    few = np.full(BLOCKS, np.nan)
    few[:3] = left_out(np.array([1.0, 2.0, 6.0]), np.ones(3))
    assert jackknife(few)[0] == pytest.approx(stats.sem([1, 2, 6]))
    assert np.isnan(left_out(np.array([2.0]), np.array([4.0]))).all()
    # A block that holds nothing of a kind: without it, the mean is the same.
    assert left_out(np.array([2.0, 0.0, 9.0]), np.array([1, 0, 3])).tolist() == [3.0, 11 / 4, 2.0]


def test_a_table_with_blocks_comes_back(tmp_path):
    generator, path = np.random.default_rng(1), tmp_path / "mnli.at10_vs_base.tsv"
    blocks = tmp_path / "mnli.at10_vs_base.blocks.npy"
    twenty, five = generator.normal(size=BLOCKS), generator.normal(size=5)
    shown = pd.DataFrame({"layer": [1, 2], "value": [0.5, 0.25], "sd": 1.0})
    write_with_blocks(path, shown.join(in_columns([twenty, five])))
    written, back = read_tsv(path), read_with_blocks(path)
    assert list(written) == ["layer", "value", "low", "high", "sd", "version"]
    assert written.loc[1, ["low", "high"]].tolist() == pytest.approx(list(interval(0.25, five)))
    assert back.loc[0, JACKKNIFE_COLUMNS].tolist() == twenty.tolist()
    assert back.loc[1, JACKKNIFE_COLUMNS].notna().sum() == 5
    content = blocks.read_bytes()
    write_with_blocks(path, back)
    assert blocks.read_bytes() == content and read_tsv(path).equals(written)

    np.save(blocks, np.zeros((3, BLOCKS)))
    with pytest.raises(UserError, match="3 rows"):
        read_with_blocks(path)
    for damaged in (content[:-8], b"", content.replace(b"<f8", b"<i8")):
        blocks.write_bytes(damaged)
        with pytest.raises(UserError, match=r"blocks\.npy is damaged"):
            read_with_blocks(path)
    blocks.unlink()
    assert read_with_blocks(path)[JACKKNIFE_COLUMNS].isna().all(axis=None)


def test_a_score_of_examples_that_are_all_right_has_an_interval(tmp_path):
    """On the table of scores, and on that of their means in points."""
    path, low = tmp_path / "sst2.tsv", 1 - stats.t.ppf(0.975, BLOCKS - 1) * 2 / (150 + 4)
    columns = dict.fromkeys(["init", "seed", "value", *JACKKNIFE_COLUMNS], 1.0)
    table = pd.DataFrame(columns | {"metric": ["accuracy", "f1"], "dev": 150})
    with pytest.raises(UserError, match="sst2.tsv: .*'mine'"):
        write_with_blocks(path, table.replace("f1", "mine"))
    assert not list(tmp_path.iterdir())
    write_with_blocks(path, table)
    assert read_tsv(path)["low"].tolist() == pytest.approx([low, 1])
    means = summarise(in_points(read_with_blocks(path)), ["metric"])
    assert means["low"].tolist() == pytest.approx([100 * low, 100])


def test_tables_one_below_the_other_keep_what_made_each_row(tmp_path):
    paths = [tmp_path / name for name in ("a.tsv", "b.tsv")]
    for number, path in enumerate(paths):
        blocks = in_columns(np.random.default_rng(number).normal(size=(2, BLOCKS)))
        write_with_blocks(path, pd.DataFrame({"value": [0.5, 0.25]}).join(blocks))
    write_tsv(paths[0], read_tsv(paths[0]).assign(version="bertshift 0.0.1"))
    concatenate(tmp_path / "both.tsv", list(map(str, paths)))
    table = read_with_blocks(tmp_path / "both.tsv")
    pd.testing.assert_frame_equal(
        table, pd.concat(map(read_with_blocks, paths), ignore_index=True)
    )
    assert table["version"].tolist() == ["bertshift 0.0.1"] * 2 + [version()] * 2


def test_blocks_that_are_alike_differ_from_their_value_by_a_bias_alone():
    """A variance of equal blocks: smaller without any of them, and the same without each."""
    texts = np.tile([1.0, 4.0, 2.0], BLOCKS)
    without = [np.delete(texts, slice(3 * b, 3 * b + 3)).var(ddof=1) for b in range(BLOCKS)]
    alike = pd.DataFrame({"value": [texts.var(ddof=1)]}).join(in_columns([without]))
    assert abs(alike["value"][0] - without[0]) > 1e-4
    check(alike)
    apart = alike.assign(without1=alike["without1"] + 1e-6)
    with pytest.raises(ValueError, match="1 values are not those"):
        check(apart)
