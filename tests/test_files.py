import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from bertshift import files
from bertshift.data.provenance import describe_split
from bertshift.errors import UserError
from bertshift.seeds import seed_from


def test_a_failed_write_leaves_what_was_there_and_nothing_half_written(tmp_path):
    path = tmp_path / "table.tsv"
    files.write_text(path, "old")
    with pytest.raises(RuntimeError), files.atomic(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["table.tsv"]


def test_a_table_reads_back_alike(tmp_path):
    table = pd.DataFrame({"task": ["NA", "null"], "value": [1 / 3, np.nan], "n": [1, 2]})
    files.write_tsv(tmp_path / "t.tsv", table)
    back = files.read_tsv(tmp_path / "t.tsv")
    assert list(back["task"]) == ["NA", "null"] and back["value"][0] == pytest.approx(
        1 / 3, rel=1e-9
    )
    assert np.isnan(back["value"][1]) and list(back["n"]) == [1, 2]


@pytest.mark.parametrize("name", files.TEXTS)
def test_a_text_is_read_as_text(name, tmp_path):
    for texts in (["true", "false"], ["1e3", "2"], ["01", "inf"], ["367", ""], ["a\rb", "c"]):
        files.write_tsv(tmp_path / "t.tsv", pd.DataFrame({name: texts, "value": [1.5, 2]}))
        back = files.read_tsv(tmp_path / "t.tsv")
        assert back[name].fillna("").tolist() == texts and back["value"].tolist() == [1.5, 2]


@pytest.mark.parametrize("content", [b"", b"value\n\xff\n", b"value\n1\n2\t3\n"])
def test_a_table_that_is_none_is_named(tmp_path, content):
    (tmp_path / "t.tsv").write_bytes(content)
    with pytest.raises(
        UserError, match=r"t\.tsv is damaged .*; delete it and call the same command again"
    ):
        files.read_tsv(tmp_path / "t.tsv")


def test_lines_hold_any_text_and_a_damaged_one_is_named(tmp_path):
    rows = [{"text": "line\u2028separator\nand\x85more"}, {"text": "é"}]
    files.write_jsonl(tmp_path / "rows.jsonl", rows)
    assert list(files.read_jsonl(tmp_path / "rows.jsonl")) == rows
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"a": ')
    with pytest.raises(UserError, match=r"rows\.jsonl:2 is not JSON"):
        list(files.read_jsonl(tmp_path / "rows.jsonl"))
    (tmp_path / "rows.jsonl").write_bytes(b'{"a": "\xff"}\n')
    with pytest.raises(UserError, match=r"rows\.jsonl is damaged"):
        list(files.read_jsonl(tmp_path / "rows.jsonl"))


def test_seeds_come_from_names_and_do_not_run_together():
    assert seed_from("a", 1) == seed_from("a", "1") == 92031305
    assert seed_from("ab", "c") != seed_from("a", "bc")


def test_a_sample_is_called_a_sample():
    sidecar = {
        "name": "mnli",
        "origin": "mirror",
        "source": "hub:nyu-mll/glue@bcdcba79d07b",
        "rows": {"train": 9999, "dev": 9815},
    }
    sidecar["published"] = {"train": 392702, "dev": 9815}
    assert (
        describe_split(sidecar, "train", 500)
        == "mnli train 500 of 9999, a sample of 392702 (mirror)"
    )
    assert (
        describe_split(sidecar | {"origin": "hub"}, "dev", 9815)
        == "mnli dev 9815 of 9815 (hub nyu-mll/glue@bcdcba7)"
    )
    generated = sidecar | {"origin": "world"}
    drawn_from_few = describe_split(generated, "train", 500, trained_on=700)
    assert drawn_from_few == "mnli train 500 of the 700 trained on, of 9999 (generated)"
    assert describe_split(generated, "train", 500) == "mnli train 500 of 9999 (generated)"


SCRIPT = """
from types import SimpleNamespace
from bertshift.errors import UserError
from bertshift.running.jobs import job
with job(SimpleNamespace(threads=1, params={{}}, resources={{}}, log=r"{log}")):
    {body}
"""


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("raise UserError('write this instead.')", ["error: write this instead."]),
        ("1 / 0", ["Traceback (most recent call last):", "ZeroDivisionError: division by zero"]),
    ],
)
def test_a_failing_job_says_why_on_the_terminal_and_in_its_log(tmp_path, body, lines):
    log = tmp_path / "logs/job.log"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(log=log, body=body)],
        env={**os.environ, "PYTHONPATH": str(files.Path(files.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    for text in (done.stderr, log.read_text()):
        printed = text.splitlines()
        assert (printed[0], printed[-1]) == (lines[0], lines[-1])
