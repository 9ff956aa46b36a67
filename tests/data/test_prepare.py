"""`prepare_from_mirror` turns a mirror's files into examples.jsonl and dataset.json."""

import json

import pytest
from conftest import ROOT

from bertshift.config import read_catalogue
from bertshift.data.examples import Examples, read_examples, read_sidecar
from bertshift.data.prepare import prepare_from_mirror
from bertshift.errors import UserError
from bertshift.files import sha256

CATALOGUE = read_catalogue(ROOT / "config/datasets.yaml")
TSV = (
    "index\tsentence1\tsentence2\tlabel\n"
    "0\tA \u2028 man.\tB.\tentailment\n"
    "1\tC.\tD.\tnot_entailment\n"
)


@pytest.fixture
def small_mirror(tmp_path):
    folder = tmp_path / "mirror/glue/RTE"
    folder.mkdir(parents=True)
    for split in ("train", "dev"):
        (folder / f"{split}.tsv").write_text(TSV, encoding="utf-8")
    return tmp_path / "mirror"


def test_catalogue_entries_are_complete():
    for name, spec in CATALOGUE.items():
        assert spec["licence"], name
        assert set(spec["mirror"]) == set(spec["hub"]["splits"]) == set(spec["published"]), name
        if spec["format"] == "glue_tsv":
            assert set(spec["columns"]) == set(spec["hub"]["columns"]), name


def test_prepared_form(small_mirror, tmp_path):
    once, twice = tmp_path / "once", tmp_path / "twice"
    for folder in (once, twice):
        published = CATALOGUE["rte"] | {"published": {"train": 2, "dev": 1}}
        prepare_from_mirror("rte", published, small_mirror, folder)
    files = {path.name: path.read_bytes() for path in once.iterdir()}
    assert files == {path.name: path.read_bytes() for path in twice.iterdir()}
    assert files.keys() == {"dataset.json", "examples.jsonl"}

    texts = {"text_a": "A \u2028 man.", "text_b": "B."}
    first = {"id": "dev-0", "split": "dev", **texts, "label": "entailment"}
    assert read_examples(once, "dev")[0] == first
    assert list(Examples(once, "dev")) == read_examples(once, "dev")
    sidecar = read_sidecar(once)
    assert sidecar["source"] == "mirror:glue/RTE/train.tsv,glue/RTE/dev.tsv"
    digest = sha256(small_mirror / "glue/RTE/dev.tsv")
    assert sidecar["source_sha256"]["glue/RTE/dev.tsv"] == digest
    assert sidecar["examples_sha256"] == sha256(once / "examples.jsonl")
    assert sidecar["rows"] == {"train": 2, "dev": 2}
    assert sidecar["complete"] == {"train": True, "dev": False}
    [remark] = sidecar["remarks"]
    assert remark.startswith("dev: 2 rows, 1 more than published")
    assert sidecar["labels"] == ["entailment", "not_entailment"]


@pytest.mark.parametrize("read", [read_examples, Examples])
def test_another_split_or_damaged_rows_are_refused(small_mirror, tmp_path, read):
    prepare_from_mirror("rte", CATALOGUE["rte"], small_mirror, tmp_path / "out")
    with pytest.raises(UserError, match="no split 'test', only dev, train"):
        read(tmp_path / "out", "test")
    path = tmp_path / "out/examples.jsonl"
    rows = path.read_bytes()
    for damaged in (rows[: rows.rindex(b"{")], rows.replace(b"man", b"men")):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"examples\.jsonl is damaged"):
            read(tmp_path / "out", "dev")


def test_a_failure_leaves_nothing_behind(small_mirror, tmp_path):
    dev = small_mirror / "glue/RTE/dev.tsv"
    dev.write_text("index\tsentence1\tsentence2\tlabel\n", encoding="utf-8")
    with pytest.raises(UserError, match="The dev split of 'rte' from mirror:.* has no rows"):
        prepare_from_mirror("rte", CATALOGUE["rte"], small_mirror, tmp_path / "out")
    dev.write_text("index\tsentence1\tsentence2\tlabel\n0\ta\tb\t-\n", encoding="utf-8")
    spec = CATALOGUE["rte"] | {"unlabelled": ["-"]}
    with pytest.raises(UserError, match=r"has no rows \(1 without a label\)"):
        prepare_from_mirror("rte", spec, small_mirror, tmp_path / "out")
    dev.unlink()
    with pytest.raises(UserError, match="has no dev file of 'rte'; put glue/RTE/dev.tsv there"):
        prepare_from_mirror("rte", CATALOGUE["rte"], small_mirror, tmp_path / "out")
    assert not list(tmp_path.glob("out/*"))
    with pytest.raises(UserError, match="prepare the data set 'out' first"):
        read_sidecar(tmp_path / "out")


def test_repeated_ids_are_numbered(tmp_path):
    question = {"id": "q", "question": "Who?", "answers": [{"text": "cat", "answer_start": 0}]}
    article = {"paragraphs": [{"context": "cat", "qas": [question, question]}]}
    (tmp_path / "squad.json").write_text(json.dumps({"data": [article]}))
    spec = CATALOGUE["squad"] | {"mirror": {"dev": ["missing.json", "squad.json"]}}
    prepare_from_mirror("squad", spec, tmp_path, tmp_path / "out")
    assert [row["id"] for row in read_examples(tmp_path / "out", "dev")] == ["q", "q#2"]
    irregular = read_sidecar(tmp_path / "out")["irregular"]
    assert irregular == {"dev": {"repeated ids, numbered apart": 1}}
