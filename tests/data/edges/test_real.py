"""The catalogue's open corpora as published: counts, by reader and by counting lines."""

import re
from collections import Counter

import pytest
from conftest import ROOT

from bertshift.config import read_catalogue
from bertshift.data.edges import uner
from bertshift.data.edges.prepare import prepare_edges
from bertshift.data.edges.records import read_edge_sidecar

CATALOGUE = read_catalogue(ROOT / "config/edges.yaml")


@pytest.mark.parametrize("name", ["gum_entities", "ewt_srl"])
def test_counts_are_those_that_the_catalogue_expects(name, mirror, tmp_path):
    prepare_edges(name, CATALOGUE[name], mirror, tmp_path)
    assert CATALOGUE[name]["expected"]
    remark = CATALOGUE[name].get("remark")
    assert read_edge_sidecar(tmp_path)["remarks"] == ([remark] if remark else [])


def test_uner_agrees_with_its_statistics(mirror):
    files = {
        split: mirror / f"UNER_English-EWT/en_ewt-ud-{split}.iob2" for split in ("dev", "test")
    }
    for split, found in uner.read("entities", files).items():
        labels = Counter(each["label"] for row in found.records for each in row["targets"])
        published = files[split].with_suffix(".stats").read_text()
        assert labels == {
            label: int(n) for label, n in re.findall(r'"(LOC|ORG|PER)": (\d+),?\n', published)
        }
        assert not +found.irregular
