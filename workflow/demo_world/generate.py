"""Writes the demo world: every data set of the real mirror, in its publisher's own layout, from
meanings with known truth."""

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from bertshift.errors import UserError
from bertshift.files import write_jsonl, write_text
from bertshift.seeds import seed_from
from demo_world import edges, encyclopedia
from demo_world.acceptability import judged
from demo_world.annotation import Annotation, conllu
from demo_world.documents import documents
from demo_world.files import SPLITS
from demo_world.inference import CONTRADICTION, ENTAILMENT, NEUTRAL, inference, recognition
from demo_world.paraphrases import advice, graded, paraphrase
from demo_world.questions import answerability, squad
from demo_world.reviews import review
from demo_world.winograd import schema

SIZES = {
    "documents": 6000,
    "train": 2000,
    "dev": 400,
    "squad_train": 1500,
    "squad_dev": 300,
    "treebank_train": 1500,
    "treebank_dev": 200,
    "treebank_test": 200,
    "wikipedia_paragraphs": 800,
    "probe_train": 1500,
    "probe_dev": 200,
    "probe_test": 300,
    "links": 300,
}
ANSWERED = {"entailment": True, "not_entailment": False}


def cola(rng: Random, label: str) -> list:
    acceptable = label == "1"
    mark = "" if acceptable else "*"
    return ["demo", label, mark, judged(rng, acceptable)]


def sst2(rng: Random, label: str) -> list:
    text = review(rng, label == "1")
    tokens = text.replace(".", " .").replace(",", " ,").replace("  ", " ")
    return [tokens.strip(), label]


def mrpc(rng: Random, label: str) -> list:
    first, second = paraphrase(rng, label == "1")
    return [label, rng.randrange(10**6), rng.randrange(10**6), first, second]


def stsb(rng: Random, label: str) -> list:
    first, second, score = graded(rng, int(label))
    return ["demo", "events", "none", 0, "none", "none", first, second, f"{score:.3f}"]


def qqp(rng: Random, label: str) -> list:
    return [rng.randrange(10**6), rng.randrange(10**6), *advice(rng, label == "1"), label]


def mnli(rng: Random, label: str) -> list:
    return [*UNUSED_MNLI, *inference(rng, label), label, label]


def mnli_dev(rng: Random, label: str) -> list:
    return [*UNUSED_MNLI, *inference(rng, label), *[label] * 6]


def qnli(rng: Random, label: str) -> list:
    return [*answerability(rng, ANSWERED[label]), label]


def rte(rng: Random, label: str) -> list:
    return [*recognition(rng, label), label]


def wnli(rng: Random, label: str) -> list:
    return [*schema(rng, label == "1"), label]


class GlueTask(NamedTuple):
    """A task's row maker and the layout of its files. Shares of labels follow the published data
    sets."""

    make_row: Callable[[Random, str], list]
    label_shares: dict[str, float]
    header: str
    text_columns: tuple[int, ...]
    numbered: bool


# promptID, pairID, genre and four parses
UNUSED_MNLI = ["_", "_", "demo", "_", "_", "_", "_"]
MNLI_HEADER = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse"
    "\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1"
)
MNLI_SHARES = {ENTAILMENT: 1 / 3, NEUTRAL: 1 / 3, CONTRADICTION: 1 / 3}
SENTENCE_PAIR_HEADER = "index\tsentence1\tsentence2\tlabel"
GLUE = {
    "CoLA": GlueTask(cola, {"1": 0.65, "0": 0.35}, "", (3,), False),
    "SST-2": GlueTask(sst2, {"1": 0.5, "0": 0.5}, "sentence\tlabel", (0,), False),
    "MRPC": GlueTask(
        mrpc,
        {"1": 0.68, "0": 0.32},
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",
        (3, 4),
        False,
    ),
    "STS-B": GlueTask(
        stsb,
        {"0": 0.3, "1": 0.12, "2": 0.1, "3": 0.08, "4": 0.05, "6": 0.35},
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
        (6, 7),
        True,
    ),
    "QQP": GlueTask(
        qqp,
        {"1": 0.37, "0": 0.63},
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
        (2, 3),
        True,
    ),
    "MNLI": GlueTask(mnli, MNLI_SHARES, MNLI_HEADER + "\tgold_label", (7, 8), True),
    "QNLI": GlueTask(
        qnli,
        {"entailment": 0.5, "not_entailment": 0.5},
        "index\tquestion\tsentence\tlabel",
        (0, 1),
        True,
    ),
    "RTE": GlueTask(
        rte, {"entailment": 0.5, "not_entailment": 0.5}, SENTENCE_PAIR_HEADER, (0, 1), True
    ),
    "WNLI": GlueTask(wnli, {"0": 0.51, "1": 0.49}, SENTENCE_PAIR_HEADER, (0, 1), True),
}
# Five annotators label each development pair of MNLI.
MNLI_DEV_HEADER = MNLI_HEADER + "\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label"
MNLI_DEV = GlueTask(mnli_dev, MNLI_SHARES, MNLI_DEV_HEADER, (7, 8), True)


