"""Scores with heads or layers disabled: Figures 8 and 9 of Kovaleva et al. 2019."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

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
from bertshift.rows.table import Table, concat

KEYS = ["panel", "series", "score", "variant", "layer", "head", "sample"]
COLUMNS = [*KEYS, "significant", *numbers.VALUES]
RUN = ["model", "init", "seed"]
CMAP, BASELINE = style.shades("Purples"), "#E69F00"  # the paper's own colours
DISABLED, RATE = "uniform", 0.05
INFERRED = "; its metrics are inferred from the ranges, and its panels stand {place} ours"
COMPARED = "correlation over heads"
PAIRS = 2  # of ours and the paper's panel, side by side
FRAMES = (
    "Framed: best or worst in some seed on a sample of the development set, which the colours"
    " show. In that seed the head was run again on the complete set, from which its dot and the"
    " best gain are. Of the framed heads, {counts}."
)
GAIN, HONEST = "largest_gain", "largest_gain_other_half"

# In the column `sample`, `complete` comes before `sample`: sorted rows begin with the complete
# development set, and the smaller of both words is `complete`.


def scores(inputs: Mapping[str, Table]) -> Table:
    """Stack the headline rows of heads DISABLED and of the model as it is; `panel` is the model.
    UserError where a table has none."""
    measured = numbers.rows_of(inputs, "ablation")
    is_shown = measured["headline"] & measured["variant"].isin([DISABLED, "none"])
    measured = measured.where(is_shown)
    disabled = measured.where(measured["variant"] == DISABLED)
    lacking = set(measured["model"]) - set(disabled["model"])
    if lacking:
        raise UserError(
            f"results/ablation/{min(lacking)}.tsv has no variant '{DISABLED}'; list it under"
            " ablation.variants."
        )
    return measured.assign(panel=measured["model"])


def means(measured: Table) -> pd.DataFrame:
    """Average each cell over replicates. `significant` is the share of replicates with q at most
    RATE, where the seeds of a run are averaged first.

    Where a replicate was run again on the complete set, its q is that of the complete set. All
    others were less extreme.
    """
    cell = ["panel", "variant", "layer", "head", "init", "seed"]
    complete_first = measured.rows.sort_values("sample", kind="stable")
    q = complete_first.groupby(cell)["q"].transform("first")
    significant = measured.with_value((q <= RATE).astype(float))
    share = numbers.means(significant, KEYS, ["panel", "sample"])["value"]
    return numbers.means(measured, KEYS, ["panel", "sample"]).assign(significant=share)


def select_sweep(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out what was run again: select a panel's rows on a sample if it has some, else those
    on the complete set."""
    return rows[rows["sample"] == rows.groupby("panel")["sample"].transform("max")]


