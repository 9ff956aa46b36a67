import csv
import html
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bertshift.data import conllu
from bertshift.data.edges import brackets
from bertshift.data.edges.archive import read_members
from bertshift.data.edges.records import SPLITS, Split, record, target
from bertshift.data.text_file import read_text
from bertshift.errors import UserError

# A property holds if the mean answer, of 1 to 5, is above this (SPR1) or reaches it (SPR2):
# jiant's thresholds.
SPR1_ABOVE, SPR2_FROM = 3, 4
SPANS = ("Pred.Token", "Arg.Tokens.Begin", "Arg.Tokens.End")
TABLE = re.compile(r"(?:.*/)?(protoroles_[^/]*\.tsv)")
UNESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}"}


class Argument(NamedTuple):
    where: str
    phrase: str
    answers: dict[str, list[int]]  # by property


def read_spr2(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read proto-role properties between a predicate and a phrase of the English Web Treebank
    (White et al. 2016).

    files["rows"] is the publisher's table or the archive that holds it. Its Sentence.ID counts the
    sentences of UD 1.2, unless a column sent_id names those of a later release. files["train"],
    "dev" and "test" are that treebank. Answers that call a property not applicable are left out,
    and so is an argument that has no others.
    """
    splits = {split: Split([], Counter(), Counter()) for split in SPLITS}
    asked = {split: defaultdict(dict) for split in SPLITS}
    for where, row in _table(
        files["rows"], (*SPANS, "Arg.Phrase", "Property", "Response", "Applicable")
    ):
        split, sentence = _split(where, row), row.get("sent_id") or row.get("Sentence.ID")
        predicate, start, end = (_number(where, row, key) for key in SPANS)
        argument = Argument(where, html.unescape(row["Arg.Phrase"]), {})
        answers = asked[split][sentence].setdefault((predicate, start, end + 1), argument).answers
        if row["Applicable"] == "no":
            splits[split].irregular["answers: not applicable"] += 1
        elif row["Response"] == "nan":
            splits[split].irregular["answers: none given"] += 1
        else:
            answers.setdefault(row["Property"], []).append(_number(where, row, "Response"))
    for split, found in splits.items():
        for number, row in enumerate(conllu.read(files[split], {})[0], 1):
            sentence = row.get("id", f"en-ud-{split}.conllu {number}")
            if sentence in asked[split]:
                arguments = asked[split].pop(sentence)
                where = next(iter(arguments.values())).where
                targets = list(_phrase_targets(arguments, row["words"], found.irregular))
                found.records.append(record(task, where, row["words"], targets, sentence=sentence))
        absent = sum(map(len, asked[split].values()))
        found.irregular["arguments in sentences that the treebank lacks"] += absent
        _count_sentences(found)
    return splits


def _phrase_targets(
    arguments: Mapping[tuple, Argument], words: list[str], irregular: Counter
) -> Iterator[dict]:
    for (predicate, start, end), (_, phrase, answers) in sorted(arguments.items()):
        if " ".join(words[start:end]).lower() != phrase.lower():
            irregular["arguments with other words than the treebank"] += 1
        elif not answers:
            irregular["arguments without an applicable property"] += 1
        else:
            holds = sorted(
                name for name, given in answers.items() if sum(given) >= SPR2_FROM * len(given)
            )
            yield target(holds, (predicate, predicate + 1), (start, end))


def read_spr1(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read proto-role properties between a predicate and a constituent of the Penn Treebank
    (Reisinger et al. 2015).

    files["rows"] is the publisher's table, which points into trees; files["trees"] is a folder
    with the treebank's wsj_*.mrg. The pointer 3:1 is the node one above leaf 3, traces counted.
    """
    splits = {split: Split([], Counter(), Counter()) for split in SPLITS}
    asked = {split: defaultdict(dict) for split in SPLITS}
    for where, row in _table(
        files["rows"], ("Sentence.ID", "Pred.Token", "Arg.Pos", "Property", "Response")
    ):
        pointer = row["Arg.Pos"]
        arguments = asked[_split(where, row)][row["Sentence.ID"]]
        key = _number(where, row, "Pred.Token"), pointer
        answers = arguments.setdefault(key, Argument(where, pointer, {})).answers
        answers.setdefault(row["Property"], []).append(_number(where, row, "Response"))
    trees = _trees(
        files["trees"], {name.partition("_")[0] for found in asked.values() for name in found}
    )
    for split, found in splits.items():
        for sentence, arguments in sorted(asked[split].items()):
            if sentence not in trees:
                found.irregular["arguments in sentences that the treebank lacks"] += len(arguments)
                continue
            where, tree = trees[sentence]
            kept = [i for i, tag in enumerate(tree.tags) if tag != "-NONE-"]
            words = [UNESCAPED.get(tree.words[i], tree.words[i].replace("\\/", "/")) for i in kept]
            targets = list(_constituent_targets(arguments, tree, kept, found.irregular))
            found.records.append(record(task, where, words, targets, sentence=sentence))
        _count_sentences(found)
    return splits


def _constituent_targets(
    arguments: Mapping[tuple, Argument], tree: brackets.Tree, kept: list[int], irregular: Counter
) -> Iterator[dict]:
    nodes = brackets.spans(tree.bits, "")
    for (predicate, pointer), (where, _, answers) in sorted(arguments.items()):
        if not re.fullmatch(r"\d+:\d+", pointer):
            irregular["arguments in several pieces"] += 1
            continue
        leaf, height = map(int, pointer.split(":"))
        above = [(start, end) for _, start, end in nodes if start <= leaf < end]
        if max(predicate, leaf) >= len(tree.words) or height > len(above):
            raise UserError(f"{where} points outside its tree; the trees are of another treebank.")
        start, end = above[-height] if height else (leaf, leaf + 1)
        span = [n for n, i in enumerate(kept) if start <= i < end]
        if not span or predicate not in kept:
            irregular["arguments of traces alone"] += 1
            continue
        holds = sorted(
            name for name, given in answers.items() if sum(given) > SPR1_ABOVE * len(given)
        )
        verb = kept.index(predicate)
        yield target(holds, (verb, verb + 1), (span[0], span[-1] + 1))


def _trees(folder: Path, files: set[str]) -> dict[str, tuple[str, brackets.Tree]]:
    """Read place and tree of every sentence, keyed by "file_sentence", from those of `files` that
    the folder has."""
    paths = [path for path in sorted(folder.rglob("wsj_*.mrg")) if path.stem[4:] in files]
    return {
        f"{path.stem[4:]}_{number}": (f"{path}:{tree.line}", tree)
        for path in paths
        for number, tree in enumerate(brackets.trees(read_text(path), str(path)))
    }


def _count_sentences(found: Split) -> None:
    found.source["sentences"] = sum(bool(each["targets"]) for each in found.records)


def _table(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield place and row of a tab-separated table's lines: plain, packed with xz, or in the
    publisher's archive."""
    rows = csv.DictReader(_table_text(path).split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
    if missing := [name for name in columns if name not in (rows.fieldnames or [])]:
        raise UserError(f"{path} has no column {missing[0]!r}; fetch the file again.")
    for row in rows:
        where = f"{path}:{rows.line_num}"
        if None in row or None in row.values():
            raise UserError(
                f"{where} has not the columns of the first line; fetch the file again."
            )
        yield where, row


def _table_text(path: Path) -> str:
    if path.name.endswith(".tar.gz"):
        found = list(read_members(path, TABLE).values())
        if len(found) != 1:
            raise UserError(
                f"{path} has {len(found)} tables protoroles_*.tsv, not one; fetch it again."
            )
        return found[0]
    try:
        return (
            lzma.decompress(path.read_bytes()).decode()
            if path.suffix == ".xz"
            else read_text(path)
        )
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is damaged ({error}); fetch it again.") from None


def _split(where: str, row: Mapping[str, str]) -> str:
    split = row.get("split") or row.get("Split")
    if split not in SPLITS:
        raise UserError(
            f"{where} is of the split {split!r}, not {', '.join(SPLITS)}; fetch the file again."
        )
    return split


def _number(where: str, row: Mapping[str, str], column: str) -> int:
    if not row[column].isdecimal():
        raise UserError(
            f"{where} has {row[column]!r} for {column} where a number is due; fetch the file"
            " again."
        )
    return int(row[column])
