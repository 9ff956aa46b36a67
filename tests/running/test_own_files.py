"""What the user's own files hold, whatever their times are."""

import os

import pytest

from bertshift.requests import figures
from bertshift.running import own_files


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "corpus.txt"
    path.write_text("one text")
    return path


def held(path):
    return own_files.contents([str(path)])[str(path)]


def test_a_file_counts_by_what_it_holds(corpus):
    before = held(corpus)
    os.utime(corpus, (2e9, 2e9))
    assert held(corpus) == before
    corpus.write_text("two text")
    os.utime(corpus, (1e9, 1e9))
    assert held(corpus) != before


def test_a_folder_counts_by_the_names_and_contents_of_its_files(corpus):
    folder = corpus.parent / "framenet"
    (folder / "fulltext").mkdir(parents=True)
    for name in ("frames.xml", "fulltext/a.xml"):
        (folder / name).write_text(name)
    before = held(folder)
    (folder / "fulltext/a.xml").rename(folder / "fulltext/b.xml")
    renamed = held(folder)
    (folder / "fulltext/b.xml").write_text("edited")
    assert len({before, renamed, held(folder)}) == 3


def test_a_file_that_has_not_changed_is_read_once(corpus, monkeypatch):
    before = held(corpus)
    monkeypatch.setattr(own_files, "sha256", None)
    assert held(corpus) == before


def test_own_files_are_neither_made_by_a_rule_nor_a_part_of_the_program():
    made, program = "results/vocabularies/own/tokenizer.json", figures.PUBLISHED.format(paper="hao2020")
    inputs = {"corpus": "/data/wiki.txt", "others": [made, program, "my/file"]}
    assert own_files.among(inputs) == ["/data/wiki.txt", "my/file"]


@pytest.mark.parametrize("text", ["{half", "[]", '{"%s": 1}', '{"%s": {"seen": {}}}', "\xff"])
def test_a_damaged_memory_counts_as_none(corpus, text):
    before = held(corpus)
    own_files.KNOWN.write_bytes(text.replace("%s", str(corpus)).encode("latin-1"))
    assert held(corpus) == before
