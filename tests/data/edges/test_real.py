"""The catalogue's open corpora as published: counts, by reader and by counting brackets and lines."""

import re
import tarfile
import zipfile
from collections import Counter

import pytest
from conftest import ROOT

from bertshift.config import read_catalogue
from bertshift.data.edges import gum, spr, uner
from bertshift.data.edges.prepare import prepare_edges
from bertshift.data.edges.records import SPLITS, read_edge_sidecar, read_edges

CATALOGUE = read_catalogue(ROOT / "config/edges.yaml")
OPEN = ["gum_pos", "gum_constituents", "gum_entities", "gum_coref", "ewt_dependencies", "ewt_pos", "ewt_constituents",
        "ewt_srl", "semeval_relations", "spr2"]  # fmt: skip


@pytest.fixture(scope="session")
def prepared(mirror, tmp_path_factory):
    """Call it with an edge set's name for its directory; each is made once."""
    folder = tmp_path_factory.mktemp("edges")

    def directory(name):
        if not (folder / name).exists():
            prepare_edges(name, CATALOGUE[name], mirror, folder / name)
        return folder / name

    return directory


@pytest.mark.parametrize("name", OPEN)
def test_counts_are_those_of_the_catalogue(name, prepared):
    sidecar, spec = read_edge_sidecar(prepared(name)), CATALOGUE[name]
    assert spec["expected"]["labels"] == len(sidecar["labels"])
    assert sidecar["remarks"] == ([spec["remark"]] if "remark" in spec else [])
    assert [len(read_edges(prepared(name), split)) for split in SPLITS] == [
        sidecar["counts"][split]["records"] for split in SPLITS
    ]


def test_gum_has_as_many_targets_as_brackets(mirror, prepared):
    opened = {layer: Counter() for layer in ("const", "dep")}
    with tarfile.open(mirror / "gum.tar.xz") as tar:
        texts = {
            each.name: tar.extractfile(each).read().decode()
            for each in tar
            if each.name.endswith(("ptb", "conllu", "md"))
        }
    for name, split in gum.documents(texts["gum/splits.md"], ""):
        if "_reddit_" not in name:
            tree = re.sub(r"\(\S+\s+[^\s()]+\)", "", texts[f"gum/const/{name}.ptb"])
            opened["const"][split] += tree.count("(")
            marks = re.findall(r"(?m)^\d+\t.*\bEntity=([^|\n]*)", texts[f"gum/dep/{name}.conllu"])
            opened["dep"][split] += "".join(marks).count("(")
    for name, layer in (("gum_constituents", "const"), ("gum_entities", "dep")):
        counts = read_edge_sidecar(prepared(name))["counts"]
        assert {split: counts[split]["targets"] for split in SPLITS} == opened[layer]


def test_gum_pairs_corefer_about_as_often_as_those_of_ontonotes(prepared):
    for split, rate in (("train", 0.214), ("dev", 0.208), ("test", 0.190)):
        labels = Counter(
            each["label"] for row in read_edges(prepared("gum_coref"), split) for each in row["targets"]
        )
        assert labels["1"] / labels.total() == pytest.approx(rate, abs=5e-4)


def test_propbank_has_as_many_arguments_as_brackets(mirror, prepared):
    counts = read_edge_sidecar(prepared("ewt_srl"))["counts"]
    for split in ("dev", "test"):
        lines = (mirror / f"ewt_propbank/en_ewt-propbank-{split}.tsv").read_text().splitlines()
        columns = "\n".join(cell for line in lines for cell in line.split("\t")[7:])
        assert counts[split]["frames"] == columns.count("(V*")
        assert counts[split]["targets"] == columns.count("(") - columns.count("(V*")


def test_splits_of_a_corpus_share_no_sentence_id(prepared):
    for name in ("gum_pos", "ewt_dependencies"):
        ids = [each["info"]["sentence"] for split in SPLITS for each in read_edges(prepared(name), split)]
        assert len(ids) == len(set(ids))


def test_uner_agrees_with_its_statistics(mirror):
    files = {split: mirror / f"UNER_English-EWT/en_ewt-ud-{split}.iob2" for split in ("dev", "test")}
    for split, found in uner.read("entities", files).items():
        labels = Counter(each["label"] for row in found.records for each in row["targets"])
        published = (mirror / f"UNER_English-EWT/en_ewt-ud-{split}.stats").read_text()
        assert labels == {label: int(n) for label, n in re.findall(r'"(LOC|ORG|PER)": (\d+),?\n', published)}
        expected = CATALOGUE["uner_entities"]["expected"][split]
        assert {**found.source, "targets": labels.total()} == expected and not +found.irregular


def test_spr1_joins_the_penn_treebanks_sample(mirror, tmp_path):
    """NLTK's 5 % of the trees hold 830 of the arguments, one of them in two pieces."""
    with zipfile.ZipFile(mirror / "nltk_data/corpora/treebank.zip") as packed:
        packed.extractall(tmp_path, [name for name in packed.namelist() if name.endswith(".mrg")])
    rows = mirror / CATALOGUE["spr1"]["files"]["rows"]
    splits = spr.read_spr1("spr", {"rows": rows, "trees": tmp_path})
    assert {split: sum(len(row["targets"]) for row in found.records) for split, found in splits.items()} == {
        "train": 671, "dev": 80, "test": 78,
    }  # fmt: skip
    assert sum(found.irregular["arguments in several pieces"] for found in splits.values()) == 1
    first = splits["train"].records[0]
    words = first["words"]
    assert [" ".join(words[slice(*each[span])]) for each in first["targets"] for span in ("span1", "span2")] == [
        "imposed", "on virtually all uses of asbestos", "imposed", "the Environmental Protection Agency",
    ]  # fmt: skip
