"""Scores with heads or layers disabled, shared by Figures 8 and 9 of Kovaleva et al. 2019."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from bertshift.errors import UserError
from bertshift.figures import grids, numbers, style
from bertshift.papers.kovaleva2019 import panels
from bertshift.rows import statistics

COLUMNS = ["panel", "series", "score", "variant", "layer", "head", "sample", "significant", *numbers.VALUES]
CMAP, BASELINE = "Purples", "#E69F00"  # the paper's own colours
DISABLED, RATE = "uniform", 0.05
INFERRED = "; its metrics are inferred from the ranges"


def scores(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Headline rows of heads DISABLED and of the model as it is; `panel` is the model. UserError where a table has none."""
    rows = numbers.rows_of(inputs, "ablation")
    rows = rows[rows["headline"] & rows["variant"].isin([DISABLED, "none"])]
    lacking = set(rows["model"]) - set(rows.loc[rows["variant"] == DISABLED, "model"])
    if lacking:
        raise UserError(
            f"results/ablation/{min(lacking)}.tsv has no variant '{DISABLED}'; list it under ablation.variants."
        )
    return rows.drop(columns=["low", "high"], errors="ignore").assign(panel=rows["model"])


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each cell over replicates, and `significant`: the share of them, seeds of a run alike, with q at most RATE.

    The q of a replicate is that of the complete set where it was run again on it: others were not, being less extreme.
    """
    rows = rows.reset_index(drop=True)
    by = ["panel", "series", "score", "variant", "layer", "head", "sample"]
    table = numbers.means(rows, by, ["panel", "sample"])
    cell = ["panel", "variant", "layer", "head", "init", "seed"]
    q = rows.sort_values("sample", kind="stable").groupby(cell)["q"].transform("first")  # complete, sample
    below = statistics.with_value(rows, (q <= RATE).astype(float))
    return table.assign(significant=numbers.means(below, by, ["panel", "sample"])["value"])


def of_sweep(rows: pd.DataFrame) -> pd.DataFrame:
    """Without what was run again: of a panel with rows on a sample these, else those on the complete set."""
    return rows[rows["sample"] == rows.groupby("panel")["sample"].transform("max")]  # complete, sample


def run_again(rows: pd.DataFrame) -> pd.DataFrame:
    """Cells on the complete development set where the sweep is on a sample."""
    return rows[rows["variant"] == DISABLED].drop(of_sweep(rows).index, errors="ignore")


def published(facts: Mapping, item: str, models: Iterable[str]) -> Iterator[pd.DataFrame]:
    """The paper's panels of the same tasks, by layer and head or, in Figure 9, by layer alone."""
    for model, task in panels.papers(facts, item, models):
        values = np.asarray(task["matrix"] if "matrix" in task else task["layers"])
        cells = numbers.cells(values.reshape(len(values), -1)) | ({"head": 0} if values.ndim == 1 else {})
        score = facts["figure8"]["metrics"][style.task_of(model)]
        for variant, numbered in (("none", {"value": task["baseline"]}), (DISABLED, cells)):
            yield numbers.published(
                facts[item], facts["paper"], panel=model, series="paper", score=score, variant=variant, **numbered
            )  # fmt: skip


def join(*parts: pd.DataFrame) -> pd.DataFrame:
    table = numbers.join(*parts, columns=COLUMNS)
    return table.assign(significant=pd.to_numeric(table["significant"]))


def by_source(table: pd.DataFrame, panel: str) -> list[pd.DataFrame]:
    """The rows of a panel that are ours, and the paper's."""
    return [table[(table["panel"] == panel) & (table["source"] == name)] for name in ("ours", "published")]


def cells_of(rows: pd.DataFrame, variant: str = DISABLED) -> pd.DataFrame:
    """Of one panel's rows those that its colours show."""
    rows = of_sweep(rows)
    return rows[rows["variant"] == variant]


def draw(axes: Axes, rows: pd.DataFrame) -> None:
    """One panel in colours of its own, which span its cells and the score with nothing disabled: heads, the bar below
    them, or whole layers, the bar at their right. Dots are on what is significant, frames around what was run again."""
    cells = cells_of(rows)
    matrix = panels.matrix_of(cells)
    if cells.empty:
        grids.heat_map(axes, matrix)
        return
    base = cells_of(rows, "none")["value"].iloc[0]
    low, high = min(cells["value"].min(), base), max(cells["value"].max(), base)
    norm = Normalize(low, high) if high > low else Normalize(low - 5e-4, high + 5e-4)
    if (cells["head"] == 0).all():
        panels.heat_map(axes, matrix, list(matrix.index), None, cmap=CMAP, norm=norm)
        axes.set_xticks([])
        _bar(axes, norm, base, location="right", aspect=16, fraction=0.3)
    else:
        panels.heat_map(axes, matrix, cmap=CMAP, norm=norm)
        _bar(axes, norm, base, location="bottom", aspect=18)
    marked = cells[cells["significant"] == 1]
    across = marked["head"].clip(lower=1)
    axes.scatter(across - 0.5, marked["layer"] - 0.5, s=7, color="white", edgecolor="black", linewidth=0.5)
    again = run_again(rows)
    for place in zip(again["head"] - 1, again["layer"] - 1):
        axes.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor="black", linewidth=0.8))


def _bar(axes: Axes, norm: Normalize, base: float, **look) -> None:
    """A colour bar with five ticks, and a line where nothing is disabled."""
    digits = 3 if norm.vmax - norm.vmin >= 0.004 else 4
    bar = panels.colour_bar(
        np.array([axes]), norm, CMAP, ticks=np.linspace(norm.vmin, norm.vmax, 5),
        format=FuncFormatter(lambda value, _: f"{value:.{digits}f}".replace("0.", ".", 1)), **look,
    )  # fmt: skip
    bar.ax.tick_params(length=1.5, pad=1, labelsize=7)
    line = bar.ax.axvline if bar.orientation == "horizontal" else bar.ax.axhline
    line(base, color=BASELINE, linewidth=1.8)
