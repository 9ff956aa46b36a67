"""`prepare_edges` turns a catalogue entry into the files on disk."""

import pytest

from bertshift.data.edges import prepare
from bertshift.data.edges.prepare import prepare_edges
from bertshift.data.edges.records import read_edge_sidecar, read_edges, target
from bertshift.errors import UserError
from bertshift.files import write_jsonl

SPEC = {
    "task": "entities",
    "format": "jiant",
    "licence": "none",
    "url": "example.org",
    "files": {split: f"{split}.jsonl" for split in ("train", "dev", "test")},
}


@pytest.fixture
def root(tmp_path):
    targets = {
        "train": [target("B", (0, 2)), target("A", (0, 1))],
        "dev": [target("B", (0, 1))],
        "test": [target("C", (1, 2))],
    }
    for split, labelled in targets.items():
        records = [{"text": "Ann Lee", "targets": labelled}, {"text": "none", "targets": []}]
        write_jsonl(tmp_path / f"root/{split}.jsonl", records)
    return tmp_path / "root"


def test_records_and_sidecar(root, tmp_path):
    expected = {"labels": 3, "train": {"targets": 2}, "dev": {"sentences": 5}}
    folder, spec = tmp_path / "mine", SPEC | {"expected": expected, "remark": "invented"}
    prepare_edges("mine", spec, root, folder)
    assert [record["words"] for record in read_edges(folder, "train")] == [["Ann", "Lee"]]
    with pytest.raises(UserError, match="has no split 'all', only"):
        read_edges(folder, "all")
    sidecar = read_edge_sidecar(folder)
    assert len(sidecar.pop("source_sha256")["train.jsonl"]) == 64
    counts = {"sentences": 2, "records": 1, "targets": 1}
    assert sidecar == {
        "name": "mine", "task": "entities", "format": "jiant", "licence": "none",
        "origin": "mirror", "source": "mirror:train.jsonl,dev.jsonl,test.jsonl", "spans": 1,
        "multilabel": False,
        "labels": ["A", "B", "C"], "expected": expected,
        "counts": {"train": counts | {"targets": 2}, "dev": counts, "test": counts},
        "remarks": ["invented", "dev: 2 sentences, 5 expected"],
        "irregular": {split: {"records without targets": 1} for split in SPEC["files"]},
    }  # fmt: skip


def test_strict_entries_need_the_counts(root, tmp_path):
    spec = SPEC | {"strict": True, "expected": {"labels": 4, "test": {"targets": 7}}}
    with pytest.raises(UserError, match="3 labels, 4 expected; test: 1 targets, 7"):
        prepare_edges("mine", spec, root, tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


def test_a_failed_run_leaves_no_sidecar(root, tmp_path, monkeypatch):
    prepare_edges("mine", SPEC, root, tmp_path / "mine")

    def full(path, rows):
        raise OSError("disk full")

    monkeypatch.setattr(prepare, "write_jsonl", full)
    with pytest.raises(OSError):
        prepare_edges("mine", SPEC, root, tmp_path / "mine")
    with pytest.raises(UserError, match="edges.json does not exist"):
        read_edges(tmp_path / "mine", "train")


def test_a_folder_is_known_by_the_names_and_contents_of_its_files(tmp_path):
    hashes = []
    for name, text in [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y")]:
        folder = tmp_path / str(len(hashes))
        folder.mkdir()
        (folder / name).write_text(text)
        hashes.append(prepare._hash_path(folder))
    assert hashes[0] == hashes[1] and len({*hashes}) == 3


def test_a_split_without_targets(root, tmp_path):
    write_jsonl(root / "dev.jsonl", [{"text": "none", "targets": []}])
    with pytest.raises(UserError, match="The dev split of 'mine' has no targets"):
        prepare_edges("mine", SPEC, root, tmp_path / "mine")


def test_missing_files_are_named_with_their_address(tmp_path):
    with pytest.raises(UserError, match=f"(?s){tmp_path}/train.jsonl.*{SPEC['url']}"):
        prepare_edges("mine", SPEC, tmp_path, tmp_path / "out")
