"""Files of texts and tables, as people and other programs write them."""

import csv
import os
import subprocess
import sys
import threading

import pandas as pd
import pytest

from bertshift.api.text_files import STDIN, read_columns, read_texts
from bertshift.errors import UserError

TEXTS = ['he said "no"', "two\nlines", 'NA "x, y"', "null", "a\ttab", '"Who?"', "plain, 's", "1e3"]


@pytest.mark.parametrize("ending", [".tsv", ".TSV", ".csv", ".CSV"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_table_that_pandas_wrote(tmp_path, ending, quoting):
    file = tmp_path / f"t{ending}"
    separator = "," if ending.lower() == ".csv" else "\t"
    table = pd.DataFrame({"id": range(len(TEXTS)), "text": TEXTS, "more": TEXTS[::-1]})
    table.to_csv(file, sep=separator, index=False, quoting=quoting)
    assert read_columns(file, ["text"]) == {"text": TEXTS}
    assert read_columns(file, ["more", "text"]) == {"more": TEXTS[::-1], "text": TEXTS}
    table.iloc[:, 1:].to_csv(file, sep=separator, index=False, header=False, quoting=quoting)
    assert read_texts(file) == list(zip(TEXTS, TEXTS[::-1]))
    table[["text"]].to_csv(file, sep=separator, index=False, quoting=quoting)
    assert read_columns(file, ["text"]) == {"text": TEXTS}


@pytest.mark.parametrize("name, content", [
    ("t.tsv", b'id\tsentence\tlabel\r\n1\tNA "x, y"\t0\r\n2\tnull\t1\r\n\r\n'),
    ("t.csv", b'\xef\xbb\xbfid,sentence,label\n1,"NA ""x, y""\",0\n\n2,null,1\n'),
])  # fmt: skip
def test_columns_of_a_file(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert read_columns(tmp_path / name, ["sentence"]) == {"sentence": ['NA "x, y"', "null"]}


@pytest.mark.parametrize("name, content, said", [
    ("t.csv", "a,b\none, and more,two\nthree,four\n", "t.csv:2 has 3 columns where 2 are expected"),
    ("t.csv", 'a,b\nhe said "no",two\n', "t.csv:2 is not a row of a table"),
    ("t.csv", "a;b\none;two\n", "t.csv has semicolons where commas are read"),
    ("t.tsv", "b,a\none,two\n", "t.tsv has commas where tabs are read"),
    ("t.tsv", "b\tc\none\ttwo\n", "t.tsv has no column 'a', only b, c; correct --columns"),
    ("t.tsv", "a \tc\none\ttwo\n", "t.tsv has no column 'a', only 'a ', c"),
    ("t.tsv", '"a"\t"b"\n"he said \\"no\\""\t"x"\n', r"t.tsv:2 has quotation marks behind backslash"),
    ("t.tsv", 'a\tb\n"he said \\"no\\""\tx\n', r"t.tsv:2 has .*qmethod"),
    ("t.tsv", 'a\tb\n1\tone\ttwo\n', r"t.tsv:2 has 3 columns .*row.names = FALSE"),
    ("t.tsv", "b\tc\rone\ttwo\r", r"t.tsv has no column 'a', only b, 'c\\rone'"),
    ("t.csv", None, "does not exist"),
])  # fmt: skip
def test_tables_that_cannot_be_read(tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=said):
        read_columns(tmp_path / name, ["a"])


@pytest.mark.parametrize("content, said", [
    (None, "does not exist"), (b"a\n\nb\n", "texts.txt:2 is empty"), (b"a\tb\tc\n", "texts.txt:1 has 3 parts"),
    (b"a\n\xff\n", "texts.txt:2 is not UTF-8"), (b"", "texts.txt is empty"),
    (b"one\rtwo\r", "texts.txt:1 has a carriage return"), (b"good\ta b\nbad\tc d\n", "looks like labels, such as 'good'"),
    (b"".join(b"a %d\tnot good\n" % k for k in range(20)), "looks like labels, such as 'not good'"),
])  # fmt: skip
def test_files_without_texts(tmp_path, content, said):
    if content is not None:
        (tmp_path / "texts.txt").write_bytes(content)
    with pytest.raises(UserError, match=said):
        read_texts(tmp_path / "texts.txt")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_pairs_stand_on_one_line(tmp_path, end):
    content = f"\ufeffone{end}two two\tthree\u2028four{end}{end}"
    (tmp_path / "texts.txt").write_text(content, encoding="utf-8", newline="")
    assert read_texts(tmp_path / "texts.txt") == ["one", ("two two", "three\u2028four")]


def test_quotation_marks_of_plain_lines_are_characters(tmp_path):
    lines = ['"Hello."', '"I said ""no""."', '"It was late,', 'he said."']
    (tmp_path / "texts.txt").write_text("\n".join(lines))
    assert read_texts(tmp_path / "texts.txt") == lines


def test_pairs_in_a_language_without_spaces(tmp_path):
    (tmp_path / "texts.txt").write_text(
        "我喜欢这部电影\t这部电影很好\n他今天没有来\t他今天来了\n", "utf-8"
    )
    assert read_texts(tmp_path / "texts.txt")[1] == ("他今天没有来", "他今天来了")


@pytest.mark.parametrize("name", ["pipe", "pipe.tsv"])
def test_a_pipe_is_read_once(tmp_path, name):
    """Its first bytes come alone, as a slow program writes them."""
    pipe = tmp_path / name
    os.mkfifo(pipe)

    def write():
        with open(pipe, "wb", buffering=0) as file:
            file.writelines((b"o", b"ne\ntwo", b" two\n" + b"three\n" * 20_000))

    writer = threading.Thread(target=write)
    writer.start()
    assert read_texts(pipe) == ["one", "two two", *["three"] * 20_000]
    writer.join()


def test_a_table_comes_from_standard_input():
    code = "from bertshift.api.text_files import *; print(read_columns(STDIN, ['b']))"
    table = "a\tb\n1\tone\n2\ttwo\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=table,
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout == "{'b': ['one', 'two']}\n"
    assert str(STDIN) == "/dev/stdin"
