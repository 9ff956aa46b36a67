import io
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from bertshift.data import framenet
from bertshift.data.edges import archive as archive_of_edges
from bertshift.data.relations import prepare_relations, read_relations
from bertshift.errors import UserError

NAMESPACE = "http://framenet.icsi.berkeley.edu"
FRAMES = {"Motion": [["Theme", "Self"]], "Mood": []}
# Text, target, elements (name, words): in frame Motion, and why each is left out.
SENTENCES = [
    ("The old dog was slowly moving .", ["moving"], [("Theme", "The old dog")], ""),
    ("Dogs and cats are moving .", ["moving"], [("Theme", "Dogs"), ("Place", "cats")], "a frame element within 2 words of the target"),
    ("A dog which was said to be black and white was moving .", ["moving"], [("Theme", "A dog")], "longer than 12 words"),
    ("The very old dog was not moving .", ["moving"], [("Theme", "The very old dog")], "a frame element longer than 3 words"),
    ("Dogs were not moving on .", ["moving", "on"], [("Theme", "Dogs")], "no target, or one in parts"),
    ("Dogs were never quite moving .", ["quite moving"], [("Theme", "Dogs")], "the target is not one word"),
    ("Dogs were never moving .", ["moving"], [("Time", "Dogs")], "no element of a core set"),
    # The notebook compares words, so that another "the" beside the target is near.
    ("The dogs were in the moving van .", ["moving"], [("Theme", "The"), ("Time", "the")], "a frame element within 2 words of the target"),
    ("Dogs , it seems , like moving .", ["moving"], [("Theme", "Dogs"), ("Time", None)], ""),
]  # fmt: skip


