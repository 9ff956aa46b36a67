import re
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path

from bertshift.data import conllu
from bertshift.data.edges.archive import read_members
from bertshift.errors import UserError

WANTED = re.compile(r"[^/]*/(data/google/ewt/[^/]+/[^/]+/[^/]+\.xml\.gold_skel)")
TAG = 4
Skeleton = list[list[str]]  # the columns of each word: document, sentence, index, [WORD], tag, ...


def read_documents(archive: Path) -> dict[str, list[Skeleton]]:
    """Read the sentences of the English Web Treebank by document, named as in UD
    ("email-enronsent26_02").

    `archive` is one of PropBank's release (github.com/propbank/propbank-release), in which words
    are blanked.
    """
    documents = {}
    for path, text in read_members(archive, WANTED).items():
        *_, genre, _, name = path.removesuffix(".xml.gold_skel").split("/")
        documents[f"{genre}-{name}"] = list(_sentences(text, f"{archive}/{path}"))
    if not documents:
        raise UserError(
            f"{archive} has no data/google/ewt/; fetch the archive of PropBank's whole repository."
        )
    return documents


def join(
    path: Path, documents: Mapping[str, list[Skeleton]], irregular: Counter
) -> Iterator[tuple]:
    """Yield (place, rows) of every sentence of a CoNLL-U file of EWT that has a skeleton of its
    length.

    A row is sentence id, index, word, then what follows [WORD] in the skeleton. The other
    sentences are counted.
    """
    sentences = conllu.read(path, {})[0]
    for document, group in groupby(
        sentences, key=lambda row: row.get("id", "").rpartition("-")[0]
    ):
        rows = list(group)
        if document not in documents:
            irregular["sentences without a skeleton"] += len(rows)
            continue
        joined = [
            pair
            for pair in _pairs(rows, documents[document])
            if len(pair[0]["words"]) == len(pair[1])
        ]
        irregular["sentences divided otherwise than their skeleton"] += len(rows) - len(joined)
        for row, skeleton in joined:
            columns = zip(row["words"], skeleton, strict=True)
            yield (
                f"{path}, sentence {row['id']}",
                [
                    [row["id"], str(i), word, *fields[TAG:]]
                    for i, (word, fields) in enumerate(columns)
                ],
            )


def _pairs(rows: list[dict], skeletons: list[Skeleton]) -> Iterator[tuple[dict, Skeleton]]:
    """Pair each row with its skeleton: by position, or by its tags where the document has another
    number of sentences now."""
    if len(rows) == len(skeletons):
        yield from zip(rows, skeletons, strict=True)
        return
    tags = (
        [tuple(row["xpos"]) for row in rows],
        [tuple(word[TAG] for word in each) for each in skeletons],
    )
    for a, b, size in SequenceMatcher(None, *tags, autojunk=False).get_matching_blocks():
        yield from zip(rows[a : a + size], skeletons[b : b + size], strict=True)


def _sentences(text: str, where: str) -> Iterator[Skeleton]:
    numbered = enumerate(text.split("\n"), 1)
    for filled, lines in groupby(numbered, key=lambda line: bool(line[1].strip())):
        if filled:
            words = []
            for number, line in lines:
                words.append(line.split())
                if words[-1][2:3] != [str(len(words) - 1)] or len(words[-1]) != max(
                    len(words[0]), 8
                ):
                    raise UserError(
                        f"{where}:{number} is not word {len(words) - 1} of its sentence in "
                        f"{max(len(words[0]), 8)} columns; delete the archive and fetch it again."
                    )
            yield words
