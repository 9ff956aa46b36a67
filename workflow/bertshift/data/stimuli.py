from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from bertshift.data.examples import sample
from bertshift.errors import UserError
from bertshift.seeds import seed_from

SENTENCE_WORDS = (5, 90)


def draw_stimuli(name: str, rows: Mapping[str, Sequence[dict]], settings: Mapping) -> list[dict]:
    """Draw a seeded sample, without replacement, in the order of the source: rows of id, text_a
    and perhaps text_b.

    `rows` maps each of its data sets to its rows, `settings` has `form` and `number` per data set,
    and `max_train`, by data set whose rows are of the split train: inputs are drawn from the
    sample of this size that its task learns from (None: from all). Forms: `inputs`, as the task
    gets them; `first`, the premise or question alone; `sentences`; `consecutive_pairs` of
    sentences; `like`, running text cut to the lengths of the second source's inputs.
    """
    for dataset, size in settings.get("max_train", {}).items():
        if size is not None:
            rows = {**rows, dataset: sample(rows[dataset], size, dataset, "train")}
    number = settings["number"]
    if settings["form"] == "like":
        text, model = rows.values()
        return _like(name, text, _sampled(name, "", model, "inputs", number))
    return [
        row
        for dataset, examples in rows.items()
        for row in _sampled(name, dataset, examples, settings["form"], number)
    ]


def _sampled(
    name: str, dataset: str, examples: Sequence[dict], form: str, number: int
) -> list[dict]:
    usable = _usable(examples, form)
    if not usable:
        raise UserError(
            f"stimuli '{name}': data set '{dataset}' has no usable input; check its source."
        )
    rng = np.random.default_rng(seed_from("stimuli", name, dataset))
    drawn = sorted(rng.permutation(len(usable))[:number])
    return [_as_form(examples, usable[index], form) for index in drawn]


def _usable(examples: Sequence[dict], form: str) -> Sequence[int]:
    """List the rows that an input can be made of, or can begin with."""
    if form == "consecutive_pairs":
        pairs = enumerate(pairwise(examples))
        return array(
            "q", (i for i, pair in pairs if _follows(*pair) and all(map(_ordinary, pair)))
        )
    if form == "sentences":
        return array("q", (i for i, row in enumerate(examples) if _ordinary(row)))
    return range(len(examples))


def _as_form(examples: Sequence[dict], index: int, form: str) -> dict:
    row = _as_input(examples[index])
    if form == "consecutive_pairs":
        following = examples[index + 1]
        return {
            "id": f"{row['id']}+{following['id']}",
            "text_a": row["text_a"],
            "text_b": following["text"],
        }
    return {"id": row["id"], "text_a": row["text_a"]} if form == "first" else row


def _like(name: str, sentences: Sequence[dict], models: Sequence[dict]) -> list[dict]:
    """Draw running text of the lengths of other inputs. For each input in `models` these are as
    many consecutive words of one document as the input's texts have together. UserError where no
    document is long enough."""
    rng = np.random.default_rng(seed_from("stimuli", name, "text"))
    drawn = []
    for model in models:
        length = sum(len(model.get(part, "").split()) for part in ("text_a", "text_b"))
        start, words = _passage(sentences, length, rng)
        if words:
            drawn.append({"id": f"{start}~{model['id']}", "text_a": " ".join(words)})
    if not drawn:
        raise UserError(
            f"stimuli '{name}': no document is as long as the inputs it should be like."
        )
    return drawn


def _passage(sentences: Sequence[dict], length: int, rng: np.random.Generator, tries: int = 50):
    for first in rng.integers(len(sentences), size=tries):
        words = []
        for sentence in _following(sentences, int(first)):
            words += sentence["text"].split()
            if len(words) >= length:
                return sentences[first]["id"], words[:length]
    return None, []


def _following(sentences: Sequence[dict], first: int) -> Iterator[dict]:
    yield sentences[first]
    for index in range(first + 1, len(sentences)):
        if not _follows(sentences[index - 1], sentences[index]):
            return
        yield sentences[index]


def _follows(first: dict, second: dict) -> bool:
    return first["document"] == second["document"] and first["sentence"] + 1 == second["sentence"]


def _ordinary(row: dict) -> bool:
    low, high = SENTENCE_WORDS
    return low <= len(row["text"].split()) <= high


def _as_input(row: dict) -> dict:
    if "question" in row:
        return {"id": row["id"], "text_a": row["question"], "text_b": row["context"]}
    if "text" in row:
        return {"id": row["id"], "text_a": row["text"]}
    return {key: row[key] for key in ("id", "text_a", "text_b") if key in row}
