import pytest

from bertshift.data.relations import prepare_relations, read_relations
from bertshift.errors import UserError
from bertshift.files import read_json, sha256, write_jsonl

ROW = {"text": "He met her.", "predicate": [3, 6], "arguments": [{"span": [0, 2], "role": "A"}]}


def prepared(tmp_path, rows, origin="mirror"):
    write_jsonl(tmp_path / "mine.jsonl", rows)
    prepare_relations(tmp_path / "mine.jsonl", tmp_path / "out", origin)
    return read_relations(tmp_path / "out")


def test_lines_get_ids_and_a_sidecar(tmp_path):
    assert prepared(tmp_path, [ROW, ROW | {"id": "x"}]) == [{"id": "0"} | ROW, ROW | {"id": "x"}]
    sidecar = read_json(tmp_path / "out/relations.json")
    assert sidecar["source_sha256"] == {"mine.jsonl": sha256(tmp_path / "mine.jsonl")}
    assert (sidecar["sentences"], sidecar["arguments"], sidecar["licence"]) == (2, 2, "as its owner says")
    prepared(tmp_path, [ROW], "world")
    sidecar = read_json(tmp_path / "out/relations.json")
    assert sidecar["licence"] == "generated" and sidecar["data"] == "mine 1 sentences (generated)"


@pytest.mark.parametrize(
    "wrong",
    [
        {"predicate": [3, 30]},
        {"predicate": [6, 6]},
        {"predicate": [2, 3]},
        {"predicate": None},
        {"arguments": []},
        {"arguments": [{"role": "A"}]},
    ],
)
def test_a_row_that_marks_nothing_is_named(tmp_path, wrong):
    with pytest.raises(UserError, match="mine.jsonl: sentence '1' does not mark"):
        prepared(tmp_path, [ROW, ROW | wrong])


def test_an_empty_list_and_a_table_of_other_columns_are_sentences(tmp_path):
    with pytest.raises(UserError, match="no sentence that can be used"):
        prepared(tmp_path, [])
    (tmp_path / "list.tsv").write_text("id\tsentence\n1\tHe met her.\n")
    with pytest.raises(UserError, match="lacks the column 'link_spans_json'"):
        prepare_relations(tmp_path / "list.tsv", tmp_path / "out", "mirror")
