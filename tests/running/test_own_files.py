"""What the user's own files hold, whatever their times are."""

import os
from fnmatch import fnmatch

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


MADE = ["results/models/*/init*_seed*/config.json", "results/patterns/*.tsv", "results/data/*/examples.jsonl"]
FOLDERS = ["results/models/*/init*_seed*", "results/patterns/sheet", "results/data/*"]


def refused(**keys):
    """What is said of a configuration, where jobs make what is listed above."""
    config = {"data": {"source": "hub", "cache": "results/hub"}, "corpora": {}, "bases": {}, "datasets": {}, "edge_sets": {},
              "patterns": {"labels": None}, "relations": {"source": None, "files": []}}  # fmt: skip

    def made(patterns):
        return lambda path: any(
            fnmatch(path, each) and path.count("/") == each.count("/") for each in patterns
        )

    told = list(own_files.misplaced(config | keys, made(MADE), made(FOLDERS)))
    assert len(told) <= 1
    return told[0].partition(" this workflow makes")[0] if told else None


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("results/models/rte/init1_seed1", "is what"),
        ("results/../results/models/rte/init1_seed1/", "is what"),
        ("{here}/results/models/rte/init1_seed1", "is what"),
        ("{elsewhere}/models/rte/init1_seed1", "is what"),  # results is a link to there
        ("results/models/rte/init1_seed1/mine", "lies in results/models/rte/init1_seed1, which"),
        ("results/models/rte", "holds results/models/rte/init1_seed1/config.json, which"),
        ("results/mine", None),
        ("{elsewhere}/mine", None),
        ("mine", None),
        ("../results/models/rte/init1_seed1", None),
    ],
)
def test_a_checkpoint_may_not_lie_where_jobs_write(tmp_path, monkeypatch, path, told):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    made = elsewhere / "models/rte/init1_seed1/config.json"
    made.parent.mkdir(parents=True)
    made.touch()
    here.mkdir()
    (here / "results").symlink_to(elsewhere)
    monkeypatch.chdir(here)
    path = path.format(here=here, elsewhere=elsewhere)
    found = refused(bases={"mine": {"checkpoints": [{"hub": "a/b"}, {"path": path}]}})
    assert found == (told and f"bases.mine.checkpoints: {path} {told}")


MIRROR = {"source": "mirror", "mirror": "results", "cache": "results/hub"}


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"patterns": {"labels": "results/patterns/sheet/mine.tsv"}}, "patterns.labels: results/patterns/sheet/mine.tsv lies in results/patterns/sheet, which"),
        ({"patterns": {"labels": "results/patterns/mine.tsv"}}, "patterns.labels: results/patterns/mine.tsv is what"),
        ({"patterns": {"labels": "results/mine.tsv"}}, None),
        ({"corpora": {"mine": "results/data/mine/examples.jsonl"}}, "corpora.mine: results/data/mine/examples.jsonl is what"),
        ({"relations": {"source": "results/data", "files": []}}, "relations.source: results/data holds results/data/rte/examples.jsonl, which"),
        ({"data": {"source": "hub", "cache": "results/data/rte"}}, "data.cache: results/data/rte is what"),
        ({"data": {"source": "hub", "cache": "results"}}, None),
        ({"data": {"source": "mirror", "cache": "results/hub", "mirror": "results/data/rte/mine"}},
         "data.mirror: results/data/rte/mine lies in results/data/rte, which"),
        ({"data": MIRROR, "datasets": {"mine": {"mirror": {"dev": ["a.tsv", "data/rte/examples.jsonl"]}}}},
         "datasets.mine.mirror.dev: results/data/rte/examples.jsonl is what"),
        ({"data": MIRROR, "edge_sets": {"mine": {"files": {"train": "data/rte/a.tsv"}}}},
         "edge_sets.mine.files.train: results/data/rte/a.tsv lies in results/data/rte, which"),
        ({"data": MIRROR, "relations": {"source": None, "files": ["data/rte"]}}, "relations.files: results/data/rte is what"),
        ({"data": MIRROR | {"source": "world"}, "relations": {"source": None, "files": ["data/rte"]}}, None),
    ],
)  # fmt: skip
def test_no_key_names_what_a_job_makes(tmp_path, monkeypatch, keys, told):
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "results/data/rte/examples.jsonl"
    made.parent.mkdir(parents=True)
    made.touch()
    assert refused(**keys) == told


@pytest.mark.parametrize("text", ["{half", "[]", '{"%s": 1}', '{"%s": {"seen": {}}}', "\xff"])
def test_a_damaged_memory_counts_as_none(corpus, text):
    before = held(corpus)
    own_files.KNOWN.write_bytes(text.replace("%s", str(corpus)).encode("latin-1"))
    assert held(corpus) == before
