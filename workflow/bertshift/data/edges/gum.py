import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bertshift.data.edges import brackets
from bertshift.data.edges.archive import read_members
from bertshift.data.edges.records import SPLITS, Split, record, target
from bertshift.errors import UserError

WANTED = re.compile(
    r"[^/]*/(splits\.md|dep/.*\.conllu|const/.*\.ptb|coref/ontogum/conll/.*\.conll)"
)
# In a mark of older releases, the type of its entity stands before the number.
TYPE_FIRST = re.compile(r"(?<![^()])([^\d()-][^()-]*)-(\d+)")
LAYERS = {
    "constituents": "const/{}.ptb",
    "pos": "const/{}.ptb",
    "coref": "coref/ontogum/conll/{}.conll",
}


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read the Georgetown University Multilayer corpus (Zeldes 2017) in its own splits from its
    repository's archive.

    Tags and constituents are those of const/. Entities are all mentions in dep/, named or not and
    nested ones too, with their type. Pairs are those of coref/ontogum, which marks coreference as
    OntoNotes does: without singletons. Words are those of dep/. Documents whose words are blanked
    are left out and counted. The split test2 is not read.
    """
    archive = files["archive"]
    texts = read_members(archive, WANTED)
    splits = {split: Split([], Counter(), Counter()) for split in SPLITS}
    for name, split in documents(_text(texts, "splits.md", archive), f"{archive}/splits.md"):
        dep = f"dep/{name}.conllu"
        sentences = list(_sentences(_text(texts, dep, archive), f"{archive}/{dep}"))
        if all(set(word) == {"_"} for _, _, words, _ in sentences for word in words):
            splits[split].irregular["documents with blanked words"] += 1
            continue
        layer = LAYERS.get(task, "").format(name)
        targets = _targets(
            task, sentences, layer and _text(texts, layer, archive), f"{archive}/{layer}"
        )
        for (where, sentence, words, _), found in zip(sentences, targets, strict=True):
            splits[split].source.update(sentences=1, tokens=len(words))
            splits[split].records.append(record(task, where, words, found, sentence=sentence))
        splits[split].source["documents"] += 1
    return splits


def documents(text: str, where: str) -> list[tuple[str, str]]:
    """List (document, split) from the headings and lists of splits.md. Other splits than ours are
    not read."""
    found, split = [], None
    for line in text.splitlines():
        if heading := re.fullmatch(r"##\s*(\S+)\s*", line):
            split = heading[1]
        elif (item := re.fullmatch(r"\s*\*\s*(\S+)\s*", line)) and split in SPLITS:
            found.append((item[1], split))
    if missing := set(SPLITS) - {split for _, split in found}:
        raise UserError(
            f"{where} names no document for {', '.join(sorted(missing))}; fetch the archive again."
        )
    return found


def _text(texts: Mapping[str, str], name: str, archive: Path) -> str:
    if name not in texts:
        raise UserError(
            f"{archive} has no {name}; make the archive of the whole repository again."
        )
    return texts[name]


def _sentences(text: str, where: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Yield place, id, words and mention marks of every sentence in a CoNLL-U text."""
    sentence, words, marks, start = "", [], [], 1
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.startswith("# sent_id"):
            sentence = line.partition("=")[2].strip()
        elif line[:1].isdigit():
            fields = line.split("\t")
            if len(fields) != 10:
                raise UserError(
                    f"{where}:{number} has {len(fields)} columns, not 10; fetch the archive again."
                )
            if fields[0].isdecimal():
                start = start if words else number
                words.append(fields[1])
                found = "".join(re.findall(r"(?:^|\|)Entity=([^|]*)", fields[9]))
                marks.append(TYPE_FIRST.sub(r"\2-\1", found))
        elif not line.strip() and words:
            yield f"{where}:{start}", sentence, words, marks
            sentence, words, marks = "", [], []


def _targets(task: str, sentences: list[tuple], layer: str, where: str) -> Iterator[list[dict]]:
    """Yield the targets of each sentence. UserError where the layer has other sentences or words
    than dep/."""
    lengths = [len(words) for _, _, words, _ in sentences]
    if task == "entities":
        for place, _, _, marks in sentences:
            found = brackets.mentions(marks, place)
            yield [target(each.rest.partition("-")[0], (each.start, each.end)) for each in found]
    elif task == "coref":
        cells = [line.split("\t")[-1] for line in layer.split("\n") if line[:1].isdigit()]
        _same_length(len(cells), sum(lengths), "words", where)
        for length in lengths:
            yield brackets.pair_targets(brackets.mentions(cells[:length], where))
            del cells[:length]
    else:
        trees = list(brackets.trees(layer, where))
        _same_length(len(trees), len(lengths), "sentences", where)
        for tree, length in zip(trees, lengths, strict=True):
            place = f"{where}:{tree.line}"
            _same_length(len(tree.words), length, "words", place)
            if task == "pos":
                yield brackets.tag_targets(tree.tags)
            else:
                yield brackets.constituent_targets(tree.bits, place)


def _same_length(found: int, expected: int, unit: str, where: str) -> None:
    if found != expected:
        raise UserError(
            f"{where} has {found} {unit} where dep/ has {expected}; fetch the archive again."
        )
