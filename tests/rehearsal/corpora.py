"""Corpora at their publishers' addresses: sentences of the generated world with their annotation,
in each publisher's layout."""

import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from urllib.parse import urlsplit

from bertshift.data import framenet
from bertshift.data.edges import brackets
from bertshift.seeds import seed_from
from demo_world import edges
from demo_world.annotation import Annotation, conllu, proto_roles
from demo_world.grammar import detokenise

SEED = 1
SENTENCES = {"train": 300, "dev": 80, "test": 80}
LONGEST = 9  # words of a sentence
DOCUMENT = 10  # sentences
SPLITS = tuple(SENTENCES)
GENRES = ("weblog", "email", "newsgroup", "reviews", "answers")


def addresses(edge_sets: Mapping, framenet_entry: Mapping) -> dict[str, bytes]:
    """The content of every address under `download` in config/edges.yaml and
    config/relations.yaml."""
    found = {framenet_entry["download"]["url"]: framenet_zip()}
    makers = {"gum": _gum, "conllu": _conllu_part, "propbank": _propbank_part, "iob2": _iob2_part,
              "semeval": _semeval_part, "spr2": _spr2_part}  # fmt: skip
    for spec in edge_sets.values():
        for part, each in spec.get("download", {}).items():
            if each["url"] not in found:
                found[each["url"]] = makers[spec["format"]](part)
    return found


def overlay(
    edge_sets: Mapping, framenet_entry: Mapping, base: str, digests: Mapping[str, str]
) -> dict:
    """Configuration that directs every such address to `base`, with the digest of what is
    there."""

    def here(each: Mapping) -> dict:
        return {"url": base + place(each["url"]), "sha256": digests[each["url"]]}

    parts = {name: spec.get("download", {}) for name, spec in edge_sets.items()}
    return {
        "edge_sets": {
            name: {"download": {part: here(each) for part, each in download.items()}}
            for name, download in parts.items()
            if download
        },
        "relations": {"download": here(framenet_entry["download"])},
    }


def place(url: str) -> str:
    """The path at which the hub on localhost has an address."""
    parts = urlsplit(url)
    return f"/{parts.netloc}{parts.path}"


def sentences(corpus: str, split: str) -> list[Annotation]:
    """The short sentences of one split, none of them twice."""
    rng, found = Random(seed_from(SEED, "rehearsal", corpus, split)), {}
    while len(found) < SENTENCES[split]:
        one = edges.sentence(rng)
        if len(one.words) <= LONGEST and not {"n't", "'s"} & set(one.words):
            found[" ".join(one.words)] = one
    return list(found.values())


def treebank(split: str, named: bool = True) -> str:
    """EWT as CoNLL-U; in Universal Dependencies 1.2 sentences had no names."""
    text = "".join(conllu(one, name) for name, one in _named("ewt", split))
    return (
        text
        if named
        else "\n".join(line for line in text.split("\n") if not line.startswith("# "))
    )


def _named(corpus: str, split: str) -> Iterator[tuple[str, Annotation]]:
    """(genre-document-sentence, annotation)."""
    for number, one in enumerate(sentences(corpus, split)):
        document, within = divmod(number, DOCUMENT)
        yield f"{GENRES[document % len(GENRES)]}-{split}{document:03}-{within + 1:04}", one


def _conllu_part(split: str) -> bytes:
    return treebank(split).encode()


def _iob2_part(split: str) -> bytes:
    lines = []
    for name, one in _named("ewt", split):
        tags = ["O"] * len(one.words)
        for start, end, label in one.entities:
            tags[start:end] = [f"B-{label[:3]}", *[f"I-{label[:3]}"] * (end - start - 1)]
        lines += [f"# sent_id = {name}", f"# text = {detokenise(one.words)}"]
        lines += [
            f"{i}\t{w}\t{tag}\t-\tmade" for i, (w, tag) in enumerate(zip(one.words, tags), 1)
        ] + [""]
    return "\n".join(lines).encode()


def _propbank_part(part: str) -> bytes:
    return _skeletons() if part == "skeletons" else _conllu_part(part)


