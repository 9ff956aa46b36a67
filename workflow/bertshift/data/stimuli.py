from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from bertshift.data.examples import sample
from bertshift.errors import UserError
from bertshift.seeds import seed_from

SENTENCE_WORDS = (5, 90)
PASSAGE_DRAWS = 50  # first sentences drawn before an input is given up


def draw_stimuli(name: str, rows: Mapping[str, Sequence[dict]], settings: Mapping) -> list[dict]:
    """Draw a seeded sample, without replacement, in the order of the source: rows of id, text_a
    and perhaps text_b.

    `rows` maps data sets to their rows. `settings` has the `form`, the `number` per data set and,
    for data sets of which the split train is used, `max_train`: inputs are drawn from the sample
    of this size that the task is trained on (None: from all rows). Forms: `inputs`, as the task
    gets them; `first`, the premise or question alone; `sentences`; `consecutive_pairs` of
    sentences; `like`, running text cut to the lengths of the second source's inputs.
    """
    for dataset, size in settings.get("max_train", {}).items():
        if size is not None:
            rows = {**rows, dataset: sample(rows[dataset], size, dataset, "train")}
    form, number = settings["form"], settings["number"]
    if form == "like":
        text, examples = rows.values()
        inputs = _draw_rows(name, "", examples, "inputs", number)
        return _cut_to_lengths(name, text, inputs)
    stimuli = []
    for dataset, examples in rows.items():
        stimuli += _draw_rows(name, dataset, examples, form, number)
    return stimuli


def _draw_rows(
    name: str, dataset: str, examples: Sequence[dict], form: str, number: int
) -> list[dict]:
    usable = _usable_indices(examples, form)
    if not usable:
        raise UserError(
            f"stimuli '{name}': data set '{dataset}' has no usable input; check its source."
        )
    rng = np.random.default_rng(seed_from("stimuli", name, dataset))
    drawn = sorted(rng.permutation(len(usable))[:number])
    return [_make_stimulus(examples, usable[index], form) for index in drawn]


def _usable_indices(examples: Sequence[dict], form: str) -> Sequence[int]:
    """List the rows that an input can be made of, or can begin with."""
    if form == "consecutive_pairs":
        indices = (
            index
            for index, (first, second) in enumerate(pairwise(examples))
            if _is_next(first, second) and _has_usual_length(first) and _has_usual_length(second)
        )
        return array("q", indices)
    if form == "sentences":
        indices = (index for index, row in enumerate(examples) if _has_usual_length(row))
        return array("q", indices)
    return range(len(examples))


def _make_stimulus(examples: Sequence[dict], index: int, form: str) -> dict:
    row = _make_input(examples[index])
    if form == "consecutive_pairs":
        following = examples[index + 1]
        return {
            "id": f"{row['id']}+{following['id']}",
            "text_a": row["text_a"],
            "text_b": following["text"],
        }
    if form == "first":
        return {"id": row["id"], "text_a": row["text_a"]}
    return row


def _cut_to_lengths(name: str, sentences: Sequence[dict], inputs: Sequence[dict]) -> list[dict]:
    """Draw a passage of running text for each input: as many consecutive words of one document as
    the texts of the input have together. UserError where no document is long enough."""
    rng = np.random.default_rng(seed_from("stimuli", name, "text"))
    stimuli = []
    for row in inputs:
        length = sum(len(row.get(key, "").split()) for key in ("text_a", "text_b"))
        start, words = _draw_passage(sentences, length, rng)
        if words:
            stimuli.append({"id": f"{start}~{row['id']}", "text_a": " ".join(words)})
    if not stimuli:
        raise UserError(
            f"stimuli '{name}': no document is as long as the inputs it should be like."
        )
    return stimuli


def _draw_passage(sentences: Sequence[dict], length: int, rng: np.random.Generator):
    """Draw `length` consecutive words of one document, and the id of their first sentence."""
    for first in rng.integers(len(sentences), size=PASSAGE_DRAWS):
        words = []
        for sentence in _read_on(sentences, int(first)):
            words += sentence["text"].split()
            if len(words) >= length:
                return sentences[first]["id"], words[:length]
    return None, []


def _read_on(sentences: Sequence[dict], first: int) -> Iterator[dict]:
    """Yield the sentences from `first` on, as long as each follows the previous one."""
    yield sentences[first]
    for index in range(first + 1, len(sentences)):
        if not _is_next(sentences[index - 1], sentences[index]):
            return
        yield sentences[index]


def _is_next(first: dict, second: dict) -> bool:
    return first["document"] == second["document"] and first["sentence"] + 1 == second["sentence"]


def _has_usual_length(row: dict) -> bool:
    low, high = SENTENCE_WORDS
    return low <= len(row["text"].split()) <= high


def _make_input(row: dict) -> dict:
    if "question" in row:
        return {"id": row["id"], "text_a": row["question"], "text_b": row["context"]}
    if "text" in row:
        return {"id": row["id"], "text_a": row["text"]}
    return {key: row[key] for key in ("id", "text_a", "text_b") if key in row}
