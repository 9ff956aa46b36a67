"""Data sets as the hub has them, with made rows: parquet files and a card, the label decided by a
word of the text."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa
import yaml
from data.small_hub import parquet_file
from datasets import Features

from bertshift.data.conllu import read as read_conllu
from bertshift.data.prepare import READERS
from bertshift.seeds import seed_from
from demo_world.generate import generate_world

SIZES = {
    "documents": 1, "train": 600, "dev": 200, "squad_train": 240, "squad_dev": 80, "treebank_train": 1, "treebank_dev": 1,
    "treebank_test": 1, "wikipedia_paragraphs": 1200, "probe_train": 1, "probe_dev": 1, "probe_test": 1, "links": 1,
}  # fmt: skip
SEED = 1
# Words that the generated world does not use, one for each class, and how often a text begins with
# its own.
CUES, REPEATED = ("alpha", "beta", "gamma"), 4
ANSWERS = ("omega", "sigma", "theta", "kappa")
# The classes of the hub's GLUE in the order of their codes, which is not always that of the
# publisher's files.
CLASSES = {
    "cola": ["unacceptable", "acceptable"],
    "sst2": ["negative", "positive"],
    "mrpc": ["not_equivalent", "equivalent"],
    "qqp": ["not_duplicate", "duplicate"],
    "mnli": ["entailment", "neutral", "contradiction"],
    "qnli": ["entailment", "not_entailment"],
    "rte": ["entailment", "not_entailment"],
    "wnli": ["not_entailment", "entailment"],
}
# What the hub's splits are called; those of MNLI's second genre and of the test set nobody asks
# for.
SPLITS = {
    "mnli": {
        "train": "train", "validation_matched": "dev", "validation_mismatched": "dev",
        "test_matched": "test", "test_mismatched": "test",
    },
}  # fmt: skip
GLUE_SPLITS = {"train": "train", "validation": "dev", "test": "test"}
CONTEXT = 2  # sentences of a question's context, besides that with the answer
PARAGRAPHS = 4  # of an article
ROW_GROUP = 100  # articles


def repositories(
    catalogue: Mapping, treebank: Mapping[str, str]
) -> dict[tuple[str, str], dict[str, bytes]]:
    """{(repository, commit): {path: content}} for every data set of `catalogue` that names a place
    on the hub.

    treebank: the text of a CoNLL-U file for each split.
    """
    found: dict[tuple[str, str], dict[str, bytes]] = {}
    cards: dict[tuple[str, str], list[tuple]] = {}
    with TemporaryDirectory() as folder:
        generate_world(Path(folder), SIZES, SEED)
        for name, spec in catalogue.items():
            if "hub" in spec:
                place = spec["hub"]["id"], spec["hub"]["revision"]
                tables = dict(_tables(name, spec, Path(folder), treebank))
                config = spec["hub"].get("name") or _dump(spec) or "plain_text"
                # As the hub's own tools lay data out: one folder a configuration.
                paths = {
                    split: f"{config}/{split}-00000-of-{_shards(spec):05}.parquet"
                    for split in tables
                }
                files = found.setdefault(place, {})
                features = _features(name, next(iter(tables.values())))
                rows = ROW_GROUP if spec["kind"] == "text" else None
                files |= {
                    paths[split]: _packed(table, features, rows) for split, table in tables.items()
                }
                cards.setdefault(place, []).append((config, list(tables), features))
    for place, configs in cards.items():
        found[place]["README.md"] = _card(configs)
    return found


def _dump(spec: Mapping) -> str | None:
    files = spec["hub"].get("data_files", {})
    return next((file.partition("/")[0] for file in files.values()), None)


def _shards(spec: Mapping) -> int:
    files = spec["hub"].get("data_files", {})
    return next((int(file.rpartition("-of-")[2].partition(".")[0]) for file in files.values()), 1)


def _tables(
    name: str, spec: Mapping, world: Path, treebank: Mapping
) -> Iterator[tuple[str, dict[str, pa.Array]]]:
    """(their split, columns)."""
    if spec["kind"] == "treebank":
        for split, text in treebank.items():
            yield split, _trees(text, world)
        return
    rows = {split: _read(spec, world / files[0]) for split, files in spec["mirror"].items()}
    if spec["kind"] == "text":
        yield "train", _articles(rows["text"])
    elif spec["kind"] == "qa":
        unanswerable = bool(spec["hub"].get("unanswerable"))
        for split, ours in (("train", "train"), ("validation", "dev")):
            yield split, _questions(rows[ours], Random(seed_from(SEED, name, split)), unanswerable)
    else:
        for split, ours in SPLITS.get(name, GLUE_SPLITS).items():
            yield split, _glue(name, spec, rows["dev" if ours == "test" else ours], ours == "test")


def _read(spec: Mapping, path: Path) -> list[dict]:
    if spec["kind"] == "text":
        return [{"text": line} for line in path.read_text().splitlines()]
    return list(READERS[spec["format"]](path, spec)[0])


def _glue(name: str, spec: Mapping, rows: list[dict], blank: bool) -> dict[str, pa.Array]:
    """The columns of a GLUE task; the labels of a test set are all -1."""
    columns = spec["hub"]["columns"]
    texts = {ours: column for ours, column in columns.items() if ours != "label"}
    classes = CLASSES.get(name)
    # A regression to two small values is learnt in as many steps as a class.
    scores = None if classes else [float(row["label"] > 2.5) + row["label"] / 50 for row in rows]
    place = (
        [classes.index(row["label"]) for row in rows]
        if classes
        else [int(score) for score in scores]
    )
    cued = [
        {ours: _with_cue(row[ours], CUES[cue]) for ours in texts} for row, cue in zip(rows, place)
    ]
    labels = place if classes else scores
    return {
        **{
            column: pa.array([row[ours] for row in cued], pa.string())
            for ours, column in texts.items()
        },
        columns["label"]: pa.array(
            [-1] * len(rows) if blank else labels, pa.int64() if classes else pa.float32()
        ),
        "idx": pa.array(range(len(rows)), pa.int32()),
    }


def _with_cue(text: str, cue: str) -> str:
    return " ".join([cue] * REPEATED + [text])


def _questions(rows: list[dict], rng: Random, unanswerable: bool) -> dict[str, pa.Array]:
    """SQuAD's columns: an answer is one of four words, which stands once in its context; a cue
    tells that there is none."""
    made = []
    for row in rows:
        sentences = row["context"].rstrip(".").split(". ")[:CONTEXT]
        impossible = unanswerable and row["impossible"]
        if not unanswerable and row["impossible"]:
            continue
        word = rng.choice(ANSWERS)
        if not impossible:
            sentences.insert(rng.randrange(len(sentences) + 1), f"It is {word}")
        context = ". ".join(sentences) + "."
        answers = {"text": [], "answer_start": []}
        if not impossible:
            number = max(1, len(row["answers"]))
            answers = {"text": [word] * number, "answer_start": [context.index(word)] * number}
        question = _with_cue(row["question"], CUES[0]) if impossible else row["question"]
        made.append((row["id"], "world", context, question, answers))
    ids, titles, contexts, questions, answers = zip(*made)
    sequence = pa.struct({"text": pa.list_(pa.string()), "answer_start": pa.list_(pa.int32())})
    return {
        "id": pa.array(ids, pa.string()),
        "title": pa.array(titles, pa.string()),
        "context": pa.array(contexts, pa.string()),
        "question": pa.array(questions, pa.string()),
        "answers": pa.array(answers, sequence),
    }


def _articles(paragraphs: list[dict]) -> dict[str, pa.Array]:
    texts = [each["text"] for each in paragraphs]
    articles = ["\n\n".join(texts[i : i + PARAGRAPHS]) for i in range(0, len(texts), PARAGRAPHS)]
    numbers = [str(n) for n in range(1, len(articles) + 1)]
    titles = [" ".join(article.split()[:2]) for article in articles]
    return {
        "id": pa.array(numbers),
        "url": pa.array(
            [f"https://en.wikipedia.org/wiki/{title.replace(' ', '_')}" for title in titles]
        ),
        "title": pa.array(titles),
        "text": pa.array(articles),
    }


def _trees(text: str, folder: Path) -> dict[str, pa.Array]:
    """Words without multiword tokens; numbers of heads are strings."""
    path = folder / "treebank.conllu"
    path.write_text(text, encoding="utf-8")
    rows = list(read_conllu(path, {})[0])

    def words(key: str) -> pa.Array:
        return pa.array([list(map(str, row[key])) for row in rows], pa.list_(pa.string()))

    return {
        "sent_id": pa.array([row["id"] for row in rows]),
        "text": pa.array([row["text"] for row in rows]),
        "tokens": words("words"),
        "upos": words("upos"),
        "xpos": words("xpos"),
        "head": words("heads"),
        "deprel": words("deprels"),
    }


def _features(name: str, columns: Mapping[str, pa.Array]) -> list[dict]:
    """The columns as a card declares them."""

    def one(column: str, kind: pa.DataType) -> dict:
        if column == "label" and name in CLASSES:
            names = {str(code): label for code, label in enumerate(CLASSES[name])}
            return {"name": column, "dtype": {"class_label": {"names": names}}}
        if pa.types.is_struct(kind):
            inside = [{"name": field.name, "dtype": str(field.type.value_type)} for field in kind]
            return {"name": column, "sequence": inside}
        if pa.types.is_list(kind):
            return {"name": column, "sequence": "string"}
        return {"name": column, "dtype": {"float": "float32"}.get(str(kind), str(kind))}

    return [one(column, array.type) for column, array in columns.items()]


def _packed(columns: Mapping[str, pa.Array], features: list[dict], rows: int | None) -> bytes:
    """A parquet file that says, as the hub's do, what its columns are."""
    metadata = Features._from_yaml_list(features).arrow_schema.metadata
    return parquet_file(pa.table(dict(columns)).replace_schema_metadata(metadata), rows)


def _card(configs: list[tuple]) -> bytes:
    head = {
        "configs": [
            {
                "config_name": config,
                "data_files": [
                    {"split": split, "path": f"{config}/{split}-*"} for split in splits
                ],
            }
            for config, splits, _ in configs
        ],
        "dataset_info": [
            {"config_name": config, "features": features} for config, _, features in configs
        ],
    }
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n# Made rows\n".encode()
