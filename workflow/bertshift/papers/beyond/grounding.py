"""Rank correlations of the distance between models with the difference in their behaviour, over
pairs of runs, task by task."""

import math
import textwrap
from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bertshift.figures import grids, numbers, style
from bertshift.papers.beyond.labels import STATES
from bertshift.rows import grounding, labelling
from bertshift.rows.provenance import joined
from bertshift.rows.table import Table

LEVEL = 0.05
MEASURES = STATES | {
    "js": "JS of attention",
    "cosine": "cosine of attention",
}
SUMMARIES = ("last", "mean")
COLUMNS = [
    "panel",
    "series",
    "variant",
    "summary",
    "behaviour",
    "value",
    "p",
    "q",
    "runs",
    "pairs",
    "orders",
    "p_within",
    "orders_within",
    *numbers.VALUES[1:],
]
OVER = (
    (
        "Spearman's ρ of the distance of two runs (last layer; mean over layers) with their"
        " difference in behaviour"
    ),
    "* p ≤ .05, permuting kinds and seeds    ** false discovery rate ≤ .05",
)
LETTERS = 16  # of these lines in an inch
ACROSS = 2  # panels side by side
LABELS, PANEL, ROW, HEADER, LINE = 1.2, 2.8, 0.21, 0.75, 0.16  # inches


def tidy(inputs: Mapping[str, Table]) -> pd.DataFrame:
    """Tabulate a row for each task, measure, summary of layers and difference in behaviour. It has
    rho (`value`), its p and q, the numbers of `runs`, `pairs` and `orders` of the runs behind
    them, and p and orders of seeds alone."""
    parts = []
    for path, table in inputs.items():
        name = path.removeprefix("results/grounding/").removesuffix(".tsv")
        rows = grounding.tracking(table.rows).rename(columns={"rho": "value"})
        rows = rows.assign(
            panel=name,
            series=name,
            table=path,
            replicates=table["init"].nunique(),
            unit="pretraining run",
            interval="none",
            low=np.nan,
            high=np.nan,
            source="ours",
            provenance="measured",
            **joined(table.rows),
        )
        parts.append(rows)
    return numbers.join(*parts, columns=COLUMNS)


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a panel for each task: measures down, differences in behaviour across. Each difference
    is shown in the last layer and as the mean over layers."""
    table = tidy(inputs)
    panels = list(table.groupby("panel", sort=False))
    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    width = LABELS + PANEL * across
    title = [line for text in OVER for line in textwrap.wrap(text, int(width * LETTERS))]
    height = LINE * len(title) + (HEADER + ROW * len(MEASURES)) * down
    figure, grid = style.grid(height, down, across, width)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for number, (axes, (name, rows)) in enumerate(zip(grid.flat, panels)):
        _draw_panel(axes, name, rows, has_labels=number % across == 0)
    figure.suptitle("\n".join(title), fontsize=8)
    return style.captioned(figure, table, _chance_note(table), style.failures(table))


def _chance_note(table: pd.DataFrame) -> str:
    tests = table["orders"].map(_is_testable).sum()
    if not tests:
        return ""
    return f"Of {tests} correlations {LEVEL * tests:.0f} would have one star by chance."


def _is_testable(orders: int) -> bool:
    """Test whether p, which is 1 / orders or more, can be small enough for a star."""
    return orders * LEVEL >= 1


def _draw_panel(axes: Axes, name: str, rows: pd.DataFrame, has_labels: bool) -> None:
    measured = set(rows["behaviour"])
    behaviours = [behaviour for behaviour in grounding.BEHAVIOURS if behaviour in measured]
    columns = list(product(behaviours, SUMMARIES))
    cells = rows.set_index(["variant", "behaviour", "summary"])
    fills = np.zeros((len(MEASURES), len(columns)))
    for y, measure in enumerate(MEASURES):
        for x, (behaviour, summary) in enumerate(columns):
            cell = cells.loc[(measure, behaviour, summary)]
            fills[y, x] = cell["value"]
            text = _cell_text(cell)
            axes.text(x, y, text, ha="center", va="center", color="#000000", fontsize=7.5)
    look = {"cmap": grids.LOSS_TO_GAIN, "vmin": -1, "vmax": 1}
    summaries = [summary for _, summary in columns]
    labels = MEASURES.values() if has_labels else [""] * len(MEASURES)
    grids.coloured_table(axes, fills, summaries, labels, 7.5, **look)
    for number, behaviour in enumerate(behaviours):
        first = len(SUMMARIES) * number
        grids.over(axes, behaviour, range(first, first + len(SUMMARIES)), above=15)
        axes.axvline(first - 0.5, color="#ffffff", linewidth=3)
    title = labelling.label_of(name) + style.mark_of(rows) + _count_runs(rows)
    axes.set_title(title, pad=29, fontsize=8)


def _cell_text(cell: pd.Series) -> str:
    if np.isnan(cell["value"]):
        return "–"
    stars = ""
    if cell["q"] <= LEVEL:
        stars = "**"
    elif cell["p"] <= LEVEL:
        stars = "*"
    return f"{round(cell['value'], 2) + 0:.2f}".replace("-", "−") + stars


def _count_runs(rows: pd.DataFrame) -> str:
    """Say how many runs and pairs are compared at most, and whether these can be tested."""
    most = rows.loc[rows["pairs"].astype(int).idxmax()]
    if not most["pairs"]:
        return ": too few runs that differ"
    few = "" if _is_testable(most["orders"]) else "; too few runs to test"
    return f": {most['runs']:.0f} runs, {most['pairs']} pairs{few}"
