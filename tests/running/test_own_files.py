"""What the user's own files hold, whatever their times are."""

import errno
import os

import pytest

from bertshift.errors import UserError
from bertshift.running import own_files

# A configuration that names no file of the user's.
PLAIN = {"data": {"source": "hub", "cache": "results/hub"}, "corpora": {}, "bases": {}, "datasets": {}, "edge_sets": {},
         "patterns": {"labels": None}, "relations": {"source": None, "files": []}}  # fmt: skip


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


def test_a_memory_that_cannot_be_written_stops_nothing(corpus, monkeypatch):
    def read_only(*args):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(own_files, "write_json", read_only)
    assert held(corpus)


@pytest.mark.parametrize("records", [False, True])
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch, records):
    own_files.check_writable(tmp_path)
    place = tmp_path
    if records:
        place = tmp_path / ".snakemake"
        place.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: path != place)
    with pytest.raises(UserError, match=f"^{place} cannot be written to"):
        own_files.check_writable(tmp_path)


def test_a_file_that_is_not_there_is_named_with_its_key(corpus):
    config = PLAIN | {"corpora": {"mine": "gone.txt"}}
    own_files.check([str(corpus), "results/gone.txt"], config)
    with pytest.raises(UserError, match=r"^corpora\.mine: gone\.txt does not exist"):
        own_files.check("gone.txt", config)


def refused(**keys):
    """What is said of a configuration."""
    return [sentence.partition(" where")[0] for sentence in own_files.misplaced(PLAIN | keys)]


@pytest.mark.parametrize(
    ("path", "misplaced"),
    [
        ("results/models/rte/init1_seed1", True),
        ("{here}/results/mine", True),
        ("{elsewhere}/mine", True),  # results is a link to there
        ("logs/mine", True),
        ("mine", False),
        ("resultsofmine", False),
        ("../results/models/rte/init1_seed1", False),
    ],
)
def test_a_checkpoint_may_not_lie_where_jobs_write(tmp_path, monkeypatch, path, misplaced):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    elsewhere.mkdir()
    here.mkdir()
    (here / "results").symlink_to(elsewhere)
    monkeypatch.chdir(here)
    path = path.format(here=here, elsewhere=elsewhere)
    found = refused(bases={"mine": {"checkpoints": [{"hub": "a/b"}, {"path": path}]}})
    assert found == ([f"bases.mine.checkpoints: {path} lies"] if misplaced else [])


MIRROR = {"source": "mirror", "mirror": "mine", "cache": "results/hub"}


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"patterns": {"labels": "results/mine.tsv"}}, "patterns.labels: results/mine.tsv lies"),
        ({"corpora": {"mine": "results/data/mine/examples.jsonl"}}, "corpora.mine: results/data/mine/examples.jsonl lies"),
        ({"corpora": {"mine": "results/world/corpus/documents.txt"}}, None),
        ({"relations": {"source": "results/data", "files": []}}, "relations.source: results/data lies"),
        ({"data": {"source": "hub", "cache": "results/data/rte"}}, "data.cache: results/data/rte lies"),
        ({"data": MIRROR | {"mirror": "results/data"}}, "data.mirror: results/data lies"),
        ({"data": MIRROR, "datasets": {"mine": {"mirror": {"dev": ["../results/dev.tsv"]}}}},
         "datasets.mine.mirror.dev: mine/../results/dev.tsv lies"),
        ({"data": MIRROR | {"source": "world", "mirror": "results/data"}}, None),
    ],
)  # fmt: skip
def test_no_key_names_what_a_job_may_make(tmp_path, monkeypatch, keys, told):
    monkeypatch.chdir(tmp_path)
    assert refused(**keys) == ([told] if told else [])


@pytest.mark.parametrize("text", ["{half", "[]", '{"%s": 1}', '{"%s": {"seen": {}}}', "\xff"])
def test_a_damaged_memory_counts_as_none(corpus, text):
    before = held(corpus)
    own_files.CACHE.write_bytes(text.replace("%s", str(corpus)).encode("latin-1"))
    assert held(corpus) == before
