"""Writes the demo world: every data set of the real mirror, in its publisher's own layout, from
meanings with known truth."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from bertshift.errors import UserError
from bertshift.files import write_jsonl, write_text
from bertshift.seeds import seed_from
from demo_world import edges, encyclopedia
from demo_world.acceptability import judged
from demo_world.annotation import conllu
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
# Shares of positive examples follow the published data sets.
ANSWERS = {"entailment": True, "not_entailment": False}


def cola(rng: Random, label: str) -> list:
    return ["demo", label, "" if label == "1" else "*", judged(rng, label == "1")]


def sst2(rng: Random, label: str) -> list:
    text = review(rng, label == "1")
    return [text.replace(".", " .").replace(",", " ,").replace("  ", " ").strip(), label]


def mrpc(rng: Random, label: str) -> list:
    first, second = paraphrase(rng, label == "1")
    return [label, rng.randrange(10**6), rng.randrange(10**6), first, second]


def stsb(rng: Random, label: str) -> list:
    first, second, score = graded(rng, int(label))
    return ["demo", "events", "none", 0, "none", "none", first, second, f"{score:.3f}"]


def qqp(rng: Random, label: str) -> list:
    return [rng.randrange(10**6), rng.randrange(10**6), *advice(rng, label == "1"), label]


def mnli(rng: Random, label: str) -> list:
    return ["_", "_", "demo", "_", "_", "_", "_", *inference(rng, label), label, label]


def mnli_dev(rng: Random, label: str) -> list:
    return [
        "_",
        "_",
        "demo",
        "_",
        "_",
        "_",
        "_",
        *inference(rng, label),
        label,
        label,
        label,
        label,
        label,
        label,
    ]


def qnli(rng: Random, label: str) -> list:
    return [*answerability(rng, ANSWERS[label]), label]


def rte(rng: Random, label: str) -> list:
    return [*recognition(rng, label), label]


def wnli(rng: Random, label: str) -> list:
    return [*schema(rng, label == "1"), label]


PARSES = (
    "sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse sentence1"
    " sentence2"
)
GLUE = {
    # folder: (make a row, share of each label, header or None, columns that hold the text,
    # numbered rows)
    "CoLA": (cola, {"1": 0.65, "0": 0.35}, None, (3,), False),
    "SST-2": (sst2, {"1": 0.5, "0": 0.5}, "sentence label", (0,), False),
    "MRPC": (
        mrpc,
        {"1": 0.68, "0": 0.32},
        "Quality|#1 ID|#2 ID|#1 String|#2 String",
        (3, 4),
        False,
    ),
    "STS-B": (
        stsb,
        {"0": 0.3, "1": 0.12, "2": 0.1, "3": 0.08, "4": 0.05, "6": 0.35},
        "index genre filename year old_index source1 source2 sentence1 sentence2 score",
        (6, 7),
        True,
    ),
    "QQP": (
        qqp,
        {"1": 0.37, "0": 0.63},
        "id qid1 qid2 question1 question2 is_duplicate",
        (2, 3),
        True,
    ),
    "MNLI": (
        mnli,
        {ENTAILMENT: 1 / 3, NEUTRAL: 1 / 3, CONTRADICTION: 1 / 3},
        f"index promptID pairID genre {PARSES} label1 gold_label",
        (7, 8),
        True,
    ),
    "QNLI": (
        qnli,
        {"entailment": 0.5, "not_entailment": 0.5},
        "index question sentence label",
        (0, 1),
        True,
    ),
    "RTE": (
        rte,
        {"entailment": 0.5, "not_entailment": 0.5},
        "index sentence1 sentence2 label",
        (0, 1),
        True,
    ),
    "WNLI": (wnli, {"0": 0.51, "1": 0.49}, "index sentence1 sentence2 label", (0, 1), True),
}


def labels(rng: Random, shares: dict[str, float], count: int) -> list[str]:
    """Return labels in random order, with the wanted share of each; what rounding leaves over is
    drawn at random."""
    found = [label for label, share in shares.items() for _ in range(int(share * count))]
    found += rng.choices(list(shares), shares.values(), k=count - len(found))
    rng.shuffle(found)
    return found


def glue_rows(
    make: Callable, wanted: list[str], rng: Random, columns: tuple[int, ...], seen: set
) -> list[list]:
    """Make rows whose texts are all new, so that no sentence pair stands in two splits or twice in
    one."""
    rows = []
    for label in wanted:
        for _ in range(1000):
            row = make(rng, label)
            key = frozenset(row[column] for column in columns)
            if len(key) == len(columns) and key not in seen:
                break
        else:
            raise UserError(
                f"the demo world has no more new examples for {make.__name__}: ask for fewer than"
                f" {len(wanted)} rows."
            )
        seen.add(key)
        rows.append(row)
    return rows


def write_glue(directory: Path, task: str, sizes: dict, seed: int) -> None:
    make, shares, header, columns, numbered = GLUE[task]
    seen: set = set()
    for split in ("train", "dev"):
        rng = Random(seed_from(seed, "world", task, split))
        count = sizes[split] if task != "WNLI" else max(sizes[split] // 3, 40)
        name, maker, columns_line = split, make, header
        if task == "MNLI" and split == "dev":
            name, maker = "dev_matched", mnli_dev
            columns_line = header.replace(
                "label1 gold_label", "label1 label2 label3 label4 label5 gold_label"
            )
        rows = glue_rows(maker, labels(rng, shares, count), rng, columns, seen)
        lines = [
            "\t".join(map(str, [number, *row] if numbered else row))
            for number, row in enumerate(rows)
        ]
        if columns_line:
            lines.insert(0, "\t".join(columns_line.split("|" if "|" in columns_line else " ")))
        write_text(directory / "glue" / task / f"{name}.tsv", "\n".join(lines) + "\n")


def write_squad(directory: Path, sizes: dict, seed: int) -> None:
    for split in ("train", "dev"):
        rng = Random(seed_from(seed, "world", "squad", split))
        first, second = squad(rng, sizes[f"squad_{split}"], 3 if split == "dev" else 1)
        for version, content in (("v1.1", first), ("v2.0", second)):
            write_text(
                directory / "squad" / f"{split}-{version}.json",
                json.dumps(content, ensure_ascii=False),
            )


def distinct(rng: Random, seen: set[str]) -> Iterator:
    """Yield annotated sentences that no split has seen."""
    while True:
        found = edges.sentence(rng)
        text = " ".join(found.words)
        if text not in seen:
            seen.add(text)
            yield found


def write_treebank(directory: Path, sizes: dict, seed: int) -> None:
    seen: set[str] = set()
    for split in SPLITS:
        source = distinct(Random(seed_from(seed, "world", "treebank", split)), seen)
        sentences = (
            conllu(next(source), f"demo-{split}-{n + 1:05d}")
            for n in range(sizes[f"treebank_{split}"])
        )
        write_text(directory / "UD_English-EWT" / f"en_ewt-ud-{split}.conllu", "".join(sentences))


def write_edges(directory: Path, sizes: dict, seed: int) -> None:
    """Write the edge-probing records. Every task but relations takes its records from the same
    sentences, in order, until it has enough."""
    seen: set[str] = set()
    for split in SPLITS:
        count = sizes[f"probe_{split}"]
        source = distinct(Random(seed_from(seed, "world", "edges", split)), seen)
        records: dict[str, list] = {task: [] for task in edges.LAYERS}
        number = 0
        while any(len(rows) < count for rows in records.values()):
            found = next(source)
            for task, layer in edges.LAYERS.items():
                records[task] += [
                    edges.record(found, targets, number) for targets in layer(found) if targets
                ]
            number += 1
        for task, rows in records.items():
            write_jsonl(directory / "edges" / task / f"{split}.jsonl", rows[:count])
        rng = Random(seed_from(seed, "world", "relations", split))
        kinds = [label for label in edges.RELATIONS for _ in range(3 if label == "Other" else 1)]
        rows = []
        while len(rows) < count:
            row = edges.relation(rng, rng.choice(kinds))
            if row["text"] not in seen:
                seen.add(row["text"])
                rows.append(row)
        write_jsonl(directory / "edges" / "relations" / f"{split}.jsonl", rows)


def write_links(directory: Path, sizes: dict, seed: int) -> None:
    rng, rows = Random(seed_from(seed, "world", "links")), {}
    while len(rows) < sizes.get("links", 300):
        row = edges.links(rng)
        if row is not None:
            rows[row["text"]] = row
    write_jsonl(directory / "heads" / "relations.jsonl", rows.values())


def write_corpus(directory: Path, sizes: dict, seed: int) -> None:
    rng = Random(seed_from(seed, "world", "documents"))
    pages = documents(rng, sizes["documents"])
    write_text(
        directory / "corpus" / "documents.txt",
        "\n\n".join("\n".join(page) for page in pages) + "\n",
    )
    rng = Random(seed_from(seed, "world", "wikipedia"))
    paragraphs = (
        " ".join(encyclopedia.entry(rng).sentences) for _ in range(sizes["wikipedia_paragraphs"])
    )
    write_text(directory / "wiki_raw" / "enwiki_sample.txt", "\n".join(paragraphs) + "\n")


def generate_world(directory: Path, sizes: dict, seed: int) -> None:
    """Write FILES below `directory`; the same `sizes` and `seed` give the same bytes.

    sizes: counts by name as in SIZES (documents, train, dev, squad_train, ...). Raises UserError
    for an unknown or missing name.
    """
    directory = Path(directory)
    unknown, missing = sorted(set(sizes) - set(SIZES)), sorted(set(SIZES) - set(sizes) - {"links"})
    if unknown or missing:
        raise UserError(
            f"world sizes: unknown {unknown}, missing {missing}; the names are {', '.join(SIZES)}."
        )
    write_corpus(directory, sizes, seed)
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