def select_reruns(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the cells on the complete development set where the sweep is on a sample."""
    return rows[rows["variant"] == DISABLED].drop(select_sweep(rows).index, errors="ignore")


def read_published(published: Mapping, item: str, models: Iterable[str]) -> Iterator[pd.DataFrame]:
    """Read the paper's panels of the same tasks, by layer and head or, in Figure 9, by layer
    alone."""
    for model, panel in panels.published_panels(published, item, models):
        if "matrix" in panel:
            cells = numbers.cells(panel["matrix"])
        else:
            cells = panels.layer_cells(panel["layers"])
        baseline = {"value": panel["baseline"]}
        for variant, values in (("none", baseline), (DISABLED, cells)):
            yield numbers.published(
                published[item],
                published["paper"],
                panel=model,
                series="paper",
                score=published["figure8"]["metrics"][labelling.task_of(model)],
                variant=variant,
                **values,
            )


def split_by_source(table: pd.DataFrame, panel: str) -> list[pd.DataFrame]:
    """Split the rows of a panel into ours and the paper's."""
    rows = table[table["panel"] == panel]
    return [rows[rows["source"] == source] for source in ("ours", "published")]


def select_cells(rows: pd.DataFrame, variant: str = DISABLED) -> pd.DataFrame:
    """Select the rows of one panel that its colours show."""
    rows = select_sweep(rows)
    return rows[rows["variant"] == variant]


def draw_panel(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw one panel in colours of its own, which span its cells and the score with nothing
    disabled. The colour bar is below a panel of heads, and to the right of one of whole layers.
    Dots mark significant cells, frames the cells that were run again."""
    cells = select_cells(rows)
    matrix = panels.matrix_of(cells)
    if cells.empty:
        grids.heat_map(axes, matrix)
        return
    baseline = select_cells(rows, "none")["value"].iloc[0]
    shown = [*cells["value"], baseline]
    low, high = min(shown), max(shown)
    if low == high:
        low, high = low - 5e-4, high + 5e-4
    norm = Normalize(low, high)
    if (cells["head"] == 0).all():
        panels.heat_map(axes, matrix, list(matrix.index), None, cmap=CMAP, norm=norm)
        axes.set_xticks([])
        _draw_bar(axes, norm, baseline, location="right", aspect=16, fraction=0.3)
    else:
        panels.heat_map(axes, matrix, cmap=CMAP, norm=norm)
        _draw_bar(axes, norm, baseline, location="bottom", aspect=18)
    significant = cells.query("significant == 1")
    axes.scatter(
        significant["head"].clip(lower=1) - 0.5,
        significant["layer"] - 0.5,
        s=7,
        color="white",
        edgecolor="black",
        linewidth=0.5,
    )
    reruns = select_reruns(rows)
    for corner in zip(reruns["head"] - 1, reruns["layer"] - 1):
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="black", linewidth=0.8))


def _draw_bar(axes: Axes, norm: Normalize, baseline: float, **look) -> None:
    """Draw a colour bar with five ticks, and a line at the score with nothing disabled."""
    digits = 3 if norm.vmax - norm.vmin >= 0.004 else 4
    bar = panels.colour_bar(
        np.array([axes]),
        norm,
        CMAP,
        ticks=np.linspace(norm.vmin, norm.vmax, 5),
        format=FuncFormatter(lambda value, _: panels.without_zero(value, digits)),
        **look,
    )
    bar.ax.tick_params(length=1.5, pad=1, labelsize=7)
    draw_line = bar.ax.axvline if bar.orientation == "horizontal" else bar.ax.axhline
    draw_line(baseline, color=BASELINE, linewidth=1.8)


def figure8(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw heat maps of layers x heads, each with its own colours and colour bar, ours and the
    paper's side by side.

    The table has our mean of every head, the score with nothing disabled (variant none) and the
    `gains`. Its `sample` is `sample` or `complete`. A head that was run again on the complete
    development set has a row of each; its complete row averages the replicates that ran again.
    """
    measured = numbers.first_run(scores(inputs))
    heads = measured.where((measured["head"] > 0) | (measured["layer"] == 0))
    paper = read_published(published, "figure8", measured["panel"].unique())
    table = numbers.join(means(heads), means(gains(heads, inputs)), *paper, columns=COLUMNS)
    models = list(table["panel"].unique())
    lines = math.ceil(len(models) / PAIRS)
    figure, grid = style.grid(0.2 + 2.12 * lines, lines, 2 * PAIRS)
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.05)
    pairs = grid.reshape(-1, 2)
    for model, (left, right) in zip(models, pairs):
        ours, theirs = split_by_source(table, model)
        draw_panel(left, ours)
        draw_panel(right, theirs)
        label = labelling.label_of(model)
        agreed = panels.agreement(select_cells(ours), select_cells(theirs), ending=" with ours")
        left.set_title(_write_title(label, ours), pad=3, fontsize=7.5)
        right.set_title(f"{label}, paper\n{agreed}", pad=3, fontsize=7.5)
        if left.get_subplotspec().is_first_col():
            left.set_ylabel("layer")
    for unused in pairs[len(models) :].flat:
        unused.remove()
    reruns = select_reruns(table.query("source == 'ours'"))
    figure, _, caption = style.captioned(
        figure,
        table.drop(reruns.index),
        describe_frames(reruns),
        style.failures(table, "panel"),
        numbers.cited(published, "figure8", table, INFERRED.format(place="beside")),
        panels.explain_r(figure, COMPARED),
        with_intervals=table[:0],
    )
    return figure, table, caption


def describe_frames(reruns: pd.DataFrame) -> str:
    """Write what the frames are, and in how many seeds heads were run again; empty if none
    was."""
    if reruns.empty:
        return ""
    heads = reruns["replicates"].value_counts().sort_index()
    unit = reruns["unit"].iloc[0]
    (fewest, first), *others = heads.items()
    counts = [f"{first} were so in {fewest} {unit}{'s' if fewest > 1 else ''}"]
    counts += [f"{number} in {count}" for count, number in others]
    return FRAMES.format(counts=", ".join(counts))


def gains(heads: Table, inputs: Mapping[str, Table]) -> Table:
    """Select the rows of GAIN and HONEST, one a replicate. GAIN is on the complete development set
    if heads were run again on it."""
    best = _select_best(heads).assign(variant=GAIN)
    halves = numbers.rows_of(inputs, "ablation_split_half")
    halves = halves.with_value(halves["delta"]).assign(panel=halves["model"], variant=HONEST)
    rows = concat([best, numbers.first_run(halves)])
    return rows.assign(value=rows["delta"], layer=0, head=0, q=np.nan).within(ranges.ANY)


def _select_best(heads: Table) -> Table:
    """Select each replicate's head with the largest gain. Its values without a block become gains
    over those with nothing disabled."""
    disabled = heads.rows.query("head > 0")
    least_noisy = disabled.groupby("panel")["sample"].transform("min")
    disabled = disabled[disabled["sample"] == least_noisy]
    best = heads.keep(disabled.sort_values("delta").groupby(RUN).tail(1))
    run = [*RUN, "sample"]
    baselines = heads.query("layer == 0")
    positions = pd.MultiIndex.from_frame(baselines.rows[run]).get_indexer(
        pd.MultiIndex.from_frame(best.rows[run])
    )
    return replace(best, left_out=best.left_out - baselines.left_out[positions])


def _write_title(label: str, ours: pd.DataFrame) -> str:
    """Write the title of our panel, with the gain of the best head."""
    score = ours["score"].iloc[0]
    values = ours.set_index("variant")["value"]
    best, other_half = statistics.POINTS * values.loc[[GAIN, HONEST]]
    gained = f"best {best:+.1f}, other half {other_half:+.1f}".replace("-", "−")
    return f"{label} ({labelling.SCORES.get(score, score)}), ours\n{gained}"


def figure9(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a column of cells per task, layer 1 on top, each with its own colours and colour bar;
    ours above the paper's."""
    measured = scores(inputs).query("head == 0")
    measured = measured.keep(select_sweep(measured.rows))
    paper = read_published(published, "figure9", measured["panel"].unique())
    table = numbers.join(means(measured), *paper, columns=COLUMNS)
    models = list(table["panel"].unique())
    labels = ["ours\nlayer"]
    if (table["source"] == "published").any():
        labels.append("paper\nlayer")
    figure, grid = panels.columns(models, dict.fromkeys(labels, 1.75))
    for model, column in zip(models, grid):
        for axes, rows, label in zip(column, split_by_source(table, model), labels):
            draw_panel(axes, rows)
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel(label)
        score = table.loc[table["panel"] == model, "score"].iloc[0]
        score_label = labelling.SCORES.get(score, score)
        column[0].set_title(f"{labelling.label_of(model)}\n{score_label}", fontsize=7.5)
    cited = numbers.cited(published, "figure9", table, INFERRED.format(place="below"))
    failures = style.failures(table, "panel")
    return style.captioned(figure, table, failures, cited, with_intervals=table[:0])
