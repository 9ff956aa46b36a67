"""One version: pyproject.toml says it, CITATION.cff and CHANGELOG.md name the same; tables carry it."""

import re
import tomllib

import pandas as pd
import yaml
from conftest import ROOT

from bertshift import version

SAID = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_all_name_the_same_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"^## \[(.*?)\] - (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert (citation["version"], newest[1]) == (SAID, SAID)
    assert str(citation["date-released"]) == newest[2]


def test_the_citation_names_the_papers(published):
    """Their titles as each paper's own file of numbers has them."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    papers = [file["paper"]["citation"] for paper, file in published.items() if paper != "beyond"]
    assert len(papers) == len(citation["references"]) == 4
    for reference in citation["references"]:
        [cited] = [paper for paper in papers if reference["title"] in paper]
        assert str(reference["year"]) in cited and cited.startswith(reference["authors"][0]["family-names"])


def test_a_table_carries_the_version_of_the_program_that_makes_it():
    before = pd.DataFrame({"value": [0.5, 0.25], "version": "bertshift 0.0.1"})
    table = version.stamped(before)
    assert table["version"].tolist() == [f"bertshift {SAID}"] * 2
    assert version.stamped(before[["value"]]).equals(table)
