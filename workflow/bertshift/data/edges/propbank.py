from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from bertshift.data.edges import skeletons
from bertshift.data.edges.brackets import constituent_targets, frame_targets, tag_targets
from bertshift.data.edges.records import Split, record
from bertshift.data.text_file import read_lines
from bertshift.errors import UserError


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read the tags, constituents or arguments that PropBank gives the English Web Treebank.

    files["skeletons"] is an archive of PropBank's release, in which words are blanked.
    files["train"], "dev" and "test" are UD's CoNLL-U files, which have the words. Without
    skeletons these three hold both joined, in columns separated by tabs: sentence id, index, word,
    tag, parse bit, lemma, roleset, one for each frame.
    """
    documents = skeletons.read_documents(files["skeletons"]) if "skeletons" in files else None
    return {
        split: _read_split(task, path, documents)
        for split, path in files.items()
        if split != "skeletons"
    }


def _read_split(task: str, path: Path, documents: Mapping | None) -> Split:
    records, source, irregular = [], Counter(), Counter()
    sentences = (
        _sentences(path) if documents is None else skeletons.join(path, documents, irregular)
    )
    for where, rows in sentences:
        ids, _, words, tags, bits, _, _, *frames = zip(*rows, strict=True)
        source.update(sentences=1, tokens=len(words))
        if task == "srl":
            found = frame_targets(frames, where, irregular)
            source["frames"] += len(found)
        else:
            found = [tag_targets(tags) if task == "pos" else constituent_targets(bits, where)]
        records += [record(task, where, words, targets, sentence=ids[0]) for targets in found]
    return Split(records, source, irregular)


def _sentences(path: Path) -> Iterator[tuple[str, list[list[str]]]]:
    numbered = enumerate(read_lines(path), 1)
    for filled, lines in groupby(numbered, key=lambda line: bool(line[1].strip())):
        if filled:
            rows = []
            for number, line in lines:
                rows.append(line.split("\t"))
                if rows[-1][:2] != [rows[0][0], str(len(rows) - 1)] or len(rows[-1]) != max(
                    len(rows[0]), 7
                ):
                    raise UserError(
                        f"{path}:{number} is not word {len(rows) - 1} of the sentence {rows[0][0]}"
                        f" in {max(len(rows[0]), 7)} columns; fetch the file again."
                    )
            yield f"{path}:{number - len(rows) + 1}", rows
