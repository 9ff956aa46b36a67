"""Scores with heads or layers disabled, shared by Figures 8 and 9 of Kovaleva et al. 2019."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from bertshift.errors import UserError
from bertshift.plots import style, tables
from bertshift.plots.layers import ends

COLUMNS = ["panel", "series", "score", "variant", "layer", "head", "sample", "significant", *tables.VALUES]
CMAP, BASELINE = "Purples", "#E69F00"  # the paper's own colours
RATE = 0.05
MARKS = (
    "White dots: different from nothing disabled in every replicate at a false discovery rate of 5% "
    "(exact McNemar test of accuracy, paired bootstrap of other scores). Orange: nothing disabled."
)


def scores(inputs: Mapping[str, pd.DataFrame], variant: str = "uniform") -> pd.DataFrame:
    """Headline rows of `variant` and of the model as it is; `panel` is the model. UserError where a table has none."""
    rows = tables.rows_of(inputs, "ablation")
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
    table = tables.means(rows, by, ["panel", "sample"])
    cell = ["panel", "variant", "layer", "head", "init", "seed"]
    q = rows.sort_values("sample", kind="stable").groupby(cell)["q"].transform("first")  # complete, sample
    below = rows.assign(value=(q <= RATE).astype(float))
    return table.assign(significant=tables.means(below, by, ["panel", "sample"])["value"])


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
        values = np.asarray(entry["tasks"][task][cells])
        layer = np.indices(values.shape)[0].ravel() + 1
        head = np.indices(values.shape)[1].ravel() + 1 if values.ndim == 2 else np.zeros(values.size, int)
        parts.append(
            tables.published(
                entry, paper, panel=panel, series="paper", score=scores.get(task, ""),
                variant=["none"] + ["uniform"] * values.size, layer=[0, *layer.tolist()], head=[0, *head.tolist()],
                value=[entry["tasks"][task]["baseline"], *values.ravel().tolist()],
            )
        )  # fmt: skip
    return parts


def join(*parts: pd.DataFrame) -> pd.DataFrame:
    table = tables.join(*parts, columns=COLUMNS)
    return table.assign(significant=pd.to_numeric(table["significant"]))


def cells_of(table: pd.DataFrame, panel: str, source: str) -> tuple[pd.DataFrame, float]:
    """What one panel shows: its cells of the sweep, and the score with nothing disabled."""
    rows = of_sweep(table[(table["panel"] == panel) & (table["source"] == source)])
    base = rows.loc[rows["variant"] == "none", "value"]
    return rows[rows["variant"] == "uniform"], float(base.iloc[0]) if len(base) else np.nan


def grid_of(cells: pd.DataFrame, column: str = "value") -> np.ndarray:
    """[layers, heads], or [layers, 1] for whole layers."""
    return cells.pivot(index="layer", columns="head", values=column).to_numpy(float)


def draw_cells(axes: Axes, cells: pd.DataFrame, base: float) -> Normalize:
    """Layer 1 on top; the colours span the cells and the score with nothing disabled."""
    axes.grid(False)
    axes.spines[:].set_visible(False)
    values = grid_of(cells)
    layers, heads = values.shape
    low, high = min(values.min(), base), max(values.max(), base)
    norm = Normalize(low, high) if high > low else Normalize(low - 5e-4, high + 5e-4)
    edges = [np.arange(size + 1) + 0.5 for size in (heads, layers)]
    axes.pcolormesh(*edges, values, cmap=CMAP, norm=norm, edgecolors="face", linewidth=0.15)
    marked = cells[(cells["significant"] == 1) & (cells["source"] == "ours")]
    across = marked["head"].where(marked["head"] > 0, 1)
    axes.scatter(across, marked["layer"], s=7, color="white", edgecolor="black", linewidth=0.5)
    axes.invert_yaxis()
    axes.set_yticks(ends(layers))
    axes.tick_params(length=1.5, pad=1)
    return norm


def run_again(table: pd.DataFrame, panel: str, source: str) -> pd.DataFrame:
    """Its cells on the complete development set where the sweep is on a sample."""
    rows = table[(table["panel"] == panel) & (table["source"] == source) & (table["variant"] == "uniform")]
    return rows.drop(of_sweep(rows).index)


def frame(axes: Axes, cells: pd.DataFrame) -> None:
    for layer, head in zip(cells["layer"], cells["head"], strict=True):
        axes.add_patch(
            Rectangle((head - 0.5, layer - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=0.8)
        )


def absent(axes: Axes) -> None:
    axes.axis("off")
    axes.text(
        0.5, 0.5, "not in\nthe paper", ha="center", va="center", transform=axes.transAxes, color="#666666"
    )


def bar(figure: Figure, cax: Axes, norm: Normalize, base: float, orientation: str) -> None:
    """A colour bar with five ticks, and a line where nothing is disabled."""
    drawn = figure.colorbar(
        ScalarMappable(norm, CMAP),
        cax=cax,
        orientation=orientation,
        ticks=np.linspace(norm.vmin, norm.vmax, 5),
    )
    digits = 3 if norm.vmax - norm.vmin >= 0.004 else 4
    drawn.formatter = FuncFormatter(lambda value, _: f"{value:.{digits}f}".replace("0.", ".", 1))
    drawn.update_ticks()
    drawn.outline.set_linewidth(0.4)
    cax.tick_params(length=1.5, pad=1, labelsize=7)
    line = cax.axvline if orientation == "horizontal" else cax.axhline
    line(base, color=BASELINE, linewidth=1.8)


def sources(paper: Mapping, entry: Mapping, table: pd.DataFrame) -> str:
    """A sentence on the published panels, if there are any."""
    if not (table["source"] == "published").any():
        return ""
    return (
        f"Paper: {paper['short']}, {entry['place']}, {paper['checkpoint']}, {entry['provenance']} (±{entry['tolerance']}), "
        "its metrics inferred from the ranges."
    )
