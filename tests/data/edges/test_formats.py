"""Every corpus's reader on small made files: what is read, and what a damaged file says."""

import tarfile
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from bertshift.data.edges import gum, ontonotes, treebank
from bertshift.errors import UserError

CORPORA = yaml.safe_load(Path(__file__).with_name("formats.yaml").read_text(encoding="utf-8"))
READ = [(name, task) for name, corpus in CORPORA.items() for task in corpus["read"]]
FAULTS = [(name, fault) for name, corpus in CORPORA.items() for fault in corpus.get("faults", ())]


def files_of(corpus, folder, fault=()):
    """Write a corpus, with one file changed or left out; return {name: path} as its reader takes
    them."""
    fault = dict(fault)
    for name, text in corpus["texts"].items():
        if name == fault.get("file"):
            if "old" not in fault:
                continue
            assert fault["old"] in text
            text = text.replace(fault["old"], fault["new"])
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    for archive, inside in corpus.get("packed", {}).items():
        with tarfile.open(folder / archive, f"w:{archive.rpartition('.')[2]}") as tar:
            for path in sorted((folder / inside).rglob("*")):
                if path.is_file() and path != folder / archive:
                    tar.add(path, path.relative_to(folder))
    return {key: folder / name for key, name in corpus["files"].items()}


def read(corpus, task, files):
    reader = import_module(f"bertshift.data.edges.{corpus['reader']}")
    return getattr(reader, corpus.get("function", "read"))(task, files)


def describe_target(target):
    label = target["label"]
    label = label if isinstance(label, str) else "+".join(label) or "nothing"
    spans = [target[name] for name in ("span1", "span2") if name in target]
    return " ".join([label, *(f"{start}-{end}" for start, end in spans)])


def describe_record(record):
    info = " ".join(str(value) for value in record["info"].values())
    targets = "; ".join(map(describe_target, record["targets"]))
    return f"{info}: {' | '.join(record['words'])} => {targets}"


@pytest.mark.parametrize(("name", "task"), READ)
def test_words_and_spans_are_read(name, task, tmp_path):
    corpus = CORPORA[name]
    splits = read(corpus, task, files_of(corpus, tmp_path))
    contents = {
        name: {
            "records": [*map(describe_record, split.records)],
            "source": dict(split.source),
            "irregular": dict(+split.irregular),
        }
        for name, split in splits.items()
    }
    assert contents == corpus["read"][task]


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_fault_is_named(name, fault, tmp_path):
    files = files_of(CORPORA[name], tmp_path, fault)
    with pytest.raises(UserError, match=fault["error"]):
        read(CORPORA[name], fault["task"], files)


def test_sentences_that_jiant_loses_can_be_left_out(tmp_path):
    path = files_of(CORPORA["conllu"], tmp_path)["dev"]
    split = treebank.read("dependencies", {"dev": path})["dev"]
    rest = treebank.without_lost_by_jiant(split, path)
    assert [record["info"]["sentence"] for record in rest.records] == ["a-2"]
    assert rest.source == {"sentences": 1, "tokens": 2}
    assert rest.irregular == {"sentences that jiant loses": 2}
    path = files_of(CORPORA["blanked"], tmp_path)["dev"]
    split = treebank.read("dependencies", {"dev": path})["dev"]
    rest = treebank.without_lost_by_jiant(split, path)
    assert [record["info"]["sentence"] for record in rest.records] == ["a-1"]


@pytest.mark.parametrize("copy", ["train/v5/x_0001.v5_gold_conll", "dev/x_0001.gold_conll"])
def test_a_document_of_ontonotes_is_read_once(copy, tmp_path):
    folder = files_of(CORPORA["ontonotes"], tmp_path)["train"]
    [file] = folder.rglob("*gold_conll")
    (tmp_path / copy).parent.mkdir()
    (tmp_path / copy).write_bytes(file.read_bytes())
    folders = {name: tmp_path / name for name in ("train", "dev") if (tmp_path / name).exists()}
    with pytest.raises(
        UserError, match="gold_conll has the document nw/x/00/x_0001, as .*keep one"
    ):
        ontonotes.read("pos", folders)


def test_an_archive_that_is_cut_short_is_named(tmp_path):
    path = files_of(CORPORA["gum"], tmp_path)["archive"]
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(UserError, match="gum.tar.xz is damaged"):
        gum.read("pos", {"archive": path})
