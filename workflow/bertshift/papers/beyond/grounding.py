"""Which distance between models tells how differently they behave: rank correlations over pairs of
runs, task by task."""

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bertshift.figures import grids, numbers, style
from bertshift.rows import grounding, labelling
from bertshift.rows.provenance import joined

LEVEL = 0.05
MEASURES = {
    "rsa": "RSA",
    "svcca": "SVCCA",
    "pwcca": "PWCCA",
    "cka": "CKA",
    "procrustes": "Procrustes",
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


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tabulate a row for each task, measure, summary of layers and difference in behaviour. It has
    rho (`value`), its p and q, the numbers of `runs`, `pairs` and `orders` of the runs behind
    them, and p and orders of seeds alone."""
    parts = []
    for path, table in inputs.items():
        name = path.removeprefix("results/grounding/").removesuffix(".tsv")
        rows = grounding.tracking(table).rename(columns={"rho": "value"})
        parts.append(
            rows.assign(
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
                **joined(table),
            )
        )
    return numbers.join(*parts, columns=COLUMNS)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw a panel for each task: measures down, differences in behaviour across. Each difference
    is shown in the last layer and as the mean over layers."""
    table = tidy(inputs)
    panels = list(table.groupby("panel", sort=False))
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    width = LABELS + PANEL * across
    over = [line for words in OVER for line in textwrap.wrap(words, int(width * LETTERS))]
    height = LINE * len(over) + (HEADER + ROW * len(MEASURES)) * down
    figure, grid = style.grid(height, down, across, width)
    for number, axes in enumerate(grid.flat):
        if number < len(panels):
            _panel(axes, *panels[number], names=number % across == 0)
        else:
            axes.set_axis_off()
    figure.suptitle("\n".join(over), fontsize=8)
    return style.captioned(figure, table, _chance(table), style.failures(table))


def _chance(table: pd.DataFrame) -> str:
    tests = table["orders"].map(_testable).sum()
    if not tests:
        return ""
    return f"Of {tests} correlations {LEVEL * tests:.0f} would have one star by chance."


def _testable(orders: int) -> bool:
    """Tell whether p, which is 1 / orders or more, can be small enough for a star."""
    return orders * LEVEL >= 1


def _panel(axes: Axes, name: str, rows: pd.DataFrame, names: bool) -> None:
    behaviours = [one for one in grounding.BEHAVIOURS if (rows["behaviour"] == one).any()]
    columns = [(behaviour, summary) for behaviour in behaviours for summary in SUMMARIES]
    cells = rows.set_index(["variant", "behaviour", "summary"])
    fills = np.array(
        [[cells.loc[(one, *column), "value"] for column in columns] for one in MEASURES], float
    )
    look = {"cmap": grids.LOSS_TO_GAIN, "vmin": -1, "vmax": 1}
    down = MEASURES.values() if names else [""] * len(MEASURES)
    grids.coloured_table(axes, fills, [summary for _, summary in columns], down, 7.5, **look)
    for y, one in enumerate(MEASURES):
        for x, column in enumerate(columns):
            cell = cells.loc[(one, *column)]
            axes.text(x, y, _words(cell), ha="center", va="center", color="#000000", fontsize=7.5)
    for number, behaviour in enumerate(behaviours):
        middle = [len(SUMMARIES) * number + each for each in range(len(SUMMARIES))]
        grids.over(axes, behaviour, middle, above=15)
        axes.axvline(middle[0] - 0.5, color="#ffffff", linewidth=3)
    axes.set_title(
        labelling.label_of(name) + style.mark_of(rows) + _counts(rows), pad=29, fontsize=8
    )


def _words(cell: pd.Series) -> str:
    if np.isnan(cell["value"]):
        return "–"
    stars = "**" if cell["q"] <= LEVEL else "*" if cell["p"] <= LEVEL else ""
    return f"{round(cell['value'], 2) + 0:.2f}".replace("-", "−") + stars


def _counts(rows: pd.DataFrame) -> str:
    """Say how many runs and pairs are compared at most, and whether these can be tested."""
    most = rows.loc[rows["pairs"].astype(int).idxmax()]
    if not most["pairs"]:
        return ": too few runs that differ"
    few = "" if _testable(most["orders"]) else "; too few runs to test"
    return f": {most['runs']:.0f} runs, {most['pairs']} pairs{few}"
