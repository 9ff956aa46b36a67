"""Archives of released versions, which stay in the tests, are drawn by the program of today."""

import re
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT

from bertshift.files import read_tsv
from bertshift.release import redraw, versions
from bertshift.release.versions import LACKS, completed
from bertshift.rows.table import Table

ARCHIVES = {path.stem: path for path in (Path(__file__).parent / "archives").glob("*.zip")}
GAINS = "results/gains/a_vs_b.tsv"


def table(version, **columns):
    rows = {"value": [1.0, 2.0], "family": "bert", **columns}
    return Table.of(pd.DataFrame(rows | ({"version": version} if version else {})))


def test_every_released_version_has_an_archive():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## \[([\d.]+)\]", changes, re.MULTILINE)) == {*ARCHIVES}
    assert sum(path.stat().st_size for path in ARCHIVES.values()) < 300_000


@pytest.mark.parametrize("version", ARCHIVES)
def test_an_archive_of_a_released_version_is_drawn(version, tmp_path):
    """Every figure that it has, and each line of the list says what it says of its tables."""
    said = []
    config = redraw.prepare(str(ARCHIVES[version]), tmp_path, {})
    drawn = redraw.redraw(tmp_path, config, said.append, without=["*.pdf"])
    assert len(drawn) == len(redraw.chosen(config)) and not [
        one for one in said if "left out" in one
    ]
    about = [
        lack
        for lack in LACKS
        if versions._parse_version(lack.version) >= versions._parse_version(version)
    ]
    for lack in (one for one in about if not one.fill):
        assert [
            one
            for one in said
            if one.endswith(f"{lack.meaning}.") and f"bertshift {version}" in one
        ]
    if version == "0.2.0":
        changes = read_tsv(tmp_path / "results/figures/beyond/forgetting.tsv")
        assert set(changes["family"]) == {"bert", "roberta", "gpt2"}
        gains = read_tsv(tmp_path / "results/figures/college2020/figure2.tsv").query(
            "panel == 'gain'"
        )
        assert len(gains) and (gains[["trained", "failed"]] == 0).all(axis=None)
        counts = read_tsv(tmp_path / "results/figures/college2020/figure10.tsv").query(
            "series == 'count'"
        )
        assert list(counts["value"]) == [1, 1] and set(counts["interval"]) == {"none"}


def test_only_tables_of_the_list_and_up_to_its_version_are_filled():
    for path, version, columns in [
        (GAINS, "bertshift 0.3.0", {}),
        ("results/rsa/a.tsv", "bertshift 0.2.0", {}),
        ("results/sweeps/a.freeze.losses.tsv", "bertshift 0.2.0", {"failed": False}),
    ]:
        given = table(version, **columns)
        found, said = completed(path, given)
        assert not said and found is given
