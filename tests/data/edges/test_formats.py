"""Every corpus's reader on small made files: what is read, and what a damaged file says."""

import tarfile
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from bertshift.data.edges import gum, treebank
from bertshift.errors import UserError

CORPORA = yaml.safe_load(Path(__file__).with_name("formats.yaml").read_text(encoding="utf-8"))
READ = [(name, task) for name, corpus in CORPORA.items() for task in corpus["read"]]
FAULTS = [(name, fault) for name, corpus in CORPORA.items() for fault in corpus.get("faults", ())]


def made(corpus, folder, fault=()):
    """The files of a corpus, one of them changed or left out; {name: path} as its reader takes
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


def short(target):
    label = target["label"]
    label = label if isinstance(label, str) else "+".join(label) or "nothing"
    spans = [target[name] for name in ("span1", "span2") if name in target]
    return " ".join([label, *(f"{start}-{end}" for start, end in spans)])


def line(record):
    about = " ".join(str(value) for value in record["info"].values())
    targets = "; ".join(map(short, record["targets"]))
    return f"{about}: {' | '.join(record['words'])} => {targets}"


@pytest.mark.parametrize(("name", "task"), READ)
def test_words_and_spans_are_read(name, task, tmp_path):
    corpus = CORPORA[name]
    splits = read(corpus, task, made(corpus, tmp_path))
    assert splits.keys() == corpus["read"][task].keys()
    for split, found in splits.items():
        expected = corpus["read"][task][split]
        assert list(map(line, found.records)) == expected["records"]
        assert dict(found.source) == expected["source"]
        assert dict(+found.irregular) == expected["irregular"]


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_fault_is_named(name, fault, tmp_path):
    files = made(CORPORA[name], tmp_path, fault)
    with pytest.raises(UserError, match=fault["error"]):
        read(CORPORA[name], fault["task"], files)


def test_sentences_that_jiant_loses_can_be_left_out(tmp_path):
    path = made(CORPORA["conllu"], tmp_path)["dev"]
    lost = treebank.without_lost_by_jiant(
        treebank.read("dependencies", {"dev": path})["dev"], path
    )
    assert [record["info"]["sentence"] for record in lost.records] == ["a-2"]
    assert lost.source == {"sentences": 1, "tokens": 2}
    assert lost.irregular == {"sentences that jiant loses": 2}


def test_an_archive_that_is_cut_short_is_named(tmp_path):
    path = made(CORPORA["gum"], tmp_path)["archive"]
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(UserError, match="gum.tar.xz is damaged"):
        gum.read("pos", {"archive": path})
