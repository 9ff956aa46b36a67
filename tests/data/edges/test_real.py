"""The catalogue's open corpora as published: counts, by reader and by counting lines."""

import re
from collections import Counter

import pytest
from conftest import ROOT

from bertshift.config import read_catalogue
from bertshift.data.edges import propbank, uner
from bertshift.data.edges.prepare import prepare_edges
from bertshift.data.edges.records import read_edge_sidecar

pytestmark = pytest.mark.slow("real input")

CATALOGUE = read_catalogue(ROOT / "config/edges.yaml")


def test_counts_are_those_that_the_catalogue_expects(mirror, tmp_path):
    prepare_edges("gum_entities", CATALOGUE["gum_entities"], mirror, tmp_path)
    assert CATALOGUE["gum_entities"]["expected"]
    assert read_edge_sidecar(tmp_path)["remarks"] == []


def test_frames_are_those_that_the_catalogue_expects(mirror):
    spec = CATALOGUE["ewt_srl"]
    files = {split: mirror / spec["files"][split] for split in ("dev", "test")}
    for name, split in propbank.read("srl", files).items():
        targets = sum(len(row["targets"]) for row in split.records)
        assert {"frames": split.source["frames"], "targets": targets} == spec["expected"][name]


def test_uner_agrees_with_its_statistics(mirror):
    files = {
        split: mirror / f"UNER_English-EWT/en_ewt-ud-{split}.iob2" for split in ("dev", "test")
    }
    for name, split in uner.read("entities", files).items():
        labels = Counter(target["label"] for row in split.records for target in row["targets"])
        statistics = files[name].with_suffix(".stats").read_text()
        published = re.findall(r'"(LOC|ORG|PER)": (\d+),?\n', statistics)
        assert labels == {label: int(n) for label, n in published}
        assert not +split.irregular
