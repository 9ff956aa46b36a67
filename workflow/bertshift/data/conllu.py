import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bertshift.data.text_file import numbered_blocks, read_lines
from bertshift.errors import UserError

LISTS = ("words", "upos", "xpos", "heads", "deprels")  # of a row, one item a word
SKIPPED = re.compile(r"\d+[-.]\d+")  # numbers of multiword tokens and empty nodes
UNSPECIFIED = "_"
BLANKED = "sentences published without their words"  # a reason to leave them out
UPOS = frozenset(
    [
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
        "SCONJ",
        "SYM",
        "VERB",
        "X",
    ]
) | {"CONJ"}  # CCONJ before Universal Dependencies 2


def read(path: Path, spec: Mapping) -> tuple[list[dict], Counter]:
    """Read the sentences of a data set's CoNLL-U file, as `sentences` does.

    UserError also for a word without a universal part of speech: punctuation, which scores leave
    out, is known by it alone.
    """
    return _read(path, check)


def sentences(path: Path) -> tuple[list[dict], Counter]:
    """Read the sentences of a CoNLL-U file as rows {id, text, words, upos, xpos, heads, deprels}.

    Heads count from 1, 0 is the root. Multiword tokens (3-4) and empty nodes (8.1) are skipped:
    rows hold the syntactic words, on which the basic tree is defined
    (universaldependencies.org/format.html). Sentences that are published without their words are
    left out and counted. UserError with file and line for anything else, and for a file without
    any words.
    """
    return _read(path, check_tree)


def _read(path: Path, check_row: Callable[[dict, str], dict]) -> tuple[list[dict], Counter]:
    rows, counts = [], Counter()
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
        if not words:
            continue
        row = _make_row(words, comments)
        if is_blanked(row["words"], row["upos"]):
            counts[BLANKED] += 1
        else:
            rows.append(check_row(row, f"{path}:{first}"))
    words = {word for row in rows for word in row["words"]}
    if counts and words <= {UNSPECIFIED}:
        raise UserError(
            f"{path} has _ for every word, as it is published without its texts; put the words in"
            " as its README says, or name another treebank."
        )
    return rows, counts


def is_blanked(words: Sequence[str], upos: Sequence[str] = ()) -> bool:
    """Return whether underscores, or PropBank's [WORD], stand for all words of a sentence that is
    published without its texts. A line of underscores is a word of its own, whose tag says so."""
    if not all(word == "[WORD]" or set(word) == {UNSPECIFIED} for word in words):
        return False
    return len(words) > 1 or not set(upos) <= {"PUNCT", "SYM"}


def _parse_word(fields: list[str], expected: int, where: str) -> tuple:
    """Check the columns of a word and return its values of LISTS."""
    index, form, _, upos, xpos, _, head, deprel, *_ = fields
    if int(index) != expected or not head.isdecimal():
        raise UserError(
            f"{where} has word {index} with head {head!r} where word {expected} "
            "with a number was due; correct it or fetch the file again."
        )
    return form, upos, xpos, int(head), deprel


def _make_row(words: list[tuple], comments: Mapping) -> dict:
    columns = [list(column) for column in zip(*words, strict=True)]
    row = dict(zip(LISTS, columns, strict=True))
    row = {"text": comments.get("text") or " ".join(row["words"]), **row}
    if "sent_id" in comments:
        row["id"] = comments["sent_id"]
    return row


def check(row: dict, where: str) -> dict:
    """Return the row. UserError, beginning with `where`, as `check_tree` raises it, and for a word
    without a universal part of speech."""
    check_tree(row, where)
    for word, tag in zip(row["words"], row["upos"], strict=True):
        if tag not in UPOS:
            raise UserError(
                f"{where}: the word {word!r} has {tag!r} for its universal part of speech (UPOS,"
                " column 4 of CoNLL-U), by which punctuation is known; write the tags of Universal"
                " Dependencies there, or name a treebank that has them."
            )
    return row


def check_tree(row: dict, where: str) -> dict:
    """Return the row. UserError, beginning with `where`, unless its lists have one length, its
    heads form a tree and each word has a relation."""
    if len({len(row[key]) for key in LISTS}) > 1:
        fault = "lists of different lengths"
    elif not all(row["words"]):
        fault = "an empty word"
    elif not {"", UNSPECIFIED}.isdisjoint(row["deprels"]):
        fault = "a word without a relation"
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
