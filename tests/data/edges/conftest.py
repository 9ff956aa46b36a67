from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path):
    """Call it with a name and a text for the path of such a file; runs of spaces in rows become tabs on request."""

    def write(name: str, text: str, tabs: bool = False) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if tabs:
            text = "\n".join(
                line if line.startswith("#") else "\t".join(line.split()) for line in text.split("\n")
            )
        path.write_text(text, encoding="utf-8", newline="\n")
        return path

    return write


@pytest.fixture
def brief():
    """Call it with a record for its targets as (label, span1, [span2])."""

    def short(record: dict) -> list[tuple]:
        return [
            (each["label"], *(tuple(each[name]) for name in ("span1", "span2") if name in each))
            for each in record["targets"]
        ]

    return short
