"""A labelling sheet as a person gives it back."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.errors import UserError
from bertshift.patterns.classes import CLASSES, FEATURES, PERSON, PLACE, PROPOSED, SOURCES

# A map's features may move by so much on another machine before it is another map than the one
# that was looked at.
MOVED = 0.05


def read_labels(path: Path, sheet: pd.DataFrame) -> pd.DataFrame:
    """Return `sheet` with the labels of `path`, its corrected copy, whose rows may stand in any
    order.

    A label that is not the proposed one is a person's, and so is one whose `source` says person:
    looked at and agreed with. UserError, with the line, for a label that is no class, a map that
    the sheet lacks, has twice or has as another, and for maps left out.
    """
    known, found = {row.map: row for row in sheet.itertuples()}, {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t")
        if lacking := {"map", "label", *PLACE, *FEATURES} - set(reader.fieldnames or ()):
            raise UserError(
                f"{path}:1 lacks the columns {', '.join(sorted(lacking))}; correct a copy of the"
                " sheet's table."
            )
        for row in reader:
            number, label, source = _read(row, known, f"{path}:{reader.line_num}")
            if number in found:
                raise UserError(
                    f"{path}:{reader.line_num}: map {number} stands there twice; keep one row."
                )
            found[number] = label, source
        last = reader.line_num
    if missing := [str(number) for number in known if number not in found]:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise UserError(
            f"{path}:{last} ends without map {', '.join(missing[:5])}{more}; keep every row of the"
            " sheet's table."
        )
    labels, sources = zip(*(found[number] for number in sheet["map"]), strict=True)
    person = (np.array(sources) == PERSON) | (np.array(labels) != sheet["proposed"])
    return sheet.assign(label=labels, source=np.where(person, PERSON, PROPOSED))


def _read(row: dict, known: dict, where: str) -> tuple[int, str, str]:
    number = int(row["map"]) if (row["map"] or "").strip().isdecimal() else None
    if number not in known:
        raise UserError(
            f"{where}: the sheet has no map {row['map']!r}; write its number, 1 to {len(known)}."
        )
    label, source = (row["label"] or "").strip(), (row.get("source") or PROPOSED).strip()
    if label not in CLASSES:
        raise UserError(
            f"{where}: label {label!r} is no class; write one of {', '.join(CLASSES)}."
        )
    if source not in SOURCES:
        raise UserError(f"{where}: source {source!r} is neither; write {' or '.join(SOURCES)}.")
    one = known[number]
    try:
        moved = np.abs(
            [float(row[feature] or "nan") - getattr(one, feature) for feature in FEATURES]
        ).max()
    except ValueError:
        raise UserError(
            f"{where}: {', '.join(FEATURES)} must stay the numbers that they are in the sheet."
        ) from None
    if any(row[key] != str(getattr(one, key)) for key in PLACE) or not moved <= MOVED:
        raise UserError(
            f"{where}: map {number} is another map now, as models or inputs are others than when"
            " it was labelled; label a copy of the present sheet."
        )
    return number, label, source