def xml(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', encoding="utf-8")


def label(text, words, name):
    if words is None:
        return f'<label itype="INI" name="{name}"/>'
    start = text.index(words)
    return f'<label start="{start}" end="{start + len(words) - 1}" name="{name}"/>'


def sentence(number, text, targets, elements):
    layers = {
        "Target": "".join(label(text, each, "Target") for each in targets),
        "FE": "".join(label(text, words, name) for name, words in elements),
    }
    inside = "".join(f'<layer rank="1" name="{name}">{labels}</layer>' for name, labels in layers.items())
    return (
        f'<sentence ID="{number}"><text>{text}</text><annotationSet status="UNANN" ID="{number}0">'
        f'<layer rank="1" name="PENN"/></annotationSet><annotationSet status="MANUAL" ID="{number}1">{inside}'
        "</annotationSet></sentence>"
    )


UNITS = {1: ("Motion", "move.v"), 2: ("Mood", "sad.a"), 3: ("Motion", "go.v")}
ATTRIBUTES = {u: f'status="Created" POS="V" name="{name}" ID="{u}"' for u, (_, name) in UNITS.items()}


def each(form, items):
    return "".join(form.format(*item) for item in items)


@pytest.fixture
def corpus(tmp_path):
    """Two frames, of which one has a core set; three lexical units, of which one has no file."""
    root = tmp_path / "framenet_v17"
    units = [(frame, 1 + (frame == "Mood"), ATTRIBUTES[u]) for u, (frame, _) in UNITS.items()]
    inside = {
        "luIndex": each('<lu frameName="{}" frameID="{}" {} hasAnnotation="true"/>', units),
        "frameIndex": each('<frame name="{}" ID="{}"/>', [("Motion", 1), ("Mood", 2)]),
    }
    for name in ("luIndex", "frameIndex", "frameRelations", "semTypes", "fulltextIndex"):
        file = "frRelation" if name == "frameRelations" else name
        xml(root, f"{file}.xml", f'<{name} xmlns="{NAMESPACE}">{inside.get(name, "")}</{name}>')
    elements = list(enumerate(["Theme", "Self", "Time"]))
    for number, (frame, sets) in enumerate(FRAMES.items(), 1):
        text = each('<FE abbrev="{1}" coreType="Core" name="{1}" ID="' + str(number) + '{0}"/>', elements)
        for names in sets:
            members = each('<memberFE name="{1}" ID="' + str(number) + '{0}"/>', enumerate(names))
            text += f"<FEcoreSet>{members}</FEcoreSet>"
        own = [(attributes,) for name, _, attributes in units if name == frame]
        text += each('<lexUnit {}><lexeme order="1" POS="V" name="x"/></lexUnit>', own)
        head = f'<frame xmlns="{NAMESPACE}" name="{frame}" ID="{number}"><definition>d</definition>'
        xml(root, f"frame/{frame}.xml", f"{head}{text}</frame>")
    exemplars = "".join(sentence(n, *each[:3]) for n, each in enumerate(SENTENCES))
    for u in (1, 2):
        head = f'<lexUnit xmlns="{NAMESPACE}" {ATTRIBUTES[u]} frame="{UNITS[u][0]}" frameID="{u}">'
        xml(root, f"lu/lu{u}.xml", f'{head}<subCorpus name="a">{exemplars}</subCorpus></lexUnit>')
    return root


def test_what_is_chosen_and_why_the_rest_is_left_out(corpus):
    rows, left_out = framenet.select(corpus)
    assert [row["text"] for row in rows] == [each[0] for each in SENTENCES if not each[3]]
    assert rows[0] == {
        "id": "1", "text": "The old dog was slowly moving .", "predicate": [23, 29],
        "arguments": [{"span": [0, 11], "role": "Theme"}],
    }  # fmt: skip
    reasons = Counter(each[3] for each in SENTENCES if each[3])
    assert left_out == reasons + Counter(
        {"lexical units without a file": 1, "lexical units of frames without core sets": 1}
    )


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
    with pytest.raises(UserError, match="is no FrameNet: it has no frRelation.xml"):
        framenet.select(tmp_path)


def test_the_papers_sentences_are_those_that_its_rules_choose(mirror, tmp_path):
    prepare_relations(mirror / "framenet_473.tsv", tmp_path, "mirror")
    for row in read_relations(tmp_path):
        spans = [(*each["span"], "FE") for each in row["arguments"]]
        assert not framenet.left_out(row["text"], [tuple(row["predicate"])], spans, {"FE"}), row


def packed_as(kind, archive, members):
    """An archive with these (name, content, target of a link) in this order."""
    opened = zipfile.ZipFile if kind == "zip" else tarfile.open
    with opened(archive, "w") as file:
        for name, content, target in members:
            if kind == "zip":
                info = zipfile.ZipInfo(name)
                info.external_attr = (stat.S_IFLNK if target else stat.S_IFREG) << 16
                file.writestr(info, target or content)
            else:
                info = tarfile.TarInfo(name)
                info.type = tarfile.SYMTYPE if target else tarfile.REGTYPE
                info.size, info.linkname = len(content), target
                file.addfile(info, io.BytesIO(content.encode()))


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_no_member_lands_outside_and_none_fills_the_disk(corpus, tmp_path, kind, monkeypatch):
    temporary, outside = tmp_path / "temporary", tmp_path / "outside"
    temporary.mkdir()
    outside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    sound = [(str(path.relative_to(tmp_path)), path.read_text(), "") for path in corpus.rglob("*.xml")]
    evil = [
        ("framenet_v17/lu", "", str(outside)),  # a link in the place of a folder
        ("../outside/lu/lu9.xml", "up", ""),
        (f"{outside}/frame/Evil.xml", "absolute", ""),
        ("framenet_v17/lu/../../outside/lu8.xml", "through", ""),
        ("framenet_v17/frame/link.xml", "", "/etc/hostname"),
        ("../outside/evil.txt", "no member of FrameNet", ""),
    ]
    archive = tmp_path / f"framenet.{kind}"
    packed_as(kind, archive, [*evil, *sound])
    framenet.select(archive)
    monkeypatch.setattr(archive_of_edges, "LARGEST", 1000)
    with pytest.raises(UserError, match="holds more than"):
        framenet.select(archive)
    assert not any(outside.rglob("*")) and not any(temporary.iterdir())
