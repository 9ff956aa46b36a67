"""Summaries of the differences by layer or by head, shared by Figures 7 to 10 of BERT Goes to College."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.papers.college2020 import reinitialised_heads
from bertshift.papers.college2020.reinitialised_heads import CMAP

STATISTICS = ["count", "mean", "std", "min", "p25", "p50", "p75", "max"]
COLUMNS = ["panel", "series", "layer", "head", *numbers.VALUES]
BY = COLUMNS[:4]
COLOURED = [name for name in STATISTICS if name not in ("count", "std")]
EXACT = 0.00105  # the paper prints three decimals, some cut and some rounded
CALCULATED = "derived"


def summary(values: pd.Series) -> dict[str, float]:
    """Sample standard deviation (ddof 1; none of one value), linear quartiles."""
    quartiles = values.quantile([0.25, 0.5, 0.75])
    ends = {"min": values.min(), "max": values.max()}
    return {"count": float(len(values)), "mean": values.mean(), "std": values.std(), **ends} | dict(
        zip(["p25", "p50", "p75"], quartiles)
    )


def summaries(rows: pd.DataFrame, by: str, apart: list[str]) -> pd.DataFrame:
    """Long rows (`series` names the statistic) of `value` for each of `apart` and of `by` (layer or head)."""
    other = {"layer": "head", "head": "layer"}[by]
    found = [
        dict(zip([*apart, by], keys)) | {"series": name, other: 0, "value": value}
        for keys, group in rows.groupby([*apart, by], sort=False)
        for name, value in summary(group["value"]).items()
        if np.isfinite(value)
    ]
    return pd.DataFrame(found)


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str, of: str, by: str) -> pd.DataFrame:
    """Summaries of each replicate, averaged over replicates; the paper's figure `key`, as it is printed and as its
    differences, in its figure `of`, give it (provenance `derived`)."""
    rows = reinitialised_heads.deltas(inputs)
    made_from = ["panel", "init", "seed", "scale", "checkpoint", "data", "table"]
    mean = numbers.means(summaries(rows, by, made_from), BY, ["panel"])
    return numbers.join(mean, *printed(rows, published, key, of, by), columns=COLUMNS)


def printed(rows: pd.DataFrame, published: Mapping, key: str, of: str, by: str) -> Iterator[pd.DataFrame]:
    paper, entry, source = (published.get(name, {}) for name in ("paper", key, of))
    panels = [panel for panel in rows["panel"].unique() if style.task_of(panel) == entry.get("task")]
    for panel in panels[:1]:
        cells = [
            {"layer": int(name.removeprefix("layer_")), "head": head, "value": value}
            for name, values in source["rows"].items() for head, value in enumerate(values, 1)
        ]  # fmt: skip
        derived = summaries(pd.DataFrame(cells), by, []).to_dict("list")
        yield numbers.published(
            {"provenance": CALCULATED, "place": f"{entry['place']}, from {source['place']}"}, paper, panel=panel, **derived
        )  # fmt: skip
        if by == "layer":
            said = [(int(name.removeprefix("layer_")), 0, statistic, value) for name, values in entry["rows"].items()
                    for statistic, value in zip(entry["columns"], values, strict=True)]  # fmt: skip
        else:
            said = [(0, head, statistic, value) for statistic, values in entry["rows"].items()
                    for head, value in enumerate(values, 1)]  # fmt: skip
        columns = dict(zip(["layer", "head", "series", "value"], map(list, zip(*said, strict=True))))
        yield numbers.published(entry, paper, panel=panel, **columns)


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping, key: str, of: str, by: str) -> style.Drawn:
    """A table of ours and, below it, the paper's, shaped as in the paper: layers down, or heads across."""
    table = tidy(inputs, published, key, of, by)
    parts = []
    for panel, rows in table.groupby("panel", sort=False):
        parts.append((f"{style.label_of(panel)}, ours", rows[rows["source"] == "ours"], None))
        theirs = rows[rows["source"] == "published"]
        if len(theirs):
            is_derived = theirs["provenance"] == CALCULATED
            same = reinitialised_heads.comparable(rows)
            title = "Paper" + ("" if same else f"; other {by}s or another model, not comparable")
            parts.append((title, theirs[~is_derived], theirs[is_derived]))
    heights = [part[by].nunique() if by == "layer" else len(STATISTICS) for _, part, _ in parts]
    figure = Figure((style.TEXT_WIDTH, 0.5 * len(parts) + 0.24 * sum(heights)), layout="constrained")
    grid = figure.subplots(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axes, (title, part, derived) in zip(grid, parts, strict=True):
        draw_table(axes, part, derived, by)
        axes.set_title(title, loc="left", pad=3 if by == "head" else 14)
    return style.captioned(
        figure, table, corrections(table, by), reinitialised_heads.failures(reinitialised_heads.deltas(inputs))
    )  # fmt: skip


def draw_table(axes: Axes, part: pd.DataFrame, derived: pd.DataFrame | None, by: str) -> None:
    """The summaries of `part`; † where those of `derived` differ."""
    grid, other = (
        (part if rows is None else rows).pivot(index=by, columns="series", values="value").reindex(columns=STATISTICS)
        for rows in (part, derived)
    )  # fmt: skip
    wrong = (other - grid).abs() > EXACT
    texts = grid.apply(lambda column: [number(value, column.name) for value in column]) + wrong.replace(
        {True: " †", False: ""}
    )
    coloured = grid.assign(**{name: np.nan for name in STATISTICS if name not in COLOURED})
    across, down = STATISTICS, [f"layer {number}" for number in grid.index]
    if by == "head":
        coloured, texts, across, down = coloured.T, texts.T, list(map(str, grid.index)), STATISTICS
    largest = 1.3 * max(coloured.abs().max(axis=None), 1e-4)
    look = {"cmap": CMAP, "vmin": -largest, "vmax": largest, "edgecolors": "white"}
    grids.coloured_table(axes, coloured.to_numpy(float), across, down, 7, **look)
    for (y, x), text in np.ndenumerate(texts.to_numpy()):
        axes.text(x, y, text, ha="center", va="center", fontsize=7)


def number(value: float, statistic: str) -> str:
    if statistic == "count":
        return f"{value:g}"
    if not np.isfinite(value):
        return "–"
    text = reinitialised_heads.short(value)
    if text == "0" and round(value, 5):
        text = f"{value:.5f}".rstrip("0").replace("0.", ".", 1).replace("-", "−")
    return text


def wrong(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's cells that its own differences do not give, with `derived`, what they give."""
    theirs = table[table["source"] == "published"]
    derived = theirs[theirs["provenance"] == CALCULATED][[*BY, "value"]].rename(columns={"value": "derived"})
    both = theirs[theirs["provenance"] != CALCULATED].merge(derived, on=BY)
    return both[(both["value"] - both["derived"]).abs() > EXACT]


def corrections(table: pd.DataFrame, by: str) -> str:
    cells = [
        f"{row.series} of {by} {getattr(row, by)} {row.derived:.4f}".replace("-", "−")
        for row in wrong(table).itertuples()
    ]
    return f"† Not what the paper's differences give: {', '.join(cells)}." if cells else ""
