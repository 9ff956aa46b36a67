import csv
import html
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from bertshift.data import conllu
from bertshift.data.edges import brackets
from bertshift.data.edges.archive import read_members
from bertshift.data.edges.records import SPLITS, Split, empty_splits, record, target
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
    splits = empty_splits()
    arguments = {split: defaultdict(dict) for split in SPLITS}  # by sentence, then by words
    columns = (*SPANS, "Arg.Phrase", "Property", "Response", "Applicable")
    for where, row in _read_table(files["rows"], columns):
        split = _parse_split(where, row)
        sentence = row.get("sent_id") or row.get("Sentence.ID")
        predicate, start, end = (_parse_number(where, row, column) for column in SPANS)
        key = (predicate, start, end + 1)
        phrase = html.unescape(row["Arg.Phrase"])
        argument = arguments[split][sentence].setdefault(key, Argument(where, phrase, {}))
        if row["Applicable"] == "no":
            splits[split].irregular["answers: not applicable"] += 1
        elif row["Response"] == "nan":
            splits[split].irregular["answers: none given"] += 1
        else:
            _add_answer(argument, where, row)
    for name, split in splits.items():
        sentences, blanked = conllu.sentences(files[name])
        split.irregular.update(blanked)
        for number, row in enumerate(sentences, 1):
            sentence = row.get("id", f"en-ud-{name}.conllu {number}")
            if sentence in arguments[name]:
                sentence_arguments = arguments[name].pop(sentence)
                where = next(iter(sentence_arguments.values())).where
                words = row["words"]
                targets = list(_phrase_targets(sentence_arguments, words, split.irregular))
                split.records.append(record(task, where, words, targets, sentence=sentence))
        absent = sum(map(len, arguments[name].values()))
        split.irregular["arguments in sentences that the treebank lacks"] += absent
        _count_sentences(split)
    return splits


def _phrase_targets(
    arguments: Mapping[tuple, Argument], words: list[str], irregular: Counter
) -> Iterator[dict]:
    for (predicate, start, end), argument in sorted(arguments.items()):
        if " ".join(words[start:end]).lower() != argument.phrase.lower():
            irregular["arguments with other words than the treebank"] += 1
        elif not argument.answers:
            irregular["arguments without an applicable property"] += 1
        else:
            means = _mean_answers(argument)
            properties = [name for name in sorted(means) if means[name] >= SPR2_FROM]
            yield target(properties, (predicate, predicate + 1), (start, end))


