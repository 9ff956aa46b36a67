from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bertshift.data.text_file import read_lines
from bertshift.errors import UserError


def read(path: Path, spec: Mapping) -> tuple[list[dict], Counter]:
    """Read the sentences of a CoNLL-U file as rows {id, text, words, upos, xpos, heads, deprels}.

    Heads count from 1, 0 is the root. Multiword tokens (3-4) and empty nodes (8.1) are skipped:
    rows hold the syntactic words, on which the basic tree is defined
    (universaldependencies.org/format.html). Raises UserError with file and line for anything else.
    """
    rows, comments, words, start = [], {}, [], 1
    for number, line in enumerate([*read_lines(path), ""], 1):
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            comments[key.strip()] = value.strip()
        elif line.strip():
            fields = line.split("\t")
            if len(fields) != 10:
                raise UserError(
                    f"{path}:{number} has {len(fields)} columns where CoNLL-U has 10; correct it"
                    " or fetch the file again."
                )
            if fields[0].isdecimal():
                words.append(_word(fields, len(words) + 1, f"{path}:{number}"))
            elif not fields[0].replace("-", ".").replace(".", "", 1).isdecimal():
                raise UserError(
                    f"{path}:{number} has {fields[0]!r} for a word's number; correct it or fetch"
                    " the file again."
                )
        else:
            if words:
                rows.append(_sentence(words, comments, f"{path}:{start}"))
            comments, words, start = {}, [], number + 1
    return rows, Counter()


def _word(fields: list[str], expected: int, where: str) -> tuple:
    if int(fields[0]) != expected or not fields[6].isdecimal():
        raise UserError(
            f"{where} has word {fields[0]} with head {fields[6]!r} where word {expected} "
            "with a number was due; correct it or fetch the file again."
        )
    return fields[1], fields[3], fields[4], int(fields[6]), fields[7]


def _sentence(words: list[tuple], comments: Mapping, where: str) -> dict:
    columns = dict(
        zip(
            ("words", "upos", "xpos", "heads", "deprels"),
            map(list, zip(*words, strict=True)),
            strict=True,
        )
    )
    text = comments.get("text") or " ".join(columns["words"])
    row = {"text": text, **columns} | (
        {"id": comments["sent_id"]} if "sent_id" in comments else {}
    )
    return check(row, where)


def check(row: dict, where: str) -> dict:
    """Return the row. UserError, beginning with `where`, unless its lists are of one length and
    its heads a tree."""
    lengths = {len(row[key]) for key in ("words", "upos", "xpos", "heads", "deprels")}
    fault = "lists of different lengths" if len(lengths) > 1 else tree_fault(row["heads"])
    if fault:
        raise UserError(
            f"{where}: the sentence has {fault}; fetch the treebank again or correct it."
        )
    return row


def tree_fault(heads: Sequence[int]) -> str | None:
    """Say what keeps `heads` from being a tree with one root, or return None. Every word is
    visited once."""
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
