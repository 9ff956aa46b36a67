"""Every format's reader on small files: what is read, and what a damaged file says."""

from importlib import import_module
from pathlib import Path

import pytest
import yaml

from bertshift.data import plain_text
from bertshift.errors import UserError

CASES = yaml.safe_load(Path(__file__).with_name("formats.yaml").read_text(encoding="utf-8"))


def read(case, folder):
    path, text = folder / "train.tsv", case["text"]
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    rows, counts = import_module(f"bertshift.data.{case['reader']}").read(
        path, case.get("spec", {})
    )
    return list(rows), +counts


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_read_or_its_fault_is_named(name, tmp_path):
    case = CASES[name]
    if "error" in case:
        with pytest.raises(UserError, match=case["error"]):
            read(case, tmp_path)
    else:
        assert read(case, tmp_path) == (case["rows"], case.get("counts", {}))


@pytest.mark.parametrize(
    "text",
    [
        "Mr. J. R. Smith paid $3.50 to St. Mary on Jan. 5. | He left.",
        "He moved to the U.S. Army base. | It was in the U.S. | The base closed.",
        'She said "Stop!" | Then she left. | "Why?" | (Nobody knew.)',
        "It grew (cf. No. 7, e.g. Fig. 2). | In 1999 it fell. | 1999 was dry.",
        "Was it? | Yes! | Maybe... | Élan counts too.",
    ],
)
def test_sentences_end_where_a_reader_says(text):
    sentences = text.split(" | ")
    assert plain_text.split_sentences(" ".join(sentences)) == sentences
