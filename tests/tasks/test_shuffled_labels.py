import numpy as np
import pytest

from bertshift.tasks.dependency_parsing import DependencyParsing
from bertshift.tasks.question_answering import AnswerSpans
from bertshift.tasks.shuffled_labels import shuffle_labels
from bertshift.tasks.tagging import Tagging
from bertshift.tasks.text_classification import TextClassification

COMMON = {"name": "toy", "dataset": "toys", "max_length": 64}
RATING = TextClassification(**COMMON, metrics=("pearson",), labels=None)
TAGGING = Tagging(**COMMON, metrics=("accuracy",), labels=("A", "B"))
PARSING = DependencyParsing(**COMMON, metrics=("uas",), labels=("x", "y"))
ANSWERS = AnswerSpans("toy", "toys")
CONTEXT = "  one two  three four five six"


def question(number, answer):
    answers = [{"text": answer, "start": CONTEXT.index(answer)}] if answer else []
    return {"id": str(number), "question": "?", "context": CONTEXT, "answers": answers, "impossible": not answer}  # fmt: skip


def without(column, rows):
    return [{key: value for key, value in row.items() if key != column} for row in rows]


def test_scores_are_dealt_among_the_examples_by_the_seed_alone():
    rows = [{"id": str(n), "text_a": f"text {n}", "label": float(n)} for n in range(50)]
    dealt = shuffle_labels(RATING, rows, 1)
    assert without("label", dealt) == without("label", rows)
    labels = [row["label"] for row in dealt]
    assert sorted(labels) == [row["label"] for row in rows] != labels
    assert shuffle_labels(RATING, rows, 1) == dealt != shuffle_labels(RATING, rows, 2)


def test_tags_are_dealt_among_words_of_all_sentences():
    rows = [{"id": "1", "words": ["w"] * 20, "upos": ["A"] * 20},
            {"id": "2", "words": ["w"] * 30, "upos": ["B"] * 30}]  # fmt: skip
    dealt = shuffle_labels(TAGGING, rows, 1)
    assert [len(row["upos"]) for row in dealt] == [20, 30]
    assert sorted(dealt[0]["upos"] + dealt[1]["upos"]) == ["A"] * 20 + ["B"] * 30
    assert {*dealt[0]["upos"]} == {*dealt[1]["upos"]} == {"A", "B"}


def test_heads_are_any_other_word_or_the_root():
    rows = [{"id": "1", "words": ["w"] * 3, "heads": [0, 1, 2], "deprels": ["x", "y", "y"]}] * 900
    dealt = shuffle_labels(PARSING, rows, 1)
    heads = np.array([row["heads"] for row in dealt])
    for word, column in enumerate(heads.T, start=1):
        found, counts = np.unique(column, return_counts=True)
        assert list(found) == [head for head in range(4) if head != word]
        assert counts.min() > 240  # of 300 expected, standard deviation 14
    labels = [label for row in dealt for label in row["deprels"]]
    assert labels.count("x") == 900 and {row["deprels"][0] for row in dealt} == {"x", "y"}


@pytest.mark.parametrize(("answer", "words"), [("two", 1), ("three four five", 3)])
def test_answers_keep_their_length_and_begin_anywhere_in_their_passage(answer, words):
    dealt = shuffle_labels(ANSWERS, [question(n, answer) for n in range(200)], 1)
    starts = set()
    for row in dealt:
        [drawn] = row["answers"]
        assert len(drawn["text"].split()) == words
        assert row["context"][drawn["start"] :].startswith(drawn["text"])
        starts.add(drawn["start"])
    assert len(starts) == 6 - words + 1


def test_which_questions_have_no_answer_is_dealt_too():
    rows = [question(n, "two" if n < 100 else "") for n in range(200)]
    dealt = shuffle_labels(ANSWERS, rows, 1)
    impossible = [row["impossible"] for row in dealt]
    assert impossible == [not row["answers"] for row in dealt]
    assert sum(impossible) == 100 and 30 < sum(impossible[:100]) < 70
