"""The charts of a figure's table that a reader can explore: values over layers, and maps of layers
and heads."""

from collections.abc import Mapping, Sequence
from itertools import product

import pandas as pd

from bertshift.measures import MEASURES, OF_DUMPS
from bertshift.naming import pair_name
from bertshift.rows import labelling, nulls, statistics
from bertshift.rows.nulls import model_of, null_of

# Columns that distinguish the rows of a table; a reader chooses one value of each.
DIMENSIONS = {
    "statistic": "Statistic",
    "quantity": "Quantity",
    "panel": "Panel of the figure",
    "series": "Shown",
    "variant": "Variant",
    "stimuli": "Inputs",
    "kind": "Probe",
    "measure": "Measure",
    "split": "Split",
    "metric": "Score",
    "score": "Score",
    "tokens": "Tokens",
    "token": "Attention to",
    "when": "Fine-tuning",
    "matrix": "Matrix",
    "task": "Task",
    "share": "Share of the steps, in percent",
    "heads": "Head after an intermediate task",
    "archive": "Archive",
}
# Dimensions that the other dimensions may determine.
DETAILS = (
    "stimuli",
    "metric",
    "score",
    "variant",
    "series",
    "kind",
    "measure",
)
NAMES_MODELS = ("series", "panel", "model")
NULL, MAJORITY = "_null", "majority"
ALIKE = {"crop", "padded"}  # 1 means no change: less is drawn darker
OVER = ("layer", "position", "head")
# The role of a row: a measurement, the paper's number, a null or a baseline.
OURS, PUBLISHED, BESIDE = range(3)

# Measures by name, values of their columns, and values that several of them have.
WORDS = {
    **{name: measure.title for name, measure in OF_DUMPS.items()},
    **{value: words for measure in MEASURES.values() for value, words in measure.words.items()},
    "content": "content tokens",
    "all": "all tokens",
    "cls": "first token",
    "sep": "separators",
    "before": "before fine-tuning",
    "after": "after fine-tuning",
    "wiki": "Wikipedia",
    "distance": "distance",
    "delta": "difference to the plain model",
    "std": "standard deviation",
    "p25": "first quartile",
    "p50": "median",
    "p75": "third quartile",
    **labelling.SCORES,
}


def shown(value: float, digits: int = 4) -> float | None:
    """Round to the number of digits that the page shows; None where there is no number."""
    return None if pd.isna(value) else float(f"{value:.{digits}g}")


def in_words(value) -> str:
    """Write a value of one of DIMENSIONS for a reader."""
    if isinstance(value, float):
        return f"{value:g}"
    return WORDS.get(value) or labelling.label_of(str(value)).replace("_", " ")


def chart(
    table: pd.DataFrame,
    models: Sequence[str],
    layers: int | None = None,
    over: Sequence[str] = OVER,
) -> dict | None:
    """Select the rows of a figure's table over layers, or the next of `over`, and the choices
    between them; None if it has none.

    `models` are those that the figure shows; `layers`: the number of the published model. In the
    answer, `rows` are lists [line, role, x, column, value, low, high, replicates, run, values of
    several replicates, *index of each of `choices`' values]; an index of -1 means all;
    `column` is a head, or the other layer of a pair of layers; 0 is none.
    """
    table = _drop_examples(table, over)
    ours = table["source"] == "ours"
    x = next((key for key in over if _varies(table[ours], key)), None)
    if x is None:
        return None
    line = _find_line_column(table, models)
    table = table.assign(
        role=table["source"].map({"ours": OURS, "published": PUBLISHED}),
        **_read_as_text(table, [*DIMENSIONS, *NAMES_MODELS]),
    )
    for key in ("variant", "series"):
        if key in table and key != line:
            table = _mark_nulls(table, key)
    columns = [key for key in ("head", "ref_layer") if key != x and _varies(table[ours], key)]
    column = columns[0] if columns else None
    dimensions = _find_dimensions(table[table["role"] == OURS], line)
    if line:
        dimensions.append(line)
    rows = table[table["value"].notna() & _is_curve_or_map(table, x, column, dimensions)]
    if line:  # what lies beside a null is what lies beside its model
        is_null = nulls.is_null(rows[line].fillna(""))
        rows = rows[(rows["role"] != BESIDE) | ~is_null]
    ours = rows[rows["role"] == OURS]
    if ours.empty:
        return None
    # In the rows that are left, more columns may follow from others.
    choices = [_describe_choice(key, ours) for key in _find_dimensions(ours, line)]
    lines = list(ours[line].unique()) if line else [""]
    return {
        "x": x,
        "column": column,
        "layers": layers,
        "alike": "variant" in rows and set(rows["variant"]) <= ALIKE,
        "lines": list(map(_describe_line, lines)),
        "choices": choices,
        "rows": [
            _list_row(row, x, column, line, lines, choices) for row in rows.to_dict("records")
        ],
    }