def _skeletons() -> bytes:
    """PropBank's release: a file a document, in which words are blanked."""
    documents: dict[str, list[str]] = {}
    for split in SPLITS:
        for name, one in _named("ewt", split):
            genre, document, _ = name.split("-")
            lines = documents.setdefault(f"{genre}/00/{document}", [])
            number = sum(not line for line in lines)
            lines += [*_skeleton(f"google/ewt/{genre}/00/{document}.xml", number, one), ""]
    return _tar(
        "propbank-release",
        {
            f"data/google/ewt/{path}.xml.gold_skel": "\n".join(lines)
            for path, lines in documents.items()
        },
    )


def _skeleton(document: str, sentence: int, one: Annotation) -> Iterator[str]:
    [tree] = brackets.trees(one.bracketed, document)
    verbs = {frame.predicate: frame.verb for frame in one.frames}
    columns = [_frame_column(frame, len(one.words)) for frame in one.frames]
    for i, (tag, bit) in enumerate(zip(one.xpos, tree.bits, strict=True)):
        verb = verbs.get(i)
        lemma, roleset = (one.lemmas[i], f"{verb}.01".replace(" ", "_")) if verb else ("-", "-")
        cells = [column[i] for column in columns]
        yield " ".join(
            [document, str(sentence), str(i), "[WORD]", tag, bit, lemma, roleset, *cells]
        )


def _frame_column(frame, length: int) -> list[str]:
    cells = ["*"] * length
    spans = [(frame.predicate, frame.predicate + 1, "V")]
    spans += [(start, end, role) for start, end, role, _, _ in frame.arguments]
    for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1]), reverse=True):
        cells[start] = f"({label}{cells[start]}"
        cells[end - 1] += ")"
    return cells


def _gum(part: str) -> bytes:
    """The repository of the corpus: lists of documents, trees of both kinds and coreference;
    reddit's words are blanked."""
    lists, files = [], {}
    for split in SPLITS:
        found = sentences("gum", split)
        lists.append(f"## {split}\n")
        for number, start in enumerate(range(0, len(found), DOCUMENT)):
            name = f"GUM_news_{split}{number:03}"
            lists.append(f"  * {name}")
            _document(files, name, found[start : start + DOCUMENT])
        lists.append(f"  * GUM_reddit_{split}")
        _document(files, f"GUM_reddit_{split}", found[:1], blank=True)
    files["splits.md"] = (
        "# Splits\n\n" + "\n".join([*lists, "## test2\n", "  * GUM_absent"]) + "\n"
    )
    return _tar("gum", files)


def _document(
    files: dict[str, str], name: str, found: list[Annotation], blank: bool = False
) -> None:
    trees, constituents, coreference, first = [], [], [f"# begin document {name}"], 0
    for number, one in enumerate(found, 1):
        labels = {(start, end): label.lower() for start, end, label in one.entities}
        referents = sorted({referent for *_, referent in one.mentions})
        numbered = [(s, e, first + referents.index(r) + 1) for s, e, r in one.mentions]
        first += len(referents)
        marks = _marks(
            len(one.words),
            [(s, e, n, f"-{labels.get((s, e), 'object')}-new") for s, e, n in numbered],
        )
        lines = conllu(one, f"{name}-{number}").rstrip("\n").split("\n")
        trees += [_with_mark(line, marks, blank) for line in lines] + [""]
        constituents.append(one.bracketed)
        plain = _marks(len(one.words), [(s, e, n, "") for s, e, n in numbered])
        coreference += [
            f"{i}\t{w}\t{m or '_'}" for i, (w, m) in enumerate(zip(one.words, plain))
        ] + [""]
    files[f"dep/{name}.conllu"] = "\n".join(trees) + "\n"
    files[f"const/{name}.ptb"] = "\n".join(constituents) + "\n"
    files[f"coref/ontogum/conll/{name}.conll"] = "\n".join([*coreference, "# end document"]) + "\n"


