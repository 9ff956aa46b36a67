"""Labels that say nothing: the training examples of a task with labels dealt anew.

A model that is trained on them (`mnli.shuffled`) reads the same inputs in the same batches and
starts with the same head, but cannot learn the task. What changes in it is due to training, not to
the task. Zhang et al. 2017 (arXiv 1611.03530, section 2) train on such labels; Maennel et al. 2020
(arXiv 2006.10455) show what the states then take up. By kind of task:

    classification, regression   labels, or scores, are permuted among the examples
    tags                         tags are permuted among the words of all examples
    spans                        an answer has as many words as the true one, at a random place of
                                 its own passage; where some questions have no answer, the numbers
                                 of words, 0 for none, are permuted among the questions first
    dependencies                 a word's head is the root or any other word of its sentence, each
                                 with the same probability; relations are permuted among the words
                                 of all examples

Words of a passage are what white space divides, as in run_squad of google-research/bert.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bertshift.tasks.dependency_parsing import DependencyParsing
from bertshift.tasks.loading import Task
from bertshift.tasks.question_answering import AnswerSpans
from bertshift.tasks.tagging import Tagging
from bertshift.tasks.words import flatten


def shuffle_labels(task: Task, rows: Sequence[dict], seed: int) -> list[dict]:
    """Deal the labels of `rows`, training examples of `task`, anew. The same seed gives the same
    labels."""
    rng = np.random.default_rng(seed)
    match task:
        case AnswerSpans():
            return _deal_answers(rows, rng)
        case Tagging():
            return _permute_words(rows, "upos", rng)
        case DependencyParsing():
            rows = _permute_words(rows, "deprels", rng)
            return [row | {"heads": _draw_heads(len(row["heads"]), rng)} for row in rows]
        case _:
            order = rng.permutation(len(rows))
            return [row | {"label": rows[other]["label"]} for row, other in zip(rows, order)]


def _permute_words(rows: Sequence[dict], column: str, rng: np.random.Generator) -> list[dict]:
    """Permute the labels of words in `column` among all words of `rows`."""
    labels = flatten(row[column] for row in rows)
    dealt = [labels[number] for number in rng.permutation(len(labels))]
    bounds = np.cumsum([0, *(len(row[column]) for row in rows)]).tolist()
    return [
        row | {column: dealt[first:end]}
        for row, (first, end) in zip(rows, pairwise(bounds), strict=True)
    ]


def _draw_heads(words: int, rng: np.random.Generator) -> list[int]:
    """Draw the head of each word: 0, the root, or another word, counted from 1."""
    drawn = rng.integers(words, size=words)
    own = np.arange(1, words + 1)
    return (drawn + (drawn >= own)).tolist()


def _deal_answers(rows: Sequence[dict], rng: np.random.Generator) -> list[dict]:
    lengths = [_count_words(row) for row in rows]
    if 0 in lengths:
        lengths = [lengths[number] for number in rng.permutation(len(lengths))]
    return [
        _with_answer(row, length, rng) if length else row | {"answers": [], "impossible": True}
        for row, length in zip(rows, lengths, strict=True)
    ]


def _count_words(row: dict) -> int:
    """Count the words of a question's answer; 0 if it has none."""
    if row["impossible"]:
        return 0
    return max(1, len(row["answers"][0]["text"].split()))


def _with_answer(row: dict, length: int, rng: np.random.Generator) -> dict:
    """Give a question an answer of `length` words, or of all words of its passage if these are
    fewer, at a random place."""
    words = [match.span() for match in re.finditer(r"\S+", row["context"])]
    if not words:
        return row
    length = min(length, len(words))
    first = rng.integers(len(words) - length + 1)
    start, end = words[first][0], words[first + length - 1][1]
    answer = {"text": row["context"][start:end], "start": start}
    return row | {"answers": [answer], "impossible": False}