def draw_labels(rng: Random, shares: dict[str, float], count: int) -> list[str]:
    """Return labels in random order, with the wanted share of each; what rounding leaves over is
    drawn at random."""
    labels = []
    for label, share in shares.items():
        labels += [label] * int(share * count)
    labels += rng.choices(list(shares), shares.values(), k=count - len(labels))
    rng.shuffle(labels)
    return labels


def glue_rows(task: GlueTask, count: int, rng: Random, seen: set[frozenset[str]]) -> list[list]:
    """Make rows whose texts are all new, so that no sentence pair is in two splits or twice in
    one."""
    return [
        new_glue_row(task, label, count, rng, seen)
        for label in draw_labels(rng, task.label_shares, count)
    ]


def new_glue_row(
    task: GlueTask, label: str, count: int, rng: Random, seen: set[frozenset[str]]
) -> list:
    for _ in range(1000):
        row = task.make_row(rng, label)
        texts = frozenset(row[column] for column in task.text_columns)
        texts_differ = len(texts) == len(task.text_columns)
        if texts_differ and texts not in seen:
            seen.add(texts)
            return row
    raise UserError(
        f"the demo world has no more new examples for {task.make_row.__name__}: ask for fewer than"
        f" {count} rows."
    )


def write_glue(directory: Path, name: str, sizes: dict, seed: int) -> None:
    seen: set[frozenset[str]] = set()
    for split in ("train", "dev"):
        task, file_name = GLUE[name], split
        if name == "MNLI" and split == "dev":
            task, file_name = MNLI_DEV, "dev_matched"
        count = max(sizes[split] // 3, 40) if name == "WNLI" else sizes[split]
        rng = Random(seed_from(seed, "world", name, split))
        rows = glue_rows(task, count, rng, seen)
        if task.numbered:
            rows = [[number, *row] for number, row in enumerate(rows)]
        lines = ["\t".join(map(str, row)) for row in rows]
        if task.header:
            lines.insert(0, task.header)
        write_text(directory / "glue" / name / f"{file_name}.tsv", "\n".join(lines) + "\n")


def write_squad(directory: Path, sizes: dict, seed: int) -> None:
    for split in ("train", "dev"):
        rng = Random(seed_from(seed, "world", "squad", split))
        references = 3 if split == "dev" else 1
        squad1, squad2 = squad(rng, sizes[f"squad_{split}"], references)
        for version, content in (("v1.1", squad1), ("v2.0", squad2)):
            text = json.dumps(content, ensure_ascii=False)
            write_text(directory / "squad" / f"{split}-{version}.json", text)


def new_sentences(rng: Random, seen: set[str]) -> Iterator[Annotation]:
    """Yield annotated sentences that no split has seen."""
    while True:
        sentence = edges.sentence(rng)
        text = " ".join(sentence.words)
        if text not in seen:
            seen.add(text)
            yield sentence


def write_treebank(directory: Path, sizes: dict, seed: int) -> None:
    seen: set[str] = set()
    for split in SPLITS:
        rng = Random(seed_from(seed, "world", "treebank", split))
        sentences = islice(new_sentences(rng, seen), sizes[f"treebank_{split}"])
        blocks = [
            conllu(sentence, f"demo-{split}-{number:05d}")
            for number, sentence in enumerate(sentences, 1)
        ]
        write_text(directory / "UD_English-EWT" / f"en_ewt-ud-{split}.conllu", "".join(blocks))


def write_edges(directory: Path, sizes: dict, seed: int) -> None:
    seen: set[str] = set()
    for split in SPLITS:
        count = sizes[f"probe_{split}"]
        rng = Random(seed_from(seed, "world", "edges", split))
        records = edge_records(new_sentences(rng, seen), count)
        rng = Random(seed_from(seed, "world", "relations", split))
        records["relations"] = relation_records(rng, count, seen)
        for task, rows in records.items():
            write_jsonl(directory / "edges" / task / f"{split}.jsonl", rows)


def edge_records(sentences: Iterator[Annotation], count: int) -> dict[str, list[dict]]:
    """Return `count` records of every edge-probing task but relations; all tasks read the same
    sentences, in order, until each has enough."""
    records: dict[str, list[dict]] = {task: [] for task in edges.LAYERS}
    number = 0
    while any(len(rows) < count for rows in records.values()):
        sentence = next(sentences)
        for task, list_targets in edges.LAYERS.items():
            for targets in list_targets(sentence):
                if targets:
                    records[task].append(edges.record(sentence, targets, number))
        number += 1
    return {task: rows[:count] for task, rows in records.items()}


def relation_records(rng: Random, count: int, seen: set[str]) -> list[dict]:
    labels = []
    for label in edges.RELATIONS:
        labels += [label] * (3 if label == "Other" else 1)
    rows: list[dict] = []
    while len(rows) < count:
        row = edges.relation(rng, rng.choice(labels))
        if row["text"] not in seen:
            seen.add(row["text"])
            rows.append(row)
    return rows


def write_links(directory: Path, sizes: dict, seed: int) -> None:
    rng = Random(seed_from(seed, "world", "links"))
    rows: dict[str, dict] = {}
    while len(rows) < sizes.get("links", 300):
        row = edges.links(rng)
        if row is not None:
            rows[row["text"]] = row
    write_jsonl(directory / "heads" / "relations.jsonl", rows.values())


def write_corpus(directory: Path, sizes: dict, seed: int) -> None:
    rng = Random(seed_from(seed, "world", "documents"))
    pages = ["\n".join(lines) for lines in documents(rng, sizes["documents"])]
    write_text(directory / "corpus" / "documents.txt", "\n\n".join(pages) + "\n")


def write_wikipedia(directory: Path, sizes: dict, seed: int) -> None:
    rng = Random(seed_from(seed, "world", "wikipedia"))
    entries = [encyclopedia.entry(rng) for _ in range(sizes["wikipedia_paragraphs"])]
    paragraphs = [" ".join(entry.sentences) for entry in entries]
    write_text(directory / "wiki_raw" / "enwiki_sample.txt", "\n".join(paragraphs) + "\n")


def check_sizes(sizes: dict) -> None:
    """Refuse unknown and missing names; only "links" may be absent."""
    unknown = sorted(set(sizes) - set(SIZES))
    missing = sorted(set(SIZES) - set(sizes) - {"links"})
    if unknown or missing:
        raise UserError(
            f"world sizes: unknown {unknown}, missing {missing}; the names are {', '.join(SIZES)}."
        )


def generate_world(directory: Path, sizes: dict, seed: int) -> None:
    """Write FILES below `directory`; the same `sizes` and `seed` give the same bytes.

    sizes: counts by name as in SIZES (documents, train, dev, squad_train, ...). UserError for an
    unknown or missing name.
    """
    directory = Path(directory)
    check_sizes(sizes)
    write_corpus(directory, sizes, seed)
    write_wikipedia(directory, sizes, seed)
    for task in GLUE:
        write_glue(directory, task, sizes, seed)
    write_squad(directory, sizes, seed)
    write_treebank(directory, sizes, seed)
    write_edges(directory, sizes, seed)
    write_links(directory, sizes, seed)
    write_text(
        directory / "README.txt",
        "Everything here was generated by demo_world (no real text), in the layouts of the"
        f" real data sets.\nseed: {seed}\nsizes: {json.dumps(sizes, sort_keys=True)}\n",
    )