def read_spr1(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read proto-role properties between a predicate and a constituent of the Penn Treebank
    (Reisinger et al. 2015).

    files["rows"] is the publisher's table, which points into trees; files["trees"] is a folder
    with the treebank's wsj_*.mrg. The pointer 3:1 is the node one above leaf 3, traces counted.
    """
    splits = empty_splits()
    arguments = {split: defaultdict(dict) for split in SPLITS}  # by sentence, then by pointers
    columns = ("Sentence.ID", "Pred.Token", "Arg.Pos", "Property", "Response")
    for where, row in _read_table(files["rows"], columns):
        split, sentence = _parse_split(where, row), row["Sentence.ID"]
        pointer = row["Arg.Pos"]
        key = (_parse_number(where, row, "Pred.Token"), pointer)
        argument = arguments[split][sentence].setdefault(key, Argument(where, pointer, {}))
        _add_answer(argument, where, row)
    names = {name.partition("_")[0] for sentences in arguments.values() for name in sentences}
    trees = _read_trees(files["trees"], names)
    for name, split in splits.items():
        for sentence, sentence_arguments in sorted(arguments[name].items()):
            if sentence not in trees:
                absent = len(sentence_arguments)
                split.irregular["arguments in sentences that the treebank lacks"] += absent
                continue
            where, tree = trees[sentence]
            leaves = [leaf for leaf, tag in enumerate(tree.tags) if tag != "-NONE-"]
            words = [tree.words[leaf] for leaf in leaves]
            words = [UNESCAPED.get(word, word.replace("\\/", "/")) for word in words]
            targets = list(_constituent_targets(sentence_arguments, tree, leaves, split.irregular))
            split.records.append(record(task, where, words, targets, sentence=sentence))
        _count_sentences(split)
    return splits


def _constituent_targets(
    arguments: Mapping[tuple, Argument],
    tree: brackets.Tree,
    leaves: list[int],
    irregular: Counter,
) -> Iterator[dict]:
    """Yield the targets of a sentence whose words are the `leaves` of the tree."""
    nodes = brackets.spans(tree.bits, "")
    for (predicate, pointer), argument in sorted(arguments.items()):
        if not re.fullmatch(r"\d+:\d+", pointer):
            irregular["arguments in several pieces"] += 1
            continue
        leaf, height = map(int, pointer.split(":"))
        ancestors = [(start, end) for _, start, end in nodes if start <= leaf < end]
        if max(predicate, leaf) >= len(tree.words) or height > len(ancestors):
            raise UserError(
                f"{argument.where} points outside its tree; the trees are of another treebank."
            )
        start, end = ancestors[-height] if height else (leaf, leaf + 1)
        positions = [index for index, number in enumerate(leaves) if start <= number < end]
        if not positions or predicate not in leaves:
            irregular["arguments of traces alone"] += 1
            continue
        means = _mean_answers(argument)
        properties = [name for name in sorted(means) if means[name] > SPR1_ABOVE]
        verb = leaves.index(predicate)
        phrase = (positions[0], positions[-1] + 1)
        yield target(properties, (verb, verb + 1), phrase)


def _read_trees(folder: Path, files: set[str]) -> dict[str, tuple[str, brackets.Tree]]:
    """Read location and tree of every sentence, keyed by "file_sentence", from those of `files`
    that the folder has."""
    trees = {}
    for path in sorted(folder.rglob("wsj_*.mrg")):
        name = path.stem.removeprefix("wsj_")
        if name in files:
            for number, tree in enumerate(brackets.trees(read_text(path), str(path))):
                trees[f"{name}_{number}"] = f"{path}:{tree.line}", tree
    return trees


def _add_answer(argument: Argument, where: str, row: Mapping[str, str]) -> None:
    answers = argument.answers.setdefault(row["Property"], [])
    answers.append(_parse_number(where, row, "Response"))


def _mean_answers(argument: Argument) -> dict[str, Fraction]:
    return {
        name: Fraction(sum(answers), len(answers)) for name, answers in argument.answers.items()
    }


def _count_sentences(split: Split) -> None:
    split.source["sentences"] = sum(bool(row["targets"]) for row in split.records)


def _read_table(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield location and row of a tab-separated table's lines: plain, packed with xz, or in the
    publisher's archive."""
    lines = _read_table_text(path).split("\n")
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    if missing := [name for name in columns if name not in (rows.fieldnames or [])]:
        raise UserError(f"{path} has no column {missing[0]!r}; fetch the file again.")
    for row in rows:
        where = f"{path}:{rows.line_num}"
        if None in row or None in row.values():
            raise UserError(
                f"{where} has not the columns of the first line; fetch the file again."
            )
        yield where, row


def _read_table_text(path: Path) -> str:
    if path.name.endswith(".tar.gz"):
        tables = list(read_members(path, TABLE).values())
        if len(tables) != 1:
            raise UserError(
                f"{path} has {len(tables)} tables protoroles_*.tsv, not one; fetch it again."
            )
        return tables[0]
    if path.suffix != ".xz":
        return read_text(path)
    try:
        return lzma.decompress(path.read_bytes()).decode()
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is damaged ({error}); fetch it again.") from None


def _parse_split(where: str, row: Mapping[str, str]) -> str:
    split = row.get("split") or row.get("Split")
    if split not in SPLITS:
        raise UserError(
            f"{where} is of the split {split!r}, not {', '.join(SPLITS)}; fetch the file again."
        )
    return split


def _parse_number(where: str, row: Mapping[str, str], column: str) -> int:
    if not row[column].isdecimal():
        raise UserError(
            f"{where} has {row[column]!r} for {column} where a number is due; fetch the file"
            " again."
        )
    return int(row[column])
