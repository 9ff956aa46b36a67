"""What a record must be, and what is said of one that is not."""

import pytest

from bertshift.data.edges.records import TASKS, read_edge_sidecar, read_edges, record, target
from bertshift.errors import UserError
from bertshift.files import write_json, write_jsonl

WORDS = ["Ann", "saw", "the", "river", "."]
FAULTS = {
    "outside": ("entities", WORDS, [target("A", (3, 6))], r"target 1 has the span1 \[3, 6\) outside its 5 words"),
    "negative": ("entities", WORDS, [target("A", (-1, 1))], "outside its 5 words"),
    "empty": ("entities", WORDS, [target("A", (0, 1)), target("A", (2, 2))], r"target 2 has the empty span1 \[2, 2\)"),
    "number for a target": ("entities", WORDS, [3], "target 1 is not an object"),
    "number for a span": ("entities", WORDS, [{"span1": 3, "label": "A"}], "not \\[start, end\\)"),
    "floats": ("entities", WORDS, [target("A", (0.0, 1.0))], "not \\[start, end\\)"),
    "one span of two": ("srl", WORDS, [target("A", (0, 1))], "has span1 where span1 and span2 should be"),
    "two spans of one": ("pos", WORDS, [target("A", (0, 1), (1, 2))], "has span1 and span2 where span1 should be"),
    "no label": ("entities", WORDS, [{"span1": [0, 1]}], "has no label"),
    "empty label": ("entities", WORDS, [target("", (0, 1))], "has no label"),
    "no labels": ("entities", WORDS, [target([], (0, 1))], "has 0 labels where one should be"),
    "two labels": ("coref", WORDS, [target(["0", "1"], (0, 1), (2, 4))], "has 2 labels where one should be"),
    "wide tag": ("pos", WORDS, [target("NN", (2, 4))], "where a single word should be"),
    "two heads": ("dependencies", WORDS, [target("a", (0, 1), (1, 2)), target("b", (0, 1), (2, 3))],
                  "word 1 has several targets"),
    "an empty word": ("entities", ["Ann", ""], [], "word 2 is empty"),
    "no words": ("entities", [], [], "has no words"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named_with_their_place(name):
    task, words, targets, message = FAULTS[name]
    with pytest.raises(UserError, match=rf"^corpus.txt:7: .*{message}"):
        record(task, "corpus.txt:7", words, targets)


def test_what_tasks_allow():
    nested = [target("NP", (0, 4)), target("NX", (0, 4)), target("NP", (2, 4))]
    assert record("constituents", "", WORDS, nested)["targets"] == nested
    assert record("spr", "", WORDS, [target([], (1, 2), (0, 1))])
    assert record("dependencies", "", WORDS, [target("root", (1, 2), (1, 2))])
    assert record("pos", "", ["26 000", "\u3000"], [])["words"] == ["26 000", "\u3000"]
    assert [shape.spans for shape in TASKS.values()] == [1, 1, 2, 1, 2, 2, 2, 2]


def test_reading_needs_the_sidecar_and_a_split_that_is_there(tmp_path):
    write_jsonl(tmp_path / "train.jsonl", [{"words": ["a", "b"], "targets": []}])
    with pytest.raises(UserError, match=r"edges.json does not exist; prepare the edge set"):
        read_edges(tmp_path, "train")
    write_json(tmp_path / "edges.json", {"counts": {"train": {"records": 1}}})
    assert len(read_edges(tmp_path, "train")) == 1 and read_edge_sidecar(tmp_path)["counts"]
    with pytest.raises(UserError, match="has no split 'test', only train"):
        read_edges(tmp_path, "test")