def _marks(length: int, spans: Iterable[tuple[int, int, int, str]]) -> list[str]:
    """Return each word's marks: of mentions that end there, then of those that begin there, the
    longest first."""
    opening, closing = [""] * length, [""] * length
    for start, end, number, rest in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end - start == 1:
            opening[start] += f"({number}{rest})"
        else:
            opening[start] += f"({number}{rest}"
            closing[end - 1] = f"{number})" + closing[end - 1]
    return [close + start for close, start in zip(closing, opening)]


def _with_mark(line: str, marks: list[str], blank: bool) -> str:
    fields = line.split("\t")
    if len(fields) != 10 or not fields[0].isdecimal():
        return line
    mark = marks[int(fields[0]) - 1]
    fields[9] = (
        "|".join(filter(None, [f"Entity={mark}" if mark else "", fields[9].strip("_")])) or "_"
    )
    fields[1] = "_" if blank else fields[1]
    return "\t".join(fields)


def _semeval_part(part: str) -> bytes:
    rng, found = Random(seed_from(SEED, "rehearsal", "semeval", part)), {}
    kinds = list(edges.RELATIONS)
    while len(found) < SENTENCES[part]:
        row = edges.relation(rng, kinds[len(found) % len(kinds)])
        found[row["text"]] = row
    lines = []
    for number, row in enumerate(found.values(), 1):
        words, [target] = row["text"].split(), row["targets"]
        for tag, span in (("e1", target["span1"]), ("e2", target["span2"])):
            words[span[0]] = f"<{tag}>{words[span[0]]}</{tag}>"
        lines += [
            f'{number}\t"{" ".join(words).replace(" .", ".")}"',
            target["label"],
            "Comment:",
            "",
        ]
    return "\n".join(lines).encode()


SPR_COLUMNS = [
    "Split",
    "Annotator.ID",
    "Sentence.ID",
    "Pred.Lemma",
    "Gram.Func",
    "Arg.Phrase",
    "Arg.Tokens.Begin",
    "Arg.Tokens.End",
    "Arg.Pos",
    "Pred.Token",
    "Property",
    "Response",
    "Applicable",
    "Sent.Grammatical",
]
PROPERTIES = [
    "awareness",
    "change_of_location",
    "change_of_possession",
    "change_of_state",
    "existed_after",
    "existed_before",
    "existed_during",
    "exists_as_physical",
    "instigation",
    "makes_physical_contact",
    "predicate_changed_argument",
    "sentient",
    "stationary",
    "volition",
]


def _spr2_part(part: str) -> bytes:
    if part != "rows":
        return treebank(part, named=False).encode()
    lines = ["\t".join(SPR_COLUMNS)]
    for split in SPLITS:
        for number, one in enumerate(sentences("ewt", split), 1):
            for frame in one.frames:
                for start, end, role, _, concept in frame.arguments:
                    if role in edges.SPR_ROLES and concept is not None:
                        holds = proto_roles(frame, role, concept)
                        lines += _answers(split, number, one, frame.predicate, start, end, holds)
    return _tar("", {"protoroles_eng_ud1.2_11082016.tsv": "\n".join(lines) + "\n"})


def _answers(split, number, one, predicate, start, end, holds) -> Iterator[str]:
    """A row for each property, asked of one annotator; the last is not applicable."""
    for name in PROPERTIES:
        response, applicable = (
            (5 if name in holds else 1),
            "no" if name == PROPERTIES[-1] else "yes",
        )
        cells = [split, 1, f"en-ud-{split}.conllu {number}", one.lemmas[predicate], "nsubj", " ".join(one.words[start:end]),
                 start, end - 1, start, predicate, name, response, applicable, 5]  # fmt: skip
        yield "\t".join(map(str, cells))


NAMESPACE = "http://framenet.icsi.berkeley.edu"
FILLER = "then quite often"  # keeps a predicate apart from its arguments
ROLES = ("ARG0", "ARG1", "ARG2")
CHOSEN, LEFT_OUT = 80, 20  # sentences, by the paper's rules


