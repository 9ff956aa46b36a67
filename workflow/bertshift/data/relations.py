"""Sentences in which a predicate and its arguments are marked, one JSON object a line:

    {"id": str, "text": str, "predicate": [s, e),
     "arguments": [{"span": [s, e), "role": str}, ...]}

Spans are in characters. A sidecar next to the lines names their source and counts the sentences
left out.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bertshift.data import framenet
from bertshift.data.provenance import GENERATED, ORIGINS
from bertshift.data.text_file import (
    check_columns,
    describe_width,
    read_csv,
    read_records,
    separator_of,
)
from bertshift.errors import UserError
from bertshift.files import read_jsonl, sha256, write_json, write_jsonl

ROWS, SIDECAR = "relations.jsonl", "relations.json"
TABLES = (".tsv", ".csv")  # endings
# The columns that are read of a table of FrameNet's sentences. link_spans_json holds pairs of
# numbers.
TABLE = ["id", "sentence", "target_start", "target_end", "link_spans_json"]
FORM = '{"id", "text", "predicate": [start, end], "arguments": [{"span": [start, end], "role"}]}'


def prepare_relations(source: Path, directory: Path, origin: str) -> dict:
    """Write `directory`/relations.jsonl and, last, its sidecar, which is returned.

    source: FrameNet, as a folder or archive; or sentences, as JSON lines of the form above (an id
        is optional) or as a table with the columns TABLE
    origin: the configuration's data.source

    UserError for any other source.
    """
    rows, left_out = _read_rows(source)
    for row in rows:
        _check_row(row, source)
    if not rows:
        raise UserError(f"{source} has no sentence that can be used; add some or fetch it again.")
    index = source / "luIndex.xml" if source.is_dir() else source
    name = source.name.partition(".")[0]
    sidecar = {
        "name": name,
        "source": f"{origin}:{source.name}",
        "source_sha256": {index.name: sha256(index)},
        "licence": _find_licence(source, origin),
        "sentences": len(rows),
        "arguments": sum(len(row["arguments"]) for row in rows),
        "left_out": dict(sorted(left_out.items())),
        "data": f"{name} {len(rows)} sentences ({ORIGINS[origin]})",
    }
    (directory / SIDECAR).unlink(missing_ok=True)
    write_jsonl(directory / ROWS, rows)
    write_json(directory / SIDECAR, sidecar)
    return sidecar


def read_relations(directory: Path) -> list[dict]:
    return list(read_jsonl(directory / ROWS))


def _read_rows(source: Path) -> tuple[list[dict], Counter]:
    ending = source.suffix.lower()
    if ending == ".jsonl":
        rows = [row for _, row in read_records(source)]
        return [{"id": str(number)} | row for number, row in enumerate(rows)], Counter()
    if ending in TABLES:
        return list(_read_table_rows(source)), Counter()
    return framenet.select(source)


def _read_table_rows(source: Path) -> Iterator[dict]:
    separator = separator_of(source)
    table = read_csv(source, Counter(), separator)
    _, header = next(table)
    check_columns(source, header, TABLE, f"write the columns {', '.join(TABLE)}", separator)
    for number, cells in table:
        if len(cells) != len(header):
            raise UserError(f"{source}:{number} {describe_width(cells, header)}; correct it.")
        row = dict(zip(header, cells, strict=True))
        bounds = row["target_start"], row["target_end"]
        try:
            links = [{"span": span, "role": "FE"} for span in json.loads(row["link_spans_json"])]
            target = [int(bound) for bound in bounds if bound.isdecimal()]
        except (TypeError, ValueError):
            links = target = []  # `_check_row` refuses such a row
        yield {"id": row["id"], "text": row["sentence"], "predicate": target, "arguments": links}


def _check_row(row: dict, source: Path) -> None:
    """Raise UserError for a row that is not of the form above."""
    try:
        valid = _is_valid(row)
    except (KeyError, TypeError, ValueError):
        valid = False
    if not valid:
        form = ", ".join(TABLE) if source.suffix.lower() in TABLES else FORM
        raise UserError(
            f"{source}: sentence {row.get('id')!r} does not mark a predicate and arguments inside"
            f" its text; write {form}, spans in characters."
        )


def _is_valid(row: dict) -> bool:
    text = row["text"]
    spans = [row["predicate"], *(argument["span"] for argument in row["arguments"])]
    if not isinstance(row["id"], str | int) or not isinstance(text, str) or len(spans) < 2:
        return False
    if any(type(bound) is not int for span in spans for bound in span):
        return False
    for start, end in spans:
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            return False
    return True


def _find_licence(source: Path, origin: str) -> str:
    if source.suffix.lower() == ".jsonl":
        return "generated" if origin == GENERATED else "as its owner says"
    return framenet.LICENCE
