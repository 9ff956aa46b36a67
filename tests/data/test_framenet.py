import io
import shutil
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

from bertshift.data import framenet
from bertshift.data.edges import archive as archive_of_edges
from bertshift.data.relations import prepare_relations, read_relations
from bertshift.errors import UserError

# Frames Motion, which has a core set, and Mood; lexical units with the same nine sentences, of
# which one has no file.
MADE = Path(__file__).with_name("framenet")
CHOSEN = ["The old dog was slowly moving .", "Dogs , it seems , like moving ."]
LEFT_OUT = {
    # Words are compared: another "the", two words behind the target, is near.
    "a frame element within 2 words of the target": 2,
    "longer than 12 words": 1,
    "a frame element longer than 3 words": 1,
    "no target, or one in parts": 1,
    "the target is not one word": 1,
    "no element of a core set": 1,
    "lexical units without a file": 1,
    "lexical units of frames without core sets": 1,
}


@pytest.fixture
def corpus(tmp_path):
    return Path(shutil.copytree(MADE, tmp_path / "framenet_v17"))


def test_what_is_chosen_and_why_the_rest_is_left_out(corpus):
    rows, left_out = framenet.select(corpus)
    assert [row["text"] for row in rows] == CHOSEN and left_out == LEFT_OUT
    assert rows[0] == {
        "id": "1", "text": CHOSEN[0], "predicate": [23, 29],
        "arguments": [{"span": [0, 11], "role": "Theme"}],
    }  # fmt: skip


@pytest.mark.parametrize("packed", ["zip", "xztar"])
def test_an_archive_holds_the_same(corpus, tmp_path, packed):
    archive = Path(shutil.make_archive(str(corpus), packed, tmp_path, corpus.name))
    sidecar = prepare_relations(archive, tmp_path / "out", "mirror")
    assert sidecar["name"] == "framenet_v17" and sidecar["left_out"]["longer than 12 words"] == 1
    assert read_relations(tmp_path / "out") == framenet.select(corpus)[0]
    archive.write_bytes(archive.read_bytes()[:200])
    with pytest.raises(UserError, match="damaged"):
        framenet.select(archive)


def test_another_folder_is_no_framenet(tmp_path):
    with pytest.raises(UserError, match="is not FrameNet: it has no frRelation.xml"):
        framenet.select(tmp_path)


def test_the_papers_sentences_are_those_that_its_rules_choose(mirror, tmp_path):
    prepare_relations(mirror / "framenet_473.tsv", tmp_path, "mirror")
    for row in read_relations(tmp_path):
        spans = [(*argument["span"], "FE") for argument in row["arguments"]]
        assert not framenet.left_out(row["text"], [tuple(row["predicate"])], spans, {"FE"}), row


def packed_as(kind, archive, members):
    """An archive with these (name, content, target of a link) in this order."""
    opened = zipfile.ZipFile if kind == "zip" else tarfile.open
    with opened(archive, "w") as file:
        for name, content, target in members:
            if kind == "zip":
                info = zipfile.ZipInfo(str(name))
                info.external_attr = (stat.S_IFLNK if target else stat.S_IFREG) << 16
                file.writestr(info, target or content)
            else:
                info = tarfile.TarInfo(str(name))
                info.type = tarfile.SYMTYPE if target else tarfile.REGTYPE
                info.size, info.linkname = len(content), target
                file.addfile(info, io.BytesIO(content.encode()))


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_no_member_is_written_outside_and_none_fills_the_disk(corpus, tmp_path, kind, monkeypatch):
    temporary, outside = tmp_path / "temporary", tmp_path / "outside"
    temporary.mkdir()
    outside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    sound = [(path.relative_to(tmp_path), path.read_text(), "") for path in corpus.rglob("*.xml")]
    evil = [
        ("framenet_v17/lu", "", str(outside)),  # a link in the place of a folder
        ("../outside/lu/lu9.xml", "up", ""),
        (f"{outside}/frame/Evil.xml", "absolute", ""),
        ("framenet_v17/lu/../../outside/lu8.xml", "through", ""),
        ("framenet_v17/frame/link.xml", "", "/etc/hostname"),
    ]
    archive = tmp_path / f"framenet.{kind}"
    packed_as(kind, archive, [*evil, *sound])
    framenet.select(archive)
    monkeypatch.setattr(archive_of_edges, "LARGEST", 1000)
    with pytest.raises(UserError, match="holds more than"):
        framenet.select(archive)
    assert not any(outside.rglob("*")) and not any(temporary.iterdir())
