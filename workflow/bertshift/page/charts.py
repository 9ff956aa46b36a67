"""The charts of a figure's table that a reader can explore: values over layers, and maps of layers
and heads."""

from collections.abc import Mapping, Sequence

import pandas as pd

from bertshift.naming import pair_name
from bertshift.rows import labelling, statistics
from bertshift.rows.nulls import model_of, null_of

# Columns that tell rows of one table apart; a reader chooses one value of each.
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
# May follow from the others.
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
ALIKE = {"crop", "padded"}  # 1 is no change: less is drawn darker
OVER = ("layer", "position", "head")
# The role of a row: a measurement, the paper's number, a null or a baseline beside it.
OURS, PUBLISHED, BESIDE = range(3)

WORDS = {
    "js": "JS divergence of attention",
    "rsa": "RSA similarity",
    "svcca": "SVCCA distance",
    "nats": "nats",
    "bits": "bits",
    "svcca99": "SVCCA distance",
    "cca_full": "CCA of all directions",
    "cosine_distance": "cosine distance",
    "pwcca_reference": "PWCCA, weighted by the pretrained model",
    "pwcca_model": "PWCCA, weighted by the fine-tuned model",
    "cka_debiased": "CKA, debiased",
    "cka_biased": "CKA, biased",
    "procrustes": "Procrustes distance",
    "crop": "real tokens alone (crop)",
    "padded": "padded inputs",
    "content": "content tokens",
    "all": "all tokens",
    "cls": "first token",
    "sep": "separators",
    "sep_sum": "all separators together",
    "punct": "punctuation",
    "noun": "nouns",
    "verb": "verbs",
    "pron": "pronouns",
    "subj": "subjects",
    "obj": "objects",
    "neg": "negations",
    "received": "attention",
    "received_norm_share": "attention times the length of the value",
    "from_cls": "attention of the first token",
    "own": "by the layer's own weights",
    "inherited": "by its input",
    "total": "by both",
    "before": "before fine-tuning",
    "after": "after fine-tuning",
    "across": "fine-tuned with pretrained",
    "uniform": "disabled",
    "none": "nothing disabled",
    "wiki": "Wikipedia",
    "reinit": "re-initialised",
    "distance": "distance",
    "singular": "singular values",
    "norm": "norm of the change",
    "intruders": "intruder dimensions",
    "micro_all": "F1",
    "delta": "difference to the plain model",
    "max_fe_to_lu": "largest weight to the predicate",
    "code_zip": "as the paper's notebook calculates",
    "null_99": "99th percentile of the null",
    "std": "standard deviation",
    "p25": "first quartile",
    "p50": "median",
    "p75": "third quartile",
    "uuas": "undirected attachments",
    "root_accuracy": "roots found",
    **labelling.SCORES,
}


