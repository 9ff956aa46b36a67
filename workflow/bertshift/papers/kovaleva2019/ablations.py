"""Scores with heads or layers disabled, shared by Figures 8 and 9 of Kovaleva et al. 2019."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from bertshift.errors import UserError
from bertshift.figures import grids, numbers, style

COLUMNS = ["panel", "series", "score", "variant", "layer", "head", "sample", "significant", *numbers.VALUES]
CMAP, BASELINE = "Purples", "#E69F00"  # the paper's own colours
RATE = 0.05
INFERRED = "; its metrics are inferred from the ranges"


def scores(inputs: Mapping[str, pd.DataFrame], variant: str = "uniform") -> pd.DataFrame:
    """Headline rows of `variant` and of the model as it is; `panel` is the model. UserError where a table has none."""
    rows = numbers.rows_of(inputs, "ablation")
    rows = rows[rows["headline"] & rows["variant"].isin([variant, "none"])]
    lacking = set(rows["model"]) - set(rows.loc[rows["variant"] == variant, "model"])
    if lacking:
        raise UserError(
            f"results/ablation/{min(lacking)}.tsv has no variant '{variant}'; list it under ablation.variants."
        )
    return rows.assign(panel=rows["model"])


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each cell over replicates, and `significant`: the share of them, seeds of a run alike, with q at most RATE.

    The q of a replicate is that of the complete set where it was run again on it: others were not, being less extreme.
    """
    rows = rows.reset_index(drop=True)
    by = ["panel", "series", "score", "variant", "layer", "head", "sample"]
    table = numbers.means(rows, by, ["panel", "sample"])
    cell = ["panel", "variant", "layer", "head", "init", "seed"]
    q = rows.sort_values("sample", kind="stable").groupby(cell)["q"].transform("first")  # complete, sample
    below = rows.assign(value=(q <= RATE).astype(float))
    return table.assign(significant=numbers.means(below, by, ["panel", "sample"])["value"])


def of_sweep(rows: pd.DataFrame) -> pd.DataFrame:
    """Without what was run again: of a panel with rows on a sample these, else those on the complete set."""
    return rows[rows["sample"] == rows.groupby("panel")["sample"].transform("max")]  # complete, sample


def on_most(rows: pd.DataFrame) -> pd.DataFrame:
    """Of a panel with rows on the complete set these, else those on a sample."""
    return rows[rows["sample"] == rows.groupby("panel")["sample"].transform("min")]


def published(
    entry: Mapping, paper: Mapping, scores: Mapping[str, str], panels: list[str], cells: str
) -> list[pd.DataFrame]:
    """The paper's panels of the same tasks; `cells` is the key of its numbers, by layer or by layer and head."""
    parts = []
    for panel in panels:
        task = style.task_of(panel)
        if task not in entry.get("tasks", {}):
            continue
        facts = {"panel": panel, "series": "paper", "score": scores.get(task, "")}
        values = np.asarray(entry["tasks"][task][cells])
        numbered = numbers.cells(values.reshape(len(values), -1)) | ({"head": 0} if values.ndim == 1 else {})
        parts += [
            numbers.published(entry, paper, variant="none", value=entry["tasks"][task]["baseline"], **facts),
            numbers.published(entry, paper, variant="uniform", **numbered, **facts),
        ]
    return parts


def join(*parts: pd.DataFrame) -> pd.DataFrame:
    table = numbers.join(*parts, columns=COLUMNS)
    return table.assign(significant=pd.to_numeric(table["significant"]))


def cells_of(table: pd.DataFrame, panel: str, source: str) -> tuple[pd.DataFrame, float]:
    """What one panel shows: its cells of the sweep, and the score with nothing disabled."""
    rows = of_sweep(table[(table["panel"] == panel) & (table["source"] == source)])
    base = rows.loc[rows["variant"] == "none", "value"]
    return rows[rows["variant"] == "uniform"], float(base.iloc[0]) if len(base) else np.nan


def grid_of(cells: pd.DataFrame) -> np.ndarray:
    """[layers, heads], or [layers, 1] for whole layers."""
    return cells.pivot(index="layer", columns="head", values="value").to_numpy(float)


def draw_cells(axes: Axes, cells: pd.DataFrame, base: float) -> Normalize:
    """Layer 1 on top; the colours span the cells and the score with nothing disabled."""
    values = grid_of(cells)
    low, high = min(values.min(), base), max(values.max(), base)
    norm = Normalize(low, high) if high > low else Normalize(low - 5e-4, high + 5e-4)
    grids.heat_map(axes, values, cmap=CMAP, norm=norm)
    marked = cells[(cells["significant"] == 1) & (cells["source"] == "ours")]
    across = marked["head"].where(marked["head"] > 0, 1)
    axes.scatter(across - 0.5, marked["layer"] - 0.5, s=7, color="white", edgecolor="black", linewidth=0.5)
    grids.ticks(axes.yaxis, grids.ends(len(values)))
    return norm


def run_again(table: pd.DataFrame, panel: str, source: str) -> pd.DataFrame:
    """Its cells on the complete development set where the sweep is on a sample."""
    rows = table[(table["panel"] == panel) & (table["source"] == source) & (table["variant"] == "uniform")]
    return rows.drop(of_sweep(rows).index)


def frame(axes: Axes, cells: pd.DataFrame) -> None:
    for place in zip(cells["head"] - 1, cells["layer"] - 1, strict=True):
        axes.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor="black", linewidth=0.8))


def bar(figure: Figure, cax: Axes, norm: Normalize, base: float, orientation: str) -> None:
    """A colour bar with five ticks, and a line where nothing is disabled."""
    at = np.linspace(norm.vmin, norm.vmax, 5)
    drawn = grids.colour_bar(figure, cax, norm, CMAP, at, orientation=orientation)
    digits = 3 if norm.vmax - norm.vmin >= 0.004 else 4
    drawn.formatter = FuncFormatter(lambda value, _: f"{value:.{digits}f}".replace("0.", ".", 1))
    drawn.update_ticks()
    cax.tick_params(length=1.5, pad=1, labelsize=7)
    line = cax.axvline if orientation == "horizontal" else cax.axhline
    line(base, color=BASELINE, linewidth=1.8)
