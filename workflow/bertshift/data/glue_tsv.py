import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bertshift.data.text_file import check_columns, describe_width, read_cells, read_table
from bertshift.errors import UserError

# `float` takes more: 3_8, or digits of other scripts.
NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")


def read(path: Path, spec: Mapping) -> tuple[Iterator[dict], Counter]:
    """Read the rows of a GLUE TSV, and count the lines dropped, by reason, and the cells unquoted.
    The count is complete once all rows are read.

    Lines are split at tabs, and a quotation mark is a character like any other. Only a file that
    csv or pandas wrote is read by their rules (`read_table`), unless `spec["literal_quotes"]`
    forbids it. Columns are found by the names in `spec["columns"]`; `spec["header"]` names the
    columns of a file without a header line.

    UserError, naming file and line, for a missing or repeated column, an unknown label or score,
    and for more lines with a wrong number of columns than `spec["tolerate_malformed"]`.
    """
    dropped = Counter()
    return _read_rows(path, spec, dropped), dropped


def _read_rows(path: Path, spec: Mapping, dropped: Counter) -> Iterator[dict]:
    read = read_cells if spec.get("literal_quotes") else read_table
    table = read(path, dropped)
    header = spec.get("header") or next(table)[1]
    columns = spec["columns"].values()
    check_columns(
        path, header, columns, "correct it, or `columns` of the data set in the catalogue"
    )
    malformed = []
    for number, cells in table:
        if len(cells) != len(header):
            malformed.append(f"{path}:{number} {describe_width(cells, header)}")
            continue
        fields = dict(zip(header, cells, strict=True))
        row = example(fields, spec["columns"], spec, f"{path}:{number}")
        if row is None:
            dropped["without a label"] += 1
        else:
            yield row
    if len(malformed) > spec.get("tolerate_malformed", 0):
        raise UserError(
            f"{malformed[0]} ({len(malformed)} such lines in all); correct them or fetch the file"
            " again."
        )
    if malformed:
        dropped["malformed lines"] = len(malformed)


def example(fields: Mapping, columns: Mapping[str, str], spec: Mapping, where: str) -> dict | None:
    """Make one row {text_a, text_b (pairs), label}, or None where the label is one of
    `spec["unlabelled"]`.

    `spec["labels"]` maps the source's labels to names; without `labels` the label is a number that
    must lie within `spec["range"]`. Error messages begin with `where`, the row's origin.
    """
    texts = {key: fields[column] for key, column in columns.items() if key != "label"}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise UserError(
                f"{where} has no text in column {columns[key]!r}; correct it or fetch the data"
                " again."
            )
    raw = str(fields[columns["label"]])
    if raw in spec.get("unlabelled", ()):
        return None
    if spec.get("labels"):
        label = _parse_class(raw, spec["labels"], where)
    else:
        label = _parse_score(raw, spec["range"], where)
    return {**texts, "label": label}


def _parse_class(raw: str, labels: Mapping[str, str], where: str) -> str:
    if raw in labels:
        return labels[raw]
    if raw in labels.values():
        return raw
    if raw.strip() in {*labels, *labels.values()}:
        raise UserError(
            f"{where} has a blank before or after its label, {raw!r}; delete it, or add the label"
            " to `labels` of the data set in the catalogue as it is."
        )
    raise UserError(
        f"{where} has the unknown label {raw!r}, expected one of {', '.join(labels)}; "
        "correct it, or add the label to `labels` of the data set in the catalogue."
    )


def _parse_score(raw: str, bounds: tuple[float, float], where: str) -> float:
    low, high = bounds
    score = float(raw) if NUMBER.fullmatch(raw) else math.nan
    if not low <= score <= high:
        raise UserError(
            f"{where} has the score {raw!r}, expected a number from {low} to {high}; correct it or"
            " fetch the data again."
        )
    return score
