"""The catalogue's open corpora as published: counts, by reader and by counting brackets and lines."""

import re
import tarfile
from collections import Counter

from conftest import ROOT

from bertshift.config import read_catalogue
from bertshift.data.edges import gum, uner
from bertshift.data.edges.prepare import prepare_edges
from bertshift.data.edges.records import SPLITS, read_edge_sidecar

CATALOGUE = read_catalogue(ROOT / "config/edges.yaml")


def counts_of(name, mirror, folder):
    """Prepare an edge set; its counts, which must be those that the catalogue expects."""
    prepare_edges(name, CATALOGUE[name], mirror, folder)
    sidecar, remark = read_edge_sidecar(folder), CATALOGUE[name].get("remark")
    assert sidecar["remarks"] == ([remark] if remark else [])
    return sidecar["counts"]


def test_gum_has_as_many_entities_as_brackets(mirror, tmp_path):
    opened, ids = Counter(), []
    with tarfile.open(mirror / "gum.tar.xz") as tar:
        texts = {
            each.name: tar.extractfile(each).read().decode()
            for each in tar
            if re.search(r"gum/dep/.*conllu|splits.md", each.name)
        }
    for name, split in gum.documents(texts["gum/splits.md"], ""):
        if "_reddit_" not in name:
            marks = re.findall(r"(?m)^\d+\t.*\bEntity=([^|\n]*)", texts[f"gum/dep/{name}.conllu"])
            opened[split] += "".join(marks).count("(")
            ids += re.findall("sent_id = (.*)", texts[f"gum/dep/{name}.conllu"])
    counts = counts_of("gum_entities", mirror, tmp_path)
    assert {split: counts[split]["targets"] for split in SPLITS} == opened
    assert len(ids) == len(set(ids)) == sum(counts[split]["sentences"] for split in SPLITS)


def test_propbank_has_as_many_arguments_as_brackets(mirror, tmp_path):
    counts = counts_of("ewt_srl", mirror, tmp_path)
    for split in ("dev", "test"):
        lines = (mirror / f"ewt_propbank/en_ewt-propbank-{split}.tsv").read_text().splitlines()
        columns = "\n".join(cell for line in lines for cell in line.split("\t")[7:])
        assert counts[split]["frames"] == columns.count("(V*")
        assert counts[split]["targets"] == columns.count("(") - columns.count("(V*")


def test_uner_agrees_with_its_statistics(mirror):
    files = {split: mirror / f"UNER_English-EWT/en_ewt-ud-{split}.iob2" for split in ("dev", "test")}
    for split, found in uner.read("entities", files).items():
        labels = Counter(each["label"] for row in found.records for each in row["targets"])
        published = files[split].with_suffix(".stats").read_text()
        assert labels == {label: int(n) for label, n in re.findall(r'"(LOC|ORG|PER)": (\d+),?\n', published)}
        assert not +found.irregular
