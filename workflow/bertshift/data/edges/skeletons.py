import re
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path

from bertshift.data import conllu
from bertshift.data.edges.archive import read_members
from bertshift.data.text_file import numbered_blocks
from bertshift.errors import UserError

WANTED = re.compile(r"[^/]*/(data/google/ewt/[^/]+/[^/]+/[^/]+\.xml\.gold_skel)")
COLUMNS = 8  # at least
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
        documents[f"{genre}-{name}"] = list(_read_skeletons(text, f"{archive}/{path}"))
    if not documents:
        raise UserError(
            f"{archive} has no data/google/ewt/; fetch the archive of PropBank's whole repository."
        )
    return documents


def join(
    path: Path, documents: Mapping[str, list[Skeleton]], irregular: Counter
) -> Iterator[tuple]:
    """Yield (location, rows) of every sentence of a CoNLL-U file of EWT that has a skeleton of its
    length.

    A row has sentence id, index, word, then the skeleton's columns after [WORD]. The other
    sentences are counted.
    """
    sentences, blanked = conllu.sentences(path)
    irregular.update(blanked)
    for document, group in groupby(
        sentences, key=lambda row: row.get("id", "").rpartition("-")[0]
    ):
        rows = list(group)
        if document not in documents:
            irregular["sentences without a skeleton"] += len(rows)
            continue
        pairs = [
            (row, skeleton)
            for row, skeleton in _pair_with_skeletons(rows, documents[document])
            if len(row["words"]) == len(skeleton)
        ]
        irregular["sentences divided otherwise than their skeleton"] += len(rows) - len(pairs)
        for row, skeleton in pairs:
            yield f"{path}, sentence {row['id']}", _join_rows(row, skeleton)


def _join_rows(row: dict, skeleton: Skeleton) -> list[list[str]]:
    columns = zip(row["words"], skeleton, strict=True)
    return [
        [row["id"], str(index), word, *fields[TAG:]]
        for index, (word, fields) in enumerate(columns)
    ]


def _pair_with_skeletons(
    rows: list[dict], skeletons: list[Skeleton]
) -> Iterator[tuple[dict, Skeleton]]:
    """Pair each row with its skeleton: by position, or by its tags where the document has another
    number of sentences now."""
    if len(rows) == len(skeletons):
        yield from zip(rows, skeletons, strict=True)
        return
    row_tags = [tuple(row["xpos"]) for row in rows]
    skeleton_tags = [tuple(word[TAG] for word in skeleton) for skeleton in skeletons]
    matcher = SequenceMatcher(None, row_tags, skeleton_tags, autojunk=False)
    for block in matcher.get_matching_blocks():
        first, second = block.a, block.b
        yield from zip(
            rows[first : first + block.size],
            skeletons[second : second + block.size],
            strict=True,
        )


def _read_skeletons(text: str, where: str) -> Iterator[Skeleton]:
    for first, lines in numbered_blocks(text.split("\n")):
        words = [line.split() for line in lines]
        width = max(len(words[0]), COLUMNS)
        for index, word in enumerate(words):
            if len(word) != width or word[2] != str(index):
                raise UserError(
                    f"{where}:{first + index} is not word {index} of its sentence in "
                    f"{width} columns; delete the archive and fetch it again."
                )
        yield words
