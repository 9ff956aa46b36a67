"""Read a labelling sheet that a person has corrected."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.errors import UserError
from bertshift.patterns.classes import CLASSES, FEATURES, PERSON, PLACE, PROPOSED, SOURCES

# The largest difference of a map's features between machines; beyond it the map is another one
# than the person looked at.
MOVED = 0.05


def read_labels(path: Path, sheet: pd.DataFrame) -> pd.DataFrame:
    """Return `sheet` with the labels of `path`, its corrected copy, whose rows may have any
    order.

    A label that is not the proposed one is a person's, and so is one whose `source` says person:
    looked at and agreed with. UserError, with the line, for a label that is not a class, a map
    that the sheet lacks, has twice or has as another, and for maps left out.
    """
    maps = {row["map"]: row for row in sheet.to_dict("records")}
    read = {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t")
        if lacking := {"map", "label", *PLACE, *FEATURES} - set(reader.fieldnames or ()):
            raise UserError(
                f"{path}:1 lacks the columns {', '.join(sorted(lacking))}; correct a copy of the"
                " sheet's table."
            )
        for row in reader:
            number, label, source = _read_row(row, maps, f"{path}:{reader.line_num}")
            if number in read:
                raise UserError(
                    f"{path}:{reader.line_num}: map {number} stands there twice; keep one row."
                )
            read[number] = label, source
        last = reader.line_num
    if missing := [str(number) for number in maps if number not in read]:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise UserError(
            f"{path}:{last} ends without map {', '.join(missing[:5])}{more}; keep every row of the"
            " sheet's table."
        )
    labels = np.array([read[number][0] for number in sheet["map"]])
    sources = np.array([read[number][1] for number in sheet["map"]])
    is_person = (sources == PERSON) | (labels != sheet["proposed"])
    return sheet.assign(label=labels, source=np.where(is_person, PERSON, PROPOSED))


def _read_row(row: dict, maps: dict[int, dict], where: str) -> tuple[int, str, str]:
    """Read the number, label and source of a map. UserError where it is not the sheet's map of
    this number."""
    number = int(row["map"]) if (row["map"] or "").strip().isdecimal() else None
    if number not in maps:
        raise UserError(
            f"{where}: the sheet has no map {row['map']!r}; write its number, 1 to {len(maps)}."
        )
    label = (row["label"] or "").strip()
    source = (row.get("source") or PROPOSED).strip()
    if label not in CLASSES:
        raise UserError(
            f"{where}: label {label!r} is not a class; write one of {', '.join(CLASSES)}."
        )
    if source not in SOURCES:
        raise UserError(f"{where}: source {source!r} is neither; write {' or '.join(SOURCES)}.")
    expected = maps[number]
    try:
        features = [float(row[feature] or "nan") for feature in FEATURES]
    except ValueError:
        raise UserError(
            f"{where}: {', '.join(FEATURES)} must stay the numbers that they are in the sheet."
        ) from None
    expected_features = np.array([expected[feature] for feature in FEATURES])
    differences = np.abs(features - expected_features)
    is_same_map = all(row[key] == str(expected[key]) for key in PLACE)
    if not is_same_map or not (differences <= MOVED).all():
        raise UserError(
            f"{where}: map {number} is another map now, as models or inputs are others than when"
            " it was labelled; label a copy of the present sheet."
        )
    return number, label, source
