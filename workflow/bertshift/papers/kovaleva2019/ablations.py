"""Scores with heads or layers disabled: Figures 8 and 9 of Kovaleva et al. 2019."""

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
from bertshift.rows import labelling, ranges, statistics
from bertshift.rows.blocks import JACKKNIFE_COLUMNS

COLUMNS = [
    "panel",
    "series",
    "score",
    "variant",
    "layer",
    "head",
    "sample",
    "significant",
    *numbers.VALUES,
]
CMAP, BASELINE = "Purples", "#E69F00"  # the paper's own colours
DISABLED, RATE = "uniform", 0.05
INFERRED = "; its metrics are inferred from the ranges"
PAIRS = 2  # of ours and the paper's panel, side by side
FRAMES = (
    "Framed: best or worst on a sample of the development set, which the colours show, and run"
    " again on the complete set, from which their dots and the best gain are."
)
GAIN, HONEST = "largest_gain", "largest_gain_other_half"


def scores(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack the headline rows of heads DISABLED and of the model as it is; `panel` is the model.
    UserError where a table has none."""
    rows = numbers.rows_of(inputs, "ablation")
    rows = rows[rows["headline"] & rows["variant"].isin([DISABLED, "none"])]
    lacking = set(rows["model"]) - set(rows.loc[rows["variant"] == DISABLED, "model"])
    if lacking:
        raise UserError(
            f"results/ablation/{min(lacking)}.tsv has no variant '{DISABLED}'; list it under"
            " ablation.variants."
        )
    return rows.drop(columns=["low", "high"], errors="ignore").assign(panel=rows["model"])


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Average each cell over replicates. `significant` is the share of replicates with q at most
    RATE, where the seeds of a run are averaged first.

    The q of a replicate is that of the complete set where it was run again on it: others were not,
    being less extreme.
    """
    rows = rows.reset_index(drop=True)
    by = ["panel", "series", "score", "variant", "layer", "head", "sample"]
    table = numbers.means(rows, by, ["panel", "sample"])
    cell = ["panel", "variant", "layer", "head", "init", "seed"]
    # The values are `complete` and `sample`, in this order.
    q = rows.sort_values("sample", kind="stable").groupby(cell)["q"].transform("first")
    below = statistics.with_value(rows, (q <= RATE).astype(float))
    return table.assign(significant=numbers.means(below, by, ["panel", "sample"])["value"])


def of_sweep(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out what was run again: keep a panel's rows on a sample where it has some, else those
    on the complete set."""
    # The values are `complete` and `sample`, in this order.
    return rows[rows["sample"] == rows.groupby("panel")["sample"].transform("max")]


def run_again(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the cells on the complete development set where the sweep is on a sample."""
    return rows[rows["variant"] == DISABLED].drop(of_sweep(rows).index, errors="ignore")


def published_of(facts: Mapping, item: str, models: Iterable[str]) -> Iterator[pd.DataFrame]:
    """Read the paper's panels of the same tasks, by layer and head or, in Figure 9, by layer
    alone."""
    for model, task in panels.papers(facts, item, models):
        values = np.asarray(task["matrix"] if "matrix" in task else task["layers"])
        cells = numbers.cells(values.reshape(len(values), -1)) | (
            {"head": 0} if values.ndim == 1 else {}
        )
        score = facts["figure8"]["metrics"][labelling.task_of(model)]
        for variant, numbered in (("none", {"value": task["baseline"]}), (DISABLED, cells)):
            yield numbers.published(
                facts[item],
                facts["paper"],
                panel=model,
                series="paper",
                score=score,
                variant=variant,
                **numbered,
            )


def join(*parts: pd.DataFrame) -> pd.DataFrame:
    table = numbers.join(*parts, columns=COLUMNS)
    return table.assign(significant=pd.to_numeric(table["significant"]))


def by_source(table: pd.DataFrame, panel: str) -> list[pd.DataFrame]:
    """Split the rows of a panel into ours and the paper's."""
    return [
        table[(table["panel"] == panel) & (table["source"] == name)]
        for name in ("ours", "published")
    ]


def cells_of(rows: pd.DataFrame, variant: str = DISABLED) -> pd.DataFrame:
    """Select those of one panel's rows that its colours show."""
    rows = of_sweep(rows)
    return rows[rows["variant"] == variant]


def panel(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw one panel in colours of its own, which span its cells and the score with nothing
    disabled: heads, the bar below them, or whole layers, the bar at their right. Dots are on what
    is significant, frames around what was run again."""
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
    axes.scatter(
        across - 0.5, marked["layer"] - 0.5, s=7, color="white", edgecolor="black", linewidth=0.5
    )
    again = run_again(rows)
    for place in zip(again["head"] - 1, again["layer"] - 1):
        axes.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor="black", linewidth=0.8))


def _bar(axes: Axes, norm: Normalize, base: float, **look) -> None:
    """Draw a colour bar with five ticks, and a line where nothing is disabled."""
    digits = 3 if norm.vmax - norm.vmin >= 0.004 else 4
    bar = panels.colour_bar(
        np.array([axes]),
        norm,
        CMAP,
        ticks=np.linspace(norm.vmin, norm.vmax, 5),
        format=FuncFormatter(lambda value, _: f"{value:.{digits}f}".replace("0.", ".", 1)),
        **look,
    )
    bar.ax.tick_params(length=1.5, pad=1, labelsize=7)
    line = bar.ax.axvline if bar.orientation == "horizontal" else bar.ax.axhline
    line(base, color=BASELINE, linewidth=1.8)


def figure8(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw heat maps of layers x heads, each with its own colours and colour bar, ours and the
    paper's side by side.

    The table has our mean of every head, the score with nothing disabled (variant none) and the
    `gains`. Its `sample` is `sample` or `complete`; heads that were run again on the complete
    development set have a row of each, the latter over the replicates in which they were.
    """
    rows = numbers.first_run(scores(inputs))
    heads = rows[(rows["head"] > 0) | (rows["layer"] == 0)]
    theirs = published_of(published, "figure8", rows["panel"].unique())
    table = join(means(heads), means(gains(heads, inputs)), *theirs)
    models = list(table["panel"].unique())
    lines = -(-len(models) // PAIRS)
    figure, grid = style.grid(0.2 + 2.12 * lines, lines, 2 * PAIRS)
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.05)
    grid = grid.reshape(-1, 2)
    for model, pair in zip(models, grid):
        both = by_source(table, model)
        for axes, rows, title in zip(pair, both, _titles(labelling.label_of(model), *both)):
            panel(axes, rows)
            axes.set_title(title, pad=3, fontsize=7.5)
        if pair[0].get_subplotspec().is_first_col():
            pair[0].set_ylabel("layer")
    for unused in grid[len(models) :].flat:
        unused.remove()
    framed = len(run_again(table[table["source"] == "ours"]))
    cited = numbers.cited(published, "figure8", table, INFERRED)
    return style.captioned(
        figure, table, FRAMES if framed else "", style.failures(table, "panel"), cited
    )


def gains(heads: pd.DataFrame, inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Select the rows of GAIN, on the complete development set if heads were run again on it, and
    HONEST, one a replicate."""
    tried = heads[heads["head"] > 0]
    # The values are `complete` and `sample`, in this order.
    surest = tried[tried["sample"] == tried.groupby("panel")["sample"].transform("min")]
    best = surest.sort_values("delta").groupby(["model", "init", "seed"], as_index=False).tail(1)
    without, run = (
        [name for name in JACKKNIFE_COLUMNS if name in heads],
        ["model", "init", "seed", "sample"],
    )
    base = heads[heads["layer"] == 0].set_index(run)[without]
    best = best.assign(**best[without] - base.loc[pd.MultiIndex.from_frame(best[run])].to_numpy())
    halves = numbers.rows_of(inputs, "ablation_split_half")
    halves = statistics.with_value(halves, halves["delta"]).assign(panel=halves["model"])
    halves = halves[halves["variant"] == DISABLED]
    both = pd.concat([best.assign(variant=GAIN), numbers.first_run(halves).assign(variant=HONEST)])
    return ranges.within(both.assign(value=both["delta"], layer=0, head=0, q=np.nan), ranges.ANY)


def _titles(label: str, ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[str, str]:
    """Write both titles: what the best head gains over our panel, and the correlation over heads
    with ours over the paper's."""
    score = ours["score"].iloc[0]
    best, honest = statistics.POINTS * ours.set_index("variant").loc[[GAIN, HONEST], "value"]
    gained = f"best {best:+.1f}, other half {honest:+.1f}".replace("-", "−")
    r = panels.agreement(*map(cells_of, (ours, theirs)), other=" with ours")
    return (
        f"{label} ({labelling.SCORES.get(score, score)}), ours\n{gained}",
        f"{label}, paper\n{r}",
    )


def figure9(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw a column of cells per task, layer 1 on top, each with its own colours and colour bar;
    ours above the paper's."""
    rows = scores(inputs)
    rows = of_sweep(rows[rows["head"] == 0])
    table = join(means(rows), *published_of(published, "figure9", rows["panel"].unique()))
    models = list(table["panel"].unique())
    kinds = {"ours": "ours\nlayer", "published": "paper\nlayer"}
    labels = [label for source, label in kinds.items() if source in set(table["source"])]
    figure, grid = panels.columns(models, dict.fromkeys(labels, 1.75))
    for model, column in zip(models, grid):
        for axes, rows, label in zip(column, by_source(table, model), labels):
            panel(axes, rows)
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel(label)
        score = table.loc[table["panel"] == model, "score"].iloc[0]
        column[0].set_title(
            f"{labelling.label_of(model)}\n{labelling.SCORES.get(score, score)}", fontsize=7.5
        )
    cited = numbers.cited(published, "figure9", table, INFERRED)
    return style.captioned(figure, table, style.failures(table, "panel"), cited)
