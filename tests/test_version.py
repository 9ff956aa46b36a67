"""One version: pyproject.toml says it, CITATION.cff and CHANGELOG.md name the same; tables carry
it."""

import re
import tomllib

import yaml
from conftest import ROOT

SAID = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_all_name_the_same_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"^## \[(.*?)\] - (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert (citation["version"], newest[1]) == (SAID, SAID)
    assert str(citation["date-released"]) == newest[2]
