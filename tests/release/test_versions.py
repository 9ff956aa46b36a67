"""Archives of released versions, which stay in the tests, are drawn by the program of today."""

import re
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT

from bertshift.files import read_tsv
from bertshift.release import redraw, versions
from bertshift.release.versions import LACKS, completed, lacking, uneven

ARCHIVES = {path.stem: path for path in (Path(__file__).parent / "archives").glob("*.zip")}
GAINS = "results/gains/a_vs_b.tsv"


def table(version, **columns):
    return pd.DataFrame(
        {"value": [1.0, 2.0], "family": "bert", **columns} | ({"version": version} if version else {})
    )


def test_every_released_version_has_an_archive():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## \[([\d.]+)\]", changes, re.MULTILINE)) == {*ARCHIVES}
    assert sum(path.stat().st_size for path in ARCHIVES.values()) < 300_000


@pytest.mark.parametrize("version", ARCHIVES)
def test_an_archive_of_a_released_version_is_drawn(version, tmp_path):
    """Every figure that it has, and each line of the list says what it says of its tables."""
    said = []
    config = redraw.prepare(str(ARCHIVES[version]), tmp_path, {})
    drawn = redraw.redraw(tmp_path, config, said.append)
    assert len(drawn) == len(redraw.chosen(config)) and not [one for one in said if "left out" in one]
    about = [lack for lack in LACKS if versions._parsed(lack.version) >= versions._parsed(version)]
    for lack in (one for one in about if not one.told_by):
        assert [one for one in said if one.endswith(f"{lack.meaning}.") and f"bertshift {version}" in one]
    if version == "0.2.0":
        changes = read_tsv(tmp_path / "results/figures/beyond/forgetting.tsv")
        assert set(changes["family"]) == {"bert", "roberta", "gpt2"}
        gains = read_tsv(tmp_path / "results/figures/college2020/figure2.tsv").query("panel == 'gain'")
        assert len(gains) and (gains[["trained", "failed"]] == 0).all(axis=None)
        counts = read_tsv(tmp_path / "results/figures/college2020/figure10.tsv").query("series == 'count'")
        assert list(counts["value"]) == [1, 1] and set(counts["interval"]) == {"none"}


def test_a_column_that_a_version_lacks_is_unknown():
    found, said = completed(GAINS, table("bertshift 0.2.0"))
    assert found[["failed", "ref_failed"]].isna().all(axis=None)
    assert said == [
        "results/gains of bertshift 0.2.0 has no `failed` and `ref_failed`: figures do not count runs that failed."
    ]
    assert "failed" in completed(GAINS, table(""))[0]


def test_only_tables_of_the_list_and_up_to_its_version_are_filled():
    for path, version, columns in [
        (GAINS, "bertshift 0.3.0", {}),
        ("results/rsa/a.tsv", "bertshift 0.2.0", {}),
        ("results/sweeps/a.freeze.losses.tsv", "bertshift 0.2.0", {"failed": False}),
    ]:
        given = table(version, **columns)
        found, said = completed(path, given)
        assert not said and found.equals(given)


def test_another_column_is_refused_with_version_table_and_column():
    tables = {"results/rsa/b.tsv": table("bertshift 0.3.0", layer=1), GAINS: table("bertshift 0.3.0")}
    assert lacking(KeyError("layer"), tables) == f"{GAINS} of bertshift 0.3.0 has no column `layer`"
    assert (
        lacking(KeyError("Columns not found: 'value', 'layer'"), {GAINS: table("")})
        == f"{GAINS} of a version before 0.2.0 has no column `layer`"
    )
    assert not lacking(KeyError("value"), tables)


def test_tables_of_two_versions_need_the_same_columns():
    new = table("bertshift 0.3.0", layer=1, without1=0.0)
    assert (
        uneven({GAINS: table("bertshift 0.2.0"), "results/gains/c_vs_d.tsv": new})
        == f"{GAINS} of bertshift 0.2.0 has no column `layer`"
    )
    assert not uneven({GAINS: table("bertshift 0.2.0", layer=1), "results/gains/c_vs_d.tsv": new})
    assert not uneven({GAINS: table("bertshift 0.2.0"), "results/rsa/c_vs_d.tsv": new})
    assert not uneven({GAINS: table("bertshift 0.3.0"), "results/gains/c_vs_d.tsv": new})