def framenet_zip() -> bytes:
    """FrameNet 1.7 with one frame, of one lexical unit, and exemplars that the paper's rules
    choose or leave out."""
    rng, chosen, others = Random(seed_from(SEED, "rehearsal", "framenet")), {}, {}
    while len(chosen) < CHOSEN:
        row = edges.links(rng)
        if row is None:
            continue
        apart = _apart(row)
        fits = not framenet.left_out(
            apart["text"], [tuple(apart["predicate"])], _elements(apart), set(ROLES)
        )
        (chosen if fits else others)[apart["text"]] = apart
    rows = [*chosen.values(), *list(others.values())[:LEFT_OUT]]
    unit = 'status="Created" POS="V" name="do.v" ID="1"'
    element = "".join(
        f'<FE abbrev="{r}" coreType="Core" name="{r}" ID="1{k}"/>' for k, r in enumerate(ROLES)
    )
    core = "".join(f'<memberFE name="{r}" ID="1{k}"/>' for k, r in enumerate(ROLES))
    exemplars = "".join(_exemplar(number, row) for number, row in enumerate(rows, 1))
    files = {
        "luIndex.xml": _xml(
            "luIndex", f'<lu frameName="Doing" frameID="1" {unit} hasAnnotation="true"/>'
        ),
        "frameIndex.xml": _xml("frameIndex", '<frame name="Doing" ID="1"/>'),
        "frRelation.xml": _xml("frameRelations", ""),
        "semTypes.xml": _xml("semTypes", ""),
        "fulltextIndex.xml": _xml("fulltextIndex", ""),
        "frame/Doing.xml": _xml(
            "frame",
            f"<definition>made</definition>{element}<FEcoreSet>{core}</FEcoreSet>"
            f'<lexUnit {unit}><lexeme order="1" POS="V" name="do"/></lexUnit>',
            'name="Doing" ID="1"',
        ),
        "lu/lu1.xml": _xml(
            "lexUnit",
            f'<subCorpus name="made">{exemplars}</subCorpus>',
            f'{unit} frame="Doing" frameID="1"',
        ),
    }
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as packed:
        for name, text in files.items():
            packed.writestr(zipfile.ZipInfo(f"framenet_v17/{name}"), text)
    return sink.getvalue()


def _apart(row: Mapping) -> dict:
    """The sentence with words before and after its predicate."""
    text, (start, end) = row["text"], row["predicate"]
    before, after = f"{FILLER} ", f" {FILLER}"

    def moved(place: int) -> int:
        return place + len(before) * (place >= start) + len(after) * (place > end)

    return {
        "text": text[:start] + before + text[start:end] + after + text[end:],
        "predicate": [start + len(before), end + len(before)],
        "arguments": [
            {"span": [moved(a), moved(b) if b > start else b], "role": each["role"]}
            for each in row["arguments"]
            for a, b in [each["span"]]
        ],
    }


def _elements(row: Mapping) -> list[tuple[int, int, str]]:
    return [(*each["span"], each["role"]) for each in row["arguments"]]


def _exemplar(number: int, row: Mapping) -> str:
    def layer(name: str, spans: Iterable[tuple[int, int, str]]) -> str:
        labels = "".join(
            f'<label start="{s}" end="{e - 1}" name="{label}"/>' for s, e, label in spans
        )
        return f'<layer rank="1" name="{name}">{labels}</layer>'

    layers = layer("Target", [(*row["predicate"], "Target")]) + layer("FE", _elements(row))
    return (
        f'<sentence ID="{number}"><text>{row["text"]}</text><annotationSet status="UNANN" ID="{number}0">'
        f'<layer rank="1" name="PENN"/></annotationSet><annotationSet status="MANUAL" ID="{number}1">{layers}'
        "</annotationSet></sentence>"
    )


def _xml(root: str, inside: str, attributes: str = "") -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{NAMESPACE}" {attributes}>{inside}</{root}>\n'


def _tar(root: str, files: Mapping[str, str]) -> bytes:
    """A tar archive, packed with gzip; the same files give the same bytes."""
    import gzip

    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(f"{root}/{name}" if root else name)
            content = text.encode()
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(sink.getvalue(), mtime=0)
