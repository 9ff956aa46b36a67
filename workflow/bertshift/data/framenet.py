"""The sentences of Kovaleva et al. 2019, section 4.2: exemplars of FrameNet with a word and core
elements of its frame."""

import lzma
import re
import sys
import tarfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bertshift.data.edges.archive import within
from bertshift.errors import UserError

LICENCE = (
    "FrameNet: CC BY 3.0 Unported, ICSI Berkeley; most sentences are of the British National"
    " Corpus"
)
WORDS, ELEMENT_WORDS, NEAR = 12, 3, 2
# Files that NLTK's reader opens: these, and below them every frame and lexical unit, but none of
# the full texts.
INDEXES = ["frRelation.xml", "frameIndex.xml", "fulltextIndex.xml", "luIndex.xml", "semTypes.xml"]
MEMBER = re.compile(rf"(?:.*/)?((?:frame|lu)/[^/]+\.xml|{'|'.join(map(re.escape, INDEXES))})")
PROGRESS_SECONDS = 5


def select(source: Path) -> tuple[list[dict], Counter]:
    """Select relations (see `relations`) from FrameNet, a folder or its archive; count what is
    left out, by reason.

    The paper asks for short sentences whose target word is far from the frame elements, which are
    short too. Its notebook says how: see `left_out`. Arguments are the elements that belong to one
    of the frame's core sets. A folder may lack lexical units. Raises UserError for a source that
    is no FrameNet.
    """
    import nltk
    from nltk.corpus.reader.framenet import FramenetCorpusReader, FramenetError

    rows, skipped, shown = [], Counter(), time.monotonic()
    with _folder(source) as folder:
        nltk.data.path.append(str(folder))  # NLTK opens nothing outside its own folders
        for frame in FramenetCorpusReader(str(folder), INDEXES).frames():
            core = {element.name for members in frame.FEcoreSets for element in members}
            for unit in frame.lexUnit.values():
                try:
                    exemplars = unit.exemplars if core else []
                except FramenetError:
                    skipped["lexical units without a file"] += 1
                    continue
                skipped["lexical units of frames without core sets"] += not core
                for sentence in exemplars:
                    reason = left_out(
                        sentence.text, sentence.get("Target", []), _elements(sentence), core
                    )
                    skipped[reason] += 1
                    if not reason:
                        rows.append(_row(sentence, core))
                # The reader keeps what it has read.
                (
                    unit.pop("subCorpus", None),
                    unit.pop("exemplars", None),
                )
            if time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                print(f"{source}: {len(rows)} sentences up to frame {frame.name}", file=sys.stderr)
    del skipped[""]
    return rows, +skipped


def left_out(text: str, targets: list, elements: list, core: set[str]) -> str:
    """Say why the paper has no such sentence; empty if it has.

    targets [(start, end)], elements [(start, end, name)] in characters. As in the paper's notebook
    words are compared as words: a second "the" beside the target is as near as the one of the
    element.
    """
    from nltk.tokenize import NLTKWordTokenizer

    # NLTK's `word_tokenize`, but for its search for sentences in a text, which needs a model; this
    # text is one.
    words_of = NLTKWordTokenizer().tokenize
    words = words_of(text)
    if len(words) > WORDS:
        return f"longer than {WORDS} words"
    if len(targets) != 1:
        return "no target, or one in parts"
    inside = [words_of(text[start:end]) for start, end, _ in elements]
    if any(len(each) > ELEMENT_WORDS for each in inside):
        return f"a frame element longer than {ELEMENT_WORDS} words"
    target = text[slice(*targets[0])]
    if target not in words:
        return "the target is not one word"
    place = words.index(target)
    near = words[max(0, place - NEAR) : place + NEAR + 1]
    if any(word in near for each in inside for word in each):
        return f"a frame element within {NEAR} words of the target"
    return "" if any(name in core for *_, name in elements) else "no element of a core set"


def _elements(sentence) -> list[tuple[int, int, str]]:
    """List the frame elements with words of their own, in the first layer of these."""
    return sentence["FE"][0] if "FE" in sentence else []


def _row(sentence, core: set[str]) -> dict:
    return {
        "id": str(sentence.frameAnnotation.ID),
        "text": sentence.text,
        "predicate": list(sentence.Target[0]),
        "arguments": [
            {"span": [start, end], "role": name}
            for start, end, name in _elements(sentence)
            if name in core
        ],
    }


@contextmanager
def _folder(source: Path) -> Iterator[Path]:
    """Yield the folder with FrameNet's indexes. An archive is unpacked for as long as the folder
    is needed."""
    with TemporaryDirectory() as unpacked:
        if not source.is_dir():
            _unpack(source, Path(unpacked))
        folder = source if source.is_dir() else Path(unpacked)
        if missing := [name for name in INDEXES if not (folder / name).is_file()]:
            raise UserError(
                f"{source} is no FrameNet: it has no {missing[0]}; put NLTK's framenet_v17 or"
                " framenet_v15 there."
            )
        yield folder.resolve()


def _unpack(archive: Path, folder: Path) -> None:
    try:
        unpacked = 0
        for name, size, read in _members(archive):
            # Whatever folders a member names, it lands in `frame`, in `lu` or beside them.
            if found := MEMBER.fullmatch(name):
                within(archive, unpacked := unpacked + size)
                place = folder / found[1]
                place.parent.mkdir(exist_ok=True)
                place.write_bytes(read())
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise UserError(f"{archive} is damaged ({error}); delete it and fetch it again.") from None


def _members(archive: Path) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """Yield name, size and a reader of the content of every plain file. Links in a tar archive are
    left out."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for each in packed.infolist():
                if not each.is_dir():
                    yield each.filename, each.file_size, partial(packed.read, each)
    else:
        with tarfile.open(archive) as packed:
            for each in packed:
                if each.isfile():
                    yield each.name, each.size, packed.extractfile(each).read