def shown(value: float, digits: int = 4) -> float | None:
    """Round to as many digits as a reader sees; None where there is no number."""
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

    `models` are those that the figure shows; `layers`: how many the published model has. In the
    answer, `rows` are lists [line, role, x, column, value, low, high, replicates, run, values of
    several replicates, *index of each of `choices`' values]; an index of -1 stands for all;
    `column` is a head, or the other layer of a pair of layers; 0 is none.
    """
    table = _without_examples(table, over)
    ours = table["source"] == "ours"
    x = next((key for key in over if _varies(table[ours], key)), None)
    if x is None:
        return None
    line = _names_models(table, models)
    table = table.assign(
        role=table["source"].map({"ours": OURS, "published": PUBLISHED}),
        **_text(table, [*DIMENSIONS, *NAMES_MODELS]),
    )
    for key in ("variant", "series"):
        if key in table and key != line:
            table = _beside(table, key)
    column = next(
        (key for key in ("head", "ref_layer") if key != x and _varies(table[ours], key)), None
    )
    apart = [*_kept(table[table["role"] == OURS], line), *([line] if line else [])]
    rows = table[table["value"].notna() & _over(table, x, column, apart)]
    if line:  # the null of a null is its model's
        rows = rows[(rows["role"] != BESIDE) | (rows[line].fillna("").map(null_of) == "")]
    if not (rows["role"] == OURS).any():
        return None
    # In the rows that are left, more columns may follow from others.
    choices = [
        _choice(key, rows[rows["role"] == OURS]) for key in _kept(rows[rows["role"] == OURS], line)
    ]
    lines = list(rows.loc[rows["role"] == OURS, line].unique()) if line else [""]
    return {
        "x": x,
        "column": column,
        "layers": layers,
        "alike": "variant" in rows and set(rows["variant"]) <= ALIKE,
        "lines": list(map(_line, lines)),
        "choices": choices,
        "rows": [_row(row, x, column, line, lines, choices) for row in rows.to_dict("records")],
    }


def _without_examples(table: pd.DataFrame, over: Sequence[str]) -> pd.DataFrame:
    """Leave out the maps of examples and, if they are not asked for, the steps of a training."""
    if {"weights", "step"} & {*table} - {*over}:
        return table[:0]
    return table[table["query_token"].isna()] if "query_token" in table else table


def _varies(table: pd.DataFrame, key: str) -> bool:
    return key in table and (table[key] > 0).any() and table[key].nunique() > 1


def _text(table: pd.DataFrame, keys: Sequence[str]) -> dict[str, pd.Series]:
    """Read columns that name something as text; empty where a row has no name."""
    found = {key: table[key] for key in keys if key in table}
    return {
        key: (
            one.where(one.notna(), "")
            if one.dtype == object or not pd.api.types.is_numeric_dtype(one)
            else one.map(lambda number: "" if pd.isna(number) else f"{number:g}")
        )
        for key, one in found.items()
    }


def _names_models(table: pd.DataFrame, models: Sequence[str]) -> str | None:
    """Find the column that says which model, or pair of models, a row is about."""
    known = {*models, *(pair_name(one, other) for one in models for other in models)}
    counts = {key: int(table[key].isin(known).sum()) for key in NAMES_MODELS if key in table}
    best = max(counts, key=counts.get, default=None)
    return best if best and counts[best] else None


def _beside(table: pd.DataFrame, key: str) -> pd.DataFrame:
    """Put nulls under the name of what they are the null of, and baselines under every name, with
    the role BESIDE."""
    null, majority = table[key].str.endswith(NULL), table[key] == MAJORITY
    names = table[key].str.removesuffix(NULL).mask(majority, "")
    return table.assign(**{key: names, "role": table["role"].mask(null | majority, BESIDE)})


def _kept(ours: pd.DataFrame, line: str | None) -> list[str]:
    """Find the dimensions that tell our rows apart and do not follow from the others."""
    kept = [key for key in DIMENSIONS if key in ours and key != line and ours[key].nunique() > 1]
    for key in DETAILS:
        others = [other for other in [*kept, *([line] if line else [])] if other != key]
        if key in kept and others and (ours.groupby(others)[key].nunique() <= 1).all():
            kept.remove(key)
    return kept


def _over(table: pd.DataFrame, x: str, column: str | None, by: list[str]) -> pd.Series:
    """Mark the rows of a map, or of a line of at least two places; published lines may have any
    number of places."""
    cell = table[column] > 0 if column == "head" else pd.Series(column is not None, table.index)
    if column and column != "head":
        cell &= table["variant"].isin(table.loc[table[column] != table[x], "variant"])
    places = table[~cell].groupby(by)[x].transform("nunique") if by else table[~cell][x].nunique()
    long = pd.Series(places, table.index[~cell]).reindex(table.index, fill_value=0) > 1
    # In a map of heads a row without a layer is a baseline.
    return (
        (cell & (table[x] > 0 if column == "head" else True))
        | long
        | (~cell & (table["role"] != OURS))
    )


def _line(name: str) -> dict:
    """Describe a line: for noise, also which `null` it is and of which model."""
    line = {"name": name, "label": labelling.label_of(name)}
    null = null_of(name)
    return line | {"null": null, "of": model_of(name)} if null else line


def _choice(key: str, ours: pd.DataFrame) -> dict:
    values = list(ours[key].unique())
    return {
        "label": DIMENSIONS[key],
        "key": key,
        "values": values,
        "words": [in_words(value) for value in values],
    }


def _row(
    row: Mapping, x: str, column: str | None, line: str | None, lines: list, choices: list
) -> list:
    places = [
        each["values"].index(row[each["key"]]) if row[each["key"]] in each["values"] else -1
        for each in choices
    ]
    run = row.get("run")
    return [
        (lines.index(row[line]) if row[line] in lines else -1) if line else 0,
        row["role"],
        int(row[x]),
        int(row[column]) if column and not pd.isna(row[column]) else 0,
        *(shown(row[key]) for key in ("value", "low", "high")),
        0 if pd.isna(row["replicates"]) else int(row["replicates"]),
        "" if run is None or pd.isna(run) else str(run),
        (
            list(map(shown, statistics.each_of(row["each"])))
            if isinstance(row.get("each"), str)
            else []
        ),
        *places,
    ]
