"""Sentences in which a predicate and its arguments are marked, one JSON object a line:

    {"id": str, "text": str, "predicate": [s, e),
     "arguments": [{"span": [s, e), "role": str}, ...]}

Spans are in characters. Beside the lines lies a sidecar that says what they were made from and
what was left out.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bertshift.data import framenet
from bertshift.data.provenance import GENERATED, ORIGINS
from bertshift.data.text_file import check_columns, read_lines, read_records
from bertshift.errors import UserError
from bertshift.files import read_jsonl, sha256, write_json, write_jsonl

ROWS, SIDECAR = "relations.jsonl", "relations.json"
# The columns of a table of FrameNet's sentences that are read: spans are pairs of numbers, those
# of links in JSON.
TABLE = ["id", "sentence", "target_start", "target_end", "link_spans_json"]


def prepare_relations(source: Path, directory: Path, origin: str) -> dict:
    """Write `directory`/relations.jsonl and, last, its sidecar, which is returned.

    source: FrameNet, as a folder or archive; or sentences, as JSON lines of the form above (an id
    is optional) or as a table of TABLE. origin: the configuration's data.source. Raises UserError
    where that is not what the source holds.
    """
    rows, left_out = _read(source)
    for row in rows:
        _check(row, source)
    if not rows:
        raise UserError(f"{source} has no sentence that can be used; add some or fetch it again.")
    index = source / "luIndex.xml" if source.is_dir() else source
    name = source.name.partition(".")[0]
    sidecar = {
        "name": name,
        "source": f"{origin}:{source.name}",
        "source_sha256": {index.name: sha256(index)},
        "licence": _licence(source, origin),
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


def _read(source: Path) -> tuple[list[dict], Counter]:
    if source.suffix == ".jsonl":
        return [
            {"id": str(number)} | row for number, (_, row) in enumerate(read_records(source))
        ], Counter()
    if source.suffix == ".tsv":
        return list(_table_rows(source)), Counter()
    return framenet.select(source)


def _table_rows(source: Path) -> Iterator[dict]:
    """Yield the rows of a table as csv and pandas write it: cells with quotation marks are quoted
    and double them."""
    lines = enumerate(read_lines(source), 1)
    header = _cells(*next(lines), source)
    check_columns(source, header, TABLE, f"write the columns {', '.join(TABLE)}")
    for number, line in lines:
        if not line:
            continue
        cells = _cells(number, line, source)
        if len(cells) != len(header):
            raise UserError(
                f"{source}:{number} has {len(cells)} cells under {len(header)} columns;"
                " correct it."
            )
        row = dict(zip(header, cells, strict=True))
        try:
            links = [{"span": span, "role": "FE"} for span in json.loads(row["link_spans_json"])]
            target = [
                int(row[key]) for key in ("target_start", "target_end") if row[key].isdecimal()
            ]
        except (TypeError, ValueError):
            links = target = []
        yield {"id": row["id"], "text": row["sentence"], "predicate": target, "arguments": links}


def _cells(number: int, line: str, source: Path) -> list[str]:
    try:
        return next(csv.reader([line], delimiter="\t", strict=True), [])
    except csv.Error as error:
        raise UserError(
            f"{source}:{number} is no row of a table ({error}); write a cell with quotation marks"
            ' as csv does: "He said ""no"" ."'
        ) from None


def _check(row: dict, source: Path) -> None:
    """Raise UserError for a row that is not of the form above."""
    try:
        text, spans = row["text"], [row["predicate"], *(each["span"] for each in row["arguments"])]
        kinds = {type(bound) for span in spans for bound in span}
        good = (
            isinstance(row["id"], str | int)
            and isinstance(text, str)
            and kinds == {int}
            and len(spans) > 1
        )
        good = good and all(
            0 <= start < end <= len(text) and text[start:end].strip() for start, end in spans
        )
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        form = (
            '{"id", "text", "predicate": [start, end], "arguments": [{"span": [start, end],'
            ' "role"}]}'
        )
        raise UserError(
            f"{source}: sentence {row.get('id')!r} does not mark a predicate and arguments inside"
            " its text; write "
            + (", ".join(TABLE) if source.suffix == ".tsv" else form)
            + ", spans in characters."
        )


def _licence(source: Path, origin: str) -> str:
    if source.suffix == ".jsonl":
        return "generated" if origin == GENERATED else "as its owner says"
    return framenet.LICENCE
