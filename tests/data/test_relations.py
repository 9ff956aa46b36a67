import json

import pandas as pd
import pytest

from bertshift.data.relations import TABLE, prepare_relations, read_relations
from bertshift.errors import UserError
from bertshift.files import read_json, sha256, write_jsonl

ROW = {"text": "He met her.", "predicate": [3, 6], "arguments": [{"span": [0, 2], "role": "A"}]}
SOUND = ("1", "He met her.", "3", "6", "[[0, 2]]")


def prepared(tmp_path, rows, origin="mirror"):
    write_jsonl(tmp_path / "mine.jsonl", rows)
    prepare_relations(tmp_path / "mine.jsonl", tmp_path / "out", origin)
    return read_relations(tmp_path / "out")


def test_lines_get_ids_and_a_sidecar(tmp_path):
    assert prepared(tmp_path, [ROW, ROW | {"id": "x"}]) == [{"id": "0"} | ROW, ROW | {"id": "x"}]
    sidecar = read_json(tmp_path / "out/relations.json")
    assert sidecar["source_sha256"] == {"mine.jsonl": sha256(tmp_path / "mine.jsonl")}
    assert (sidecar["sentences"], sidecar["arguments"]) == (2, 2)
    assert sidecar["licence"] == "as its owner says"
    prepared(tmp_path, [ROW], "world")
    sidecar = read_json(tmp_path / "out/relations.json")
    assert sidecar["licence"] == "generated" and sidecar["data"] == "mine 1 sentences (generated)"


LINES = """
{
3
{"text": "caf\xe9"}
{"text": "half \\ud83d"}
{"text": "He met her.", "predicate": [3, 30], "arguments": [{"span": [0, 2], "role": "A"}]}
{"text": "He met her.", "predicate": [6, 6], "arguments": [{"span": [0, 2], "role": "A"}]}
{"text": "He met her.", "predicate": [2, 3], "arguments": [{"span": [0, 2], "role": "A"}]}
{"text": "He met her.", "predicate": [false, true], "arguments": [{"span": [0, 2], "role": "A"}]}
{"text": "He met her.", "predicate": [3, 6], "arguments": []}
{"text": "He met her.", "predicate": [3, 6], "arguments": 3}
{"text": "He met her.", "predicate": [3, 6], "arguments": [{"role": "A"}]}
{"text": "He met her.", "predicate": [3, 6], "arguments": [{"span": [0, 2.0], "role": "A"}]}
{"text": ["He", "met", "her", "."], "predicate": [3, 6], "arguments": [{"span": [0, 2], "role": "A"}]}
{"id": ["x"], "text": "He met her.", "predicate": [3, 6], "arguments": [{"span": [0, 2]}]}
"""


@pytest.mark.parametrize("line", LINES.split("\n")[1:-1])
def test_a_line_that_is_no_row_is_named(tmp_path, line):
    content = json.dumps(ROW).encode() + b"\n" + line.encode("latin-1") + b"\n"
    (tmp_path / "mine.jsonl").write_bytes(content)
    problem = r"mine.jsonl(:2 (is not|has half)|: sentence .* does not mark)"
    with pytest.raises(UserError, match=problem):
        prepare_relations(tmp_path / "mine.jsonl", tmp_path / "out", "mirror")


def table(tmp_path, *rows):
    header = "id\tsentence\ttarget_start\ttarget_end\tlink_spans_json"
    text = "\n".join([header, *map("\t".join, rows), ""])
    (tmp_path / "list.tsv").write_text(text, encoding="utf-8")
    prepare_relations(tmp_path / "list.tsv", tmp_path / "out", "mirror")
    return read_relations(tmp_path / "out")


def test_cells_of_a_table_are_quoted_as_csv_quotes(tmp_path):
    rows = table(tmp_path, SOUND, ("2", '"""No"", he said."', "9", "13", "[[6, 8]]"))
    assert [row["text"] for row in rows] == ["He met her.", '"No", he said.']
    assert rows[1]["predicate"] == [9, 13]


@pytest.mark.parametrize(("name", "separator"), [("list.TSV", "\t"), ("list.csv", ",")])
def test_a_table_that_pandas_wrote(tmp_path, name, separator):
    rows = [SOUND, ("2", '"No",\nhe said.', "9", "13", "[[6, 8]]")]
    pd.DataFrame(rows, columns=TABLE).to_csv(tmp_path / name, sep=separator, index=False)
    prepare_relations(tmp_path / name, tmp_path / "out", "mirror")
    assert [row["text"] for row in read_relations(tmp_path / "out")] == [SOUND[1], rows[1][1]]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (('"No, he said.', "8", "12", "[[5, 7]]"), "list.tsv:2 is not a row of a table"),
        (('"No", he said.', "9", "13", "[[6, 8]]"), "list.tsv:2 is not a row of a table"),
        (("He met her.", "3", "6"), "list.tsv:2 has 4 columns where 5 are expected"),
        (("He met her.", "", "6", "[[0, 2]]"), "sentence '2' does not mark"),
        (("He met her.", "0_3", "6", "[[0, 2]]"), "sentence '2' does not mark"),
        (("He met her.", "3", "6", ""), "sentence '2' does not mark"),
        (("He met her.", "3", "6", "7"), "sentence '2' does not mark"),
        (("", "3", "6", "[[0, 2]]"), "sentence '2' does not mark"),
    ],
)
def test_a_row_of_a_table_that_is_damaged_is_named(tmp_path, row, problem):
    with pytest.raises(UserError, match=problem):
        table(tmp_path, ("2", *row), SOUND)


def test_an_empty_list_and_a_table_of_other_columns_are_named(tmp_path):
    with pytest.raises(UserError, match="mine.jsonl is empty"):
        prepared(tmp_path, [])
    with pytest.raises(UserError, match="no sentence that can be used"):
        table(tmp_path)
    (tmp_path / "list.tsv").write_text("id\tsentence\n1\tHe met her.\n")
    with pytest.raises(UserError, match="has no column 'link_spans_json', only id, sentence"):
        prepare_relations(tmp_path / "list.tsv", tmp_path / "out", "mirror")
