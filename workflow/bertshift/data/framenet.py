"""The sentences of Kovaleva et al. 2019, section 4.2: exemplars of FrameNet with a word and core
elements of its frame."""

import lzma
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from bertshift.data.edges.archive import within
from bertshift.errors import UserError
from bertshift.running.progress import Lines

LICENCE = (
    "FrameNet: CC BY 3.0 Unported, ICSI Berkeley; most sentences are of the British National"
    " Corpus"
)
WORDS, ELEMENT_WORDS, NEAR = 12, 3, 2
# Files that NLTK's reader opens: these, and below them every frame and lexical unit, but none of
# the full texts.
INDEXES = ["frRelation.xml", "frameIndex.xml", "fulltextIndex.xml", "luIndex.xml", "semTypes.xml"]
MEMBER = re.compile(rf"(?:.*/)?((?:frame|lu)/[^/]+\.xml|{'|'.join(map(re.escape, INDEXES))})")


def select(source: Path) -> tuple[list[dict], Counter]:
    """Select relations (see `relations`) from FrameNet, a folder or its archive; count what is
    left out, by reason.

    The paper takes short sentences whose target word is far from the frame elements, which are
    short too. `left_out` has the rules of its notebook. Arguments are the elements that belong to
    one of the frame's core sets. A folder may lack lexical units. UserError for a source that is
    not FrameNet.
    """
    import nltk
    from nltk.corpus.reader.framenet import FramenetCorpusReader, FramenetError

    rows, skipped = [], Counter()
    progress = Lines()
    with _open_folder(source) as folder:
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
                    targets, elements = sentence.get("Target", []), _list_elements(sentence)
                    reason = left_out(sentence.text, targets, elements, core)
                    if reason:
                        skipped[reason] += 1
                    else:
                        rows.append(_make_row(sentence, core))
                # The reader keeps all it has read.
                unit.pop("subCorpus", None)
                unit.pop("exemplars", None)
            progress.tell(f"{source}: {len(rows)} sentences up to frame {frame.name}")
    return rows, +skipped


def left_out(text: str, targets: list, elements: list, core: set[str]) -> str:
    """Return why the paper leaves such a sentence out; empty if it does not.

    The paper's notebook compares words by spelling, and so does this function: a second "the"
    beside the target is as near as the one of the element.

    targets: [(start, end)] in characters
    elements: [(start, end, name)] in characters
    """
    from nltk.tokenize import NLTKWordTokenizer

    # NLTK's `word_tokenize` would also look for sentences, which needs a model; this text is one.
    tokenize = NLTKWordTokenizer().tokenize
    words = tokenize(text)
    if len(words) > WORDS:
        return f"longer than {WORDS} words"
    if len(targets) != 1:
        return "no target, or one in parts"
    element_words = [tokenize(text[start:end]) for start, end, _ in elements]
    if any(len(phrase) > ELEMENT_WORDS for phrase in element_words):
        return f"a frame element longer than {ELEMENT_WORDS} words"
    target = text[slice(*targets[0])]
    if target not in words:
        return "the target is not one word"
    position = words.index(target)
    near = words[max(0, position - NEAR) : position + NEAR + 1]
    if not set(near).isdisjoint(chain(*element_words)):
        return f"a frame element within {NEAR} words of the target"
    if core.isdisjoint(name for _, _, name in elements):
        return "no element of a core set"
    return ""


def _list_elements(sentence) -> list[tuple[int, int, str]]:
    """List the first layer's frame elements that have words in the sentence."""
    return sentence["FE"][0] if "FE" in sentence else []


def _make_row(sentence, core: set[str]) -> dict:
    return {
        "id": str(sentence.frameAnnotation.ID),
        "text": sentence.text,
        "predicate": list(sentence.Target[0]),
        "arguments": [
            {"span": [start, end], "role": name}
            for start, end, name in _list_elements(sentence)
            if name in core
        ],
    }


@contextmanager
def _open_folder(source: Path) -> Iterator[Path]:
    """Yield the folder with FrameNet's indexes. An archive is unpacked for as long as the folder
    is needed."""
    with TemporaryDirectory() as unpacked:
        folder = source
        if not source.is_dir():
            folder = Path(unpacked)
            _unpack_archive(source, folder)
        if missing := [name for name in INDEXES if not (folder / name).is_file()]:
            raise UserError(
                f"{source} is not FrameNet: it has no {missing[0]}; put NLTK's framenet_v17 or"
                " framenet_v15 there."
            )
        yield folder.resolve()


def _unpack_archive(archive: Path, folder: Path) -> None:
    try:
        unpacked = 0
        for name, size, read in _list_members(archive):
            # Whatever folders a member names, it lands in `frame`, in `lu` or beside them.
            if match := MEMBER.fullmatch(name):
                unpacked += size
                within(archive, unpacked)
                path = folder / match[1]
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(read())
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise UserError(f"{archive} is damaged ({error}); delete it and fetch it again.") from None


def _list_members(archive: Path) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """Yield name, size and a reader of the content of every plain file. Links in a tar archive are
    left out."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                if not member.is_dir():
                    yield member.filename, member.file_size, partial(packed.read, member)
    else:
        with tarfile.open(archive) as packed:
            for member in packed:
                if member.isfile():
                    yield member.name, member.size, packed.extractfile(member).read
