"""What a record must be, and what is said of one that is not."""

import pytest

from bertshift.data.edges.records import TASKS, checked, read_edge_sidecar, read_edges, target
from bertshift.errors import UserError
from bertshift.files import write_json, write_jsonl

TEXT = "Ann saw the river ."
FAULTS = {
    "outside": ("entities", TEXT, [target("A", (3, 6))], r"target 1 has the span1 \[3, 6\) outside its 5 words"),
    "negative": ("entities", TEXT, [target("A", (-1, 1))], "outside its 5 words"),
    "empty": ("entities", TEXT, [target("A", (0, 1)), target("A", (2, 2))], r"target 2 has the empty span1 \[2, 2\)"),
    "number for a target": ("entities", TEXT, [3], "target 1 is not an object"),
    "number for a span": ("entities", TEXT, [{"span1": 3, "label": "A"}], "not \\[start, end\\)"),
    "floats": ("entities", TEXT, [target("A", (0.0, 1.0))], "not \\[start, end\\)"),
    "one span of two": ("srl", TEXT, [target("A", (0, 1))], "has span1 where span1 and span2 should be"),
    "two spans of one": ("pos", TEXT, [target("A", (0, 1), (1, 2))], "has span1 and span2 where span1 should be"),
    "no label": ("entities", TEXT, [{"span1": [0, 1]}], "has no label"),
    "empty label": ("entities", TEXT, [target("", (0, 1))], "has no label"),
    "no labels": ("entities", TEXT, [target([], (0, 1))], "has 0 labels where one should be"),
    "two labels": ("coref", TEXT, [target(["0", "1"], (0, 1), (2, 4))], "has 2 labels where one should be"),
    "wide tag": ("pos", TEXT, [target("NN", (2, 4))], "where a single word should be"),
    "two heads": ("dependencies", TEXT, [target("a", (0, 1), (1, 2)), target("b", (0, 1), (2, 3))],
                  "word 1 has several targets"),
    "double space": ("entities", "Ann  saw", [], "not words with one space between them"),
    "other space": ("entities", "1\xa0000 men", [], "not words with one space between them"),
    "no words": ("entities", "", [], "not words"),
    "no text": ("entities", None, [], 'lacks its "text"'),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named_with_their_place(name):
    task, text, targets, message = FAULTS[name]
    with pytest.raises(UserError, match=rf"^corpus.txt:7: .*{message}"):
        checked(task, "corpus.txt:7", {"text": text, "targets": targets})


def test_what_tasks_allow():
    nested = [target("NP", (0, 4)), target("NX", (0, 4)), target("NP", (2, 4))]
    assert checked("constituents", "", {"text": TEXT, "targets": nested})["targets"] == nested
    assert checked("spr", "", {"text": TEXT, "targets": [target([], (1, 2), (0, 1))]})
    assert checked("dependencies", "", {"text": TEXT, "targets": [target("root", (1, 2), (1, 2))]})
    assert [shape.spans for shape in TASKS.values()] == [1, 1, 2, 1, 2, 2, 2, 2]


def test_reading_needs_the_sidecar_and_a_split_that_is_there(tmp_path):
    write_jsonl(tmp_path / "train.jsonl", [{"text": "a b", "targets": []}])
    with pytest.raises(UserError, match=r"edges.json does not exist; prepare the edge set"):
        read_edges(tmp_path, "train")
    write_json(tmp_path / "edges.json", {"counts": {"train": {"records": 1}}})
    assert len(read_edges(tmp_path, "train")) == 1 and read_edge_sidecar(tmp_path)["counts"]
    with pytest.raises(UserError, match="has no split 'test', only train"):
        read_edges(tmp_path, "test")
