"""Records and their errors."""

import pytest

from bertshift.data.edges.records import record, target
from bertshift.errors import UserError

WORDS = ["Ann", "saw", "the", "river", "."]
FAULTS = [
    ("entities", [target("A", (3, 6))], r"target 1 has the span1 \[3, 6\) outside"),
    ("entities", [target("A", (0, 1)), target("A", (2, 2))], r"target 2 has the empty span1"),
    ("entities", [3], "target 1 is not an object"),
    ("entities", [target("A", (0.0, 1.0))], "not \\[start, end\\)"),
    ("srl", [target("A", (0, 1))], "span1 where span1 and span2"),
    ("entities", [{"span1": [0, 1]}], "no label"),
    ("pos", [target("NN", (0, 1)), target("_", (1, 2))], "target 2 has no label"),
    ("entities", [target([], (0, 1))], "0 labels"),
    ("coref", [target(["0", "1"], (0, 1), (2, 4))], "2 labels"),
    ("pos", [target("NN", (2, 4))], "single word"),
    (
        "dependencies",
        [target("a", (0, 1), (1, 2)), target("b", (0, 1), (2, 3))],
        "word 1 has several",
    ),
]


@pytest.mark.parametrize(("task", "targets", "message"), FAULTS)
def test_faults_are_named_with_their_line(task, targets, message):
    with pytest.raises(UserError, match=rf"^corpus.txt:7: .*{message}"):
        record(task, "corpus.txt:7", WORDS, targets)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Ann", ""], "word 2 is empty"),
        ([], "no words"),
        (["[WORD]"] * 2, r"\[WORD\] stands for every word"),
    ],
)
def test_a_sentence_has_words(words, message):
    with pytest.raises(UserError, match=f"^corpus.txt:7: .*{message}"):
        record("entities", "corpus.txt:7", words, [])


def test_targets_that_tasks_allow():
    nested = [target("NP", (0, 4)), target("NX", (0, 4)), target("NP", (2, 4))]
    assert record("constituents", "", WORDS, nested)["targets"] == nested
    assert record("spr", "", WORDS, [target([], (1, 2), (0, 1))])
    assert record("dependencies", "", WORDS, [target("root", (1, 2), (1, 2))])
    assert record("pos", "", ["26 000", "\u3000"], [])["words"] == ["26 000", "\u3000"]
