"""Sentences in which a predicate and its arguments are marked, one JSON object a line:

    {"id": str, "text": str, "predicate": [s, e), "arguments": [{"span": [s, e), "role": str}, ...]}

Spans are in characters. Beside the lines lies a sidecar that says what they were made from and what was left out.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bertshift.data import framenet
from bertshift.data.provenance import GENERATED, ORIGINS
from bertshift.errors import UserError
from bertshift.files import read_jsonl, read_tsv, sha256, write_json, write_jsonl

ROWS, SIDECAR = "relations.jsonl", "relations.json"
# The columns of a table of FrameNet's sentences that are read: spans are pairs of numbers, those of links in JSON.
TABLE = ["id", "sentence", "target_start", "target_end", "link_spans_json"]


def prepare_relations(source: Path, directory: Path, origin: str) -> dict:
    """Write `directory`/relations.jsonl and, last, its sidecar, which is returned.

    source: FrameNet, as a folder or archive; or sentences, as JSON lines of the form above (an id is optional) or as a
    table of TABLE. origin: the configuration's data.source. Raises UserError where that is not what the source holds.
    """
    rows, left_out = _read(source)
    for row in rows:
        _check(row, source)
    if not rows:
        raise UserError(f"{source} has no sentence that can be used; fetch it again.")
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
        return [{"id": str(number)} | row for number, row in enumerate(read_jsonl(source))], Counter()
    if source.suffix == ".tsv":
        return list(_table_rows(source)), Counter()
    return framenet.select(source)


def _table_rows(source: Path) -> Iterator[dict]:
    table = read_tsv(source)
    if missing := set(TABLE) - set(table):
        raise UserError(f"{source} lacks the column {min(missing)!r}; its columns are {', '.join(TABLE)}.")
    for number, sentence, start, end, links in table[TABLE].itertuples(index=False):
        arguments = [{"span": span, "role": "FE"} for span in json.loads(links)]
        yield {
            "id": str(number),
            "text": sentence,
            "predicate": [int(start), int(end)],
            "arguments": arguments,
        }


def _check(row: dict, source: Path) -> None:
    """UserError for a row that is not of the form above."""
    try:
        spans = [row["predicate"], *(each["span"] for each in row["arguments"])]
        good = len(spans) > 1 and all(
            0 <= start < end <= len(row["text"]) and row["text"][start:end].strip() for start, end in spans
        )
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        raise UserError(
            f"{source}: sentence {row.get('id')!r} does not mark a predicate and arguments inside its text; write "
            '{"id", "text", "predicate": [start, end], "arguments": [{"span": [start, end], "role"}]}.'
        )


def _licence(source: Path, origin: str) -> str:
    if source.suffix == ".jsonl":
        return "generated" if origin == GENERATED else "as its owner says"
    return framenet.LICENCE
