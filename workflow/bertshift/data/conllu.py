import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bertshift.data.text_file import numbered_blocks, read_lines
from bertshift.errors import UserError

LISTS = ("words", "upos", "xpos", "heads", "deprels")  # of a row, one item a word
SKIPPED = re.compile(r"\d+[-.]\d+")  # numbers of multiword tokens and empty nodes


def read(path: Path, spec: Mapping) -> tuple[list[dict], Counter]:
    """Read the sentences of a CoNLL-U file as rows {id, text, words, upos, xpos, heads, deprels}.

    Heads count from 1, 0 is the root. Multiword tokens (3-4) and empty nodes (8.1) are skipped:
    rows hold the syntactic words, on which the basic tree is defined
    (universaldependencies.org/format.html). Raises UserError with file and line for anything else.
    """
    rows = []
    for first, lines in numbered_blocks(read_lines(path)):
        comments, words = {}, []
        for number, line in enumerate(lines, first):
            if line.startswith("#"):
                key, _, value = line[1:].partition("=")
                comments[key.strip()] = value.strip()
                continue
            fields = line.split("\t")
            if len(fields) != 10:
                raise UserError(
                    f"{path}:{number} has {len(fields)} columns where CoNLL-U has 10; correct it"
                    " or fetch the file again."
                )
            if fields[0].isdecimal():
                words.append(_parse_word(fields, len(words) + 1, f"{path}:{number}"))
            elif not SKIPPED.fullmatch(fields[0]):
                raise UserError(
                    f"{path}:{number} has {fields[0]!r} for a word's number; correct it or fetch"
                    " the file again."
                )
        if words:
            rows.append(_make_row(words, comments, f"{path}:{first}"))
    return rows, Counter()


def _parse_word(fields: list[str], expected: int, where: str) -> tuple:
    """Check the columns of a word and return its values of LISTS."""
    index, form, _, upos, xpos, _, head, deprel, *_ = fields
    if int(index) != expected or not head.isdecimal():
        raise UserError(
            f"{where} has word {index} with head {head!r} where word {expected} "
            "with a number was due; correct it or fetch the file again."
        )
    return form, upos, xpos, int(head), deprel


def _make_row(words: list[tuple], comments: Mapping, where: str) -> dict:
    columns = [list(column) for column in zip(*words, strict=True)]
    row = dict(zip(LISTS, columns, strict=True))
    row = {"text": comments.get("text") or " ".join(row["words"]), **row}
    if "sent_id" in comments:
        row["id"] = comments["sent_id"]
    return check(row, where)


def check(row: dict, where: str) -> dict:
    """Return the row. UserError, beginning with `where`, unless its lists have one length and its
    heads form a tree."""
    if len({len(row[key]) for key in LISTS}) > 1:
        fault = "lists of different lengths"
    else:
        fault = tree_fault(row["heads"])
    if fault:
        raise UserError(
            f"{where}: the sentence has {fault}; fetch the treebank again or correct it."
        )
    return row


def tree_fault(heads: Sequence[int]) -> str | None:
    """Return why `heads` are not a tree with one root, or None if they are. Every word is visited
    once."""
    outside = [head for head in heads if not 0 <= head <= len(heads)]
    if outside:
        return f"a head {outside[0]} outside its {len(heads)} words"
    roots = sum(head == 0 for head in heads)
    if roots != 1:
        return f"{roots} roots where a tree has one"
    reached = {0}
    for word in range(1, len(heads) + 1):
        path = set()
        while word not in reached:
            if word in path:
                return f"a cycle through word {word}"
            path.add(word)
            word = heads[word - 1]
        reached.update(path)
    return None
