import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bertshift.data.edges import brackets
from bertshift.data.edges.archive import read_members
from bertshift.data.edges.records import SPLITS, Split, empty_splits, record, target
from bertshift.data.text_file import numbered_blocks
from bertshift.errors import UserError

WANTED = re.compile(
    r"[^/]*/(splits\.md|dep/.*\.conllu|const/.*\.ptb|coref/ontogum/conll/.*\.conll)"
)
# Marks of older releases put the type of the entity before its number.
TYPE_FIRST = re.compile(r"(?<![^()])([^\d()-][^()-]*)-(\d+)")
LAYERS = {
    "constituents": "const/{}.ptb",
    "pos": "const/{}.ptb",
    "coref": "coref/ontogum/conll/{}.conll",
}


class GumSentence(NamedTuple):
    where: str  # file and line
    id: str
    words: list[str]
    marks: list[str]  # the mention marks of each word


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read the Georgetown University Multilayer corpus (Zeldes 2017) in its own splits from its
    repository's archive.

    Words come from dep/, tags and constituents from const/. Entities are all mentions in dep/ with
    their type, named or not and nested ones too. Pairs come from coref/ontogum, which marks
    coreference as OntoNotes does: without singletons. Documents whose words are blanked are left
    out and counted. The split test2 is not read.
    """
    archive = files["archive"]
    texts = read_members(archive, WANTED)
    splits = empty_splits()
    split_lists = _require_text(texts, "splits.md", archive)
    for name, split_name in documents(split_lists, f"{archive}/splits.md"):
        split = splits[split_name]
        dep = f"dep/{name}.conllu"
        sentences = list(_read_sentences(_require_text(texts, dep, archive), f"{archive}/{dep}"))
        if all(set(word) == {"_"} for sentence in sentences for word in sentence.words):
            split.irregular["documents with blanked words"] += 1
            continue
        layer, text = LAYERS.get(task, "").format(name), ""
        if layer:
            text = _require_text(texts, layer, archive)
        targets = _make_targets(task, sentences, text, f"{archive}/{layer}")
        for (where, sentence, words, _), items in zip(sentences, targets, strict=True):
            split.source.update(sentences=1, tokens=len(words))
            split.records.append(record(task, where, words, items, sentence=sentence))
        split.source["documents"] += 1
    return splits


def documents(text: str, where: str) -> list[tuple[str, str]]:
    """List (document, split) from the headings and lists of splits.md. Splits that are not in
    SPLITS are skipped."""
    pairs, split = [], None
    for line in text.splitlines():
        if heading := re.fullmatch(r"##\s*(\S+)\s*", line):
            split = heading[1]
        elif (item := re.fullmatch(r"\s*\*\s*(\S+)\s*", line)) and split in SPLITS:
            pairs.append((item[1], split))
    if missing := set(SPLITS) - {split for _, split in pairs}:
        raise UserError(
            f"{where} names no document for {', '.join(sorted(missing))}; fetch the archive again."
        )
    return pairs


def _require_text(texts: Mapping[str, str], name: str, archive: Path) -> str:
    if name not in texts:
        raise UserError(
            f"{archive} has no {name}; make the archive of the whole repository again."
        )
    return texts[name]


def _read_sentences(text: str, where: str) -> Iterator[GumSentence]:
    """Yield the sentences of a CoNLL-U text."""
    sentence_id = ""
    for first, lines in numbered_blocks(text.split("\n")):
        words, marks = [], []
        for number, line in enumerate(lines, first):
            if line.startswith("# sent_id"):
                sentence_id = line.partition("=")[2].strip()
            if not line[:1].isdigit():
                continue
            fields = line.split("\t")
            if len(fields) != 10:
                raise UserError(
                    f"{where}:{number} has {len(fields)} columns, not 10; fetch the archive again."
                )
            if fields[0].isdecimal():
                if not words:
                    start = number
                words.append(fields[1])
                entities = "".join(re.findall(r"(?:^|\|)Entity=([^|]*)", fields[9]))
                marks.append(TYPE_FIRST.sub(r"\2-\1", entities))
        if words:
            yield GumSentence(f"{where}:{start}", sentence_id, words, marks)
            sentence_id = ""


def _make_targets(
    task: str, sentences: list[GumSentence], layer: str, where: str
) -> Iterator[list[dict]]:
    """Yield the targets of each sentence. UserError where the layer has other sentences or words
    than dep/."""
    lengths = [len(sentence.words) for sentence in sentences]
    if task == "entities":
        for sentence in sentences:
            yield _entity_targets(brackets.mentions(sentence.marks, sentence.where))
    elif task == "coref":
        cells = [line.split("\t")[-1] for line in layer.split("\n") if line[:1].isdigit()]
        _check_length(len(cells), sum(lengths), "words", where)
        for length in lengths:
            yield brackets.pair_targets(brackets.mentions(cells[:length], where))
            del cells[:length]
    else:
        trees = list(brackets.trees(layer, where))
        _check_length(len(trees), len(lengths), "sentences", where)
        for tree, length in zip(trees, lengths, strict=True):
            line = f"{where}:{tree.line}"
            _check_length(len(tree.words), length, "words", line)
            if task == "pos":
                yield brackets.tag_targets(tree.tags)
            else:
                yield brackets.constituent_targets(tree.bits, line)


def _entity_targets(mentions: list[brackets.Mention]) -> list[dict]:
    targets = []
    for mention in mentions:
        entity_type, _, _ = mention.rest.partition("-")
        targets.append(target(entity_type, (mention.start, mention.end)))
    return targets


def _check_length(length: int, expected: int, unit: str, where: str) -> None:
    if length != expected:
        raise UserError(
            f"{where} has {length} {unit} where dep/ has {expected}; fetch the archive again."
        )