def _drop_examples(table: pd.DataFrame, over: Sequence[str]) -> pd.DataFrame:
    """Leave out the maps of examples and, unless `over` has them, the steps of a training."""
    for key in ("weights", "step"):
        if key in table and key not in over:
            return table[:0]
    return table[table["query_token"].isna()] if "query_token" in table else table


def _varies(table: pd.DataFrame, key: str) -> bool:
    return key in table and (table[key] > 0).any() and table[key].nunique() > 1


def _read_as_text(table: pd.DataFrame, keys: Sequence[str]) -> dict[str, pd.Series]:
    """Read columns with names as text; empty where a row has no name."""
    texts = {}
    for key in keys:
        if key not in table:
            continue
        column = table[key]
        if pd.api.types.is_numeric_dtype(column):
            column = column.map("{:g}".format, na_action="ignore").astype(object)
        texts[key] = column.where(column.notna(), "")
    return texts


def _find_line_column(table: pd.DataFrame, models: Sequence[str]) -> str | None:
    """Find the column that names the model, or pair of models, of most rows; None if none does."""
    names = {*models, *(pair_name(*pair) for pair in product(models, repeat=2))}
    counts = {key: int(table[key].isin(names).sum()) for key in NAMES_MODELS if key in table}
    best = max(counts, key=counts.get, default=None)
    return best if best and counts[best] else None


def _mark_nulls(table: pd.DataFrame, key: str) -> pd.DataFrame:
    """Give nulls the name of their measurement, and baselines an empty name, with the role
    BESIDE."""
    is_null, is_baseline = table[key].str.endswith(NULL), table[key] == MAJORITY
    names = table[key].str.removesuffix(NULL).mask(is_baseline, "")
    roles = table["role"].mask(is_null | is_baseline, BESIDE)
    return table.assign(**{key: names, "role": roles})


def _find_dimensions(ours: pd.DataFrame, line: str | None) -> list[str]:
    """Find the dimensions that distinguish our rows and do not follow from the others."""
    keys = [key for key in DIMENSIONS if key in ours and key != line and ours[key].nunique() > 1]
    for detail in DETAILS:
        if detail not in keys:
            continue
        rest = [key for key in keys if key != detail]
        if line:
            rest.append(line)
        if rest and (ours.groupby(rest)[detail].nunique() <= 1).all():
            keys.remove(detail)
    return keys


def _is_curve_or_map(
    table: pd.DataFrame, x: str, column: str | None, dimensions: list[str]
) -> pd.Series:
    """Mark the rows of a map, or of a line of at least two points; published lines may have any
    number of points."""
    if column == "head":
        is_cell = table["head"] > 0
        is_map = is_cell & (table[x] > 0)  # in a map of heads a row without a layer is a baseline
    elif column:
        maps = table.loc[table[column] != table[x], "variant"].unique()
        is_cell = is_map = table["variant"].isin(maps)
    else:
        is_cell = is_map = pd.Series(False, table.index)
    rest = table[~is_cell]
    if dimensions:
        points = rest.groupby(dimensions)[x].transform("nunique")
    else:
        points = pd.Series(rest[x].nunique(), rest.index)
    is_line = points.reindex(table.index, fill_value=0) > 1
    return is_map | is_line | (~is_cell & (table["role"] != OURS))


def _describe_line(name: str) -> dict:
    """Describe a line; for a null, also its kind (`null`) and its model (`of`)."""
    line = {"name": name, "label": labelling.label_of(name)}
    null = null_of(name)
    if null:
        line |= {"null": null, "of": model_of(name)}
    return line


def _describe_choice(key: str, ours: pd.DataFrame) -> dict:
    values = list(ours[key].unique())
    return {
        "label": DIMENSIONS[key],
        "key": key,
        "values": values,
        "words": list(map(in_words, values)),
    }


def _list_row(
    row: Mapping, x: str, column: str | None, line: str | None, lines: list, choices: list
) -> list:
    def index_of(value, values: list) -> int:
        return values.index(value) if value in values else -1

    def count(value) -> int:
        return 0 if pd.isna(value) else int(value)

    run = row.get("run")
    replicates = row.get("each")
    return [
        index_of(row[line], lines) if line else 0,
        row["role"],
        int(row[x]),
        count(row[column]) if column else 0,
        shown(row["value"]),
        shown(row["low"]),
        shown(row["high"]),
        count(row["replicates"]),
        "" if pd.isna(run) else str(run),
        list(map(shown, statistics.each_of(replicates))) if isinstance(replicates, str) else [],
        *(index_of(row[choice["key"]], choice["values"]) for choice in choices),
    ]
