"""Merchant et al. 2020, Table 1 and Appendix A: F1 of edge probes before and after fine-tuning,
tasks x models."""

from collections.abc import Mapping
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.errors import UserError
from bertshift.figures import grids, numbers, style
from bertshift.rows import labelling, statistics
from bertshift.rows.significance import of_least_certain
from bertshift.rows.table import Table

COLUMNS = [
    "panel",
    "series",
    "task",
    "variant",
    "view",
    *numbers.VALUES[:6],
    "p",
    "p_holm",
    "n",
    *statistics.SPREADS,
    *numbers.VALUES[6:],
]
GROUP = ["series", "task"]
KEYS = [*GROUP, "variant", "view"]
HEADLINE = "micro_all"
BASELINES = ["lexical", "word_only", "randomized"]

LABELS, CELL, ROW, HEADER = 0.95, 0.85, 0.42, 0.5  # inches
SATURATES = 5.0  # points of difference
LEARNED = 1.0  # point of F1 on control labels: below it selectivity is as good as F1


def draw(inputs: Mapping[str, Table], published: Mapping, variant: str) -> style.Drawn:
    """Draw a row per task and a column per model; `variant` is the probe's, `mix` (Table 1) or
    `top` (Appendix A).

    A grey number is written below ours. With `mix` it is the paper's. With `top` it is from our
    probe on a mix of layers, as the paper's appendix is not at hand.
    """
    ours = tidy(inputs, variant)
    if variant == "mix":
        word, compared = "paper", printed(published, ours)
    else:
        word, compared = "mix", tidy(inputs, "mix")
    table = numbers.join(ours, compared, columns=COLUMNS)
    figure = blocks(table[: len(ours)], table[len(ours) :], word)
    scores = numbers.rows_of(inputs, "edge_probe").rows
    shared = style.shared_probes(scores, scores["series"] == "base")
    return style.captioned(figure, table, unlearned(ours), shared, style.failures(table))


def unlearned(ours: pd.DataFrame) -> str:
    """Name in a sentence the tasks whose control labels are not learned, so that selectivity is
    F1; empty if none."""
    shown = ours[ours["view"] == HEADLINE].set_index(["task", "series"])
    f1 = shown.loc[shown["panel"] == "f1", "value"]
    selectivity = shown.loc[shown["panel"] == "selectivity", "value"]
    is_low = (f1 - selectivity).dropna() < LEARNED
    parts = []
    for task, name in labelling.edge_labels(is_low.reset_index()["task"]).items():
        columns = is_low[task]
        if columns.any():
            parts.append(f"{name} ({columns.sum()} of {len(columns)} columns)")
    if not parts:
        return ""
    return (
        "Control labels are not learned (F1 below 1), so that selectivity is F1:"
        f" {', '.join(parts)}."
    )


def tidy(inputs: Mapping[str, Table], variant: str) -> pd.DataFrame:
    """Tabulate F1, its difference from the pretrained model, and selectivity, in points, in every
    view of the score.

    With `mix` the two lexical readings of the pretrained model are further models.
    """
    scores = numbers.rows_of(inputs, "edge_probe").in_points()
    is_lexical = scores["variant"].isin(BASELINES)
    scores = scores.assign(series=scores["series"].where(~is_lexical, scores["variant"]))
    shown = [variant, *BASELINES] if variant == "mix" else [variant]
    scores = scores.where(scores["variant"].isin(shown))
    is_base = scores["series"] == "base"
    if not is_base.any():
        raise UserError(
            f"no edge probes of kind '{variant}' on the pretrained model in {', '.join(inputs)}; "
            "list the model as 'reference' and run its rule again."
        )
    of_base = scores.where(is_base)
    deltas = scores.where(~is_base).minus_parents(of_base, ["task", "view"])
    of_base_too = deltas["table"] + "; " + numbers.each_once(of_base["table"])
    deltas = deltas.assign(table=of_base_too)
    baselines = _average(deltas.where(deltas["series"].isin(BASELINES)))
    selective = scores.where(scores["selectivity"].notna())
    selective = selective.with_value(selective["selectivity"])
    panels = {
        "f1": (scores, _average(scores)),
        "delta": (deltas, pd.concat([baselines, _average_tested(inputs, variant, deltas)])),
        "selectivity": (selective, _average(selective)),
    }
    parts = []
    for panel, (measured, means) in panels.items():
        spreads = statistics.spreads(numbers.trained(measured, GROUP).rows, KEYS)
        parts.append(means.merge(spreads, on=KEYS).assign(panel=panel))
    return pd.concat(parts)


def _average(measured: Table) -> pd.DataFrame:
    return numbers.means(measured, KEYS, GROUP) if len(measured) else pd.DataFrame(columns=KEYS)


def _average_tested(inputs: Mapping[str, Table], variant: str, deltas: Table) -> pd.DataFrame:
    """Average fine-tuned minus pretrained, with the p of the least certain replicate and Holm's
    over a view's tests."""
    measured = numbers.rows_of(inputs, "edge_probe_delta").in_points()
    measured = measured.where(measured["variant"] == variant)
    # The spreads are from these tables.
    spread_tables = deltas.rows.drop_duplicates("model").set_index("model")["table"]
    tables = measured["table"] + "; " + measured["model"].map(spread_tables)
    measured = measured.assign(table=tables)
    cells = numbers.trained(measured, GROUP).rows.groupby(KEYS, as_index=False)
    tests = of_least_certain(cells, "value")
    tests["p_holm"] = tests.groupby("view")["p"].transform(statistics.holm)
    return _average(measured).merge(tests, on=KEYS)


def printed(published: Mapping, ours: pd.DataFrame) -> pd.DataFrame:
    """Place the paper's Table 1 in the columns and rows of `ours`; of two models of one task, take
    the first."""
    entry = published["table1"]
    series = labelling.first_of_tasks(ours["series"].unique())
    tasks = set(ours["task"])
    cells = []
    for column, values in {"base": entry["base"], **entry["delta"]}.items():
        if column not in series:
            continue
        panel = "f1" if column == "base" else "delta"
        variant = "lexical" if column == "lexical" else "mix"
        for task, value in values.items():
            if task in tasks:
                cells.append((panel, series[column], task, variant, value))
    rows = pd.DataFrame(cells, columns=["panel", "series", "task", "variant", "value"])
    columns = rows.to_dict("list")
    return numbers.published(entry, published["paper"], **columns, view=HEADLINE)


def blocks(ours: pd.DataFrame, compared: pd.DataFrame, word: str) -> Figure:
    """Draw our rows. Below a cell's interval is the same cell of `compared`, in grey after
    `word`."""
    ours = ours[ours["view"] == HEADLINE]
    compared = compared[compared["view"] == HEADLINE]
    tasks = labelling.edge_labels(ours["task"])
    models = list(ours["series"].unique())
    groups = {
        "F1": ["base"],
        "Δ for baselines": [name for name in BASELINES if name in models],
        "Δ for fine-tuned models": [name for name in models if name not in ("base", *BASELINES)],
    }
    columns = [name for names in groups.values() for name in names]
    heights = [HEADER + ROW * len(tasks)]
    has_selectivity = "selectivity" in set(ours["panel"])
    if has_selectivity:
        heights.append(HEADER + 0.75 * ROW * len(tasks))
    width = max(style.TEXT_WIDTH, LABELS + CELL * len(columns))
    height = sum(heights) + 0.1
    figure, grid = style.grid(height, len(heights), width=width, height_ratios=heights)
    axes = grid[0, 0]
    panels = {name: "f1" if name == "base" else "delta" for name in columns}
    _draw_block(axes, ours, compared, word, tasks, panels)
    for title, names in groups.items():
        grids.over(axes, title, [columns.index(name) for name in names])
    if has_selectivity:
        axes = grid[1, 0]
        panels = dict.fromkeys(columns, "selectivity")
        _draw_block(axes, ours, compared.head(0), word, tasks, panels)
        grids.over(axes, "Selectivity", range(len(columns)))
    return figure


def _draw_block(
    axes: Axes,
    ours: pd.DataFrame,
    compared: pd.DataFrame,
    word: str,
    tasks: Mapping[str, str],
    panels: Mapping[str, str],
) -> None:
    """Draw cells of tasks x models; `panels` maps each model to the panel that it shows."""
    our_cells, compared_cells = _by_cell(ours), _by_cell(compared)
    fills = np.full((len(tasks), len(panels)), np.nan)
    for (y, task), (x, (name, panel)) in product(enumerate(tasks), enumerate(panels.items())):
        cell = our_cells.get((panel, name, task))
        if cell is None:
            axes.text(x, y, "–", ha="center", va="center", color="#595959")
            continue
        if panel == "delta":
            fills[y, x] = cell.value
        lines = _cell_lines(cell, compared_cells.get((panel, name, task)), word)
        grids.write(axes, x, y, lines)
    names = [
        labelling.label_of(name) + style.mark_of(ours[ours["series"] == name]) for name in panels
    ]
    look = {"cmap": grids.LOSS_TO_GAIN, "vmin": -SATURATES, "vmax": SATURATES}
    grids.coloured_table(axes, fills, names, tasks.values(), **look)


def _by_cell(rows: pd.DataFrame) -> dict:
    return {(row.panel, row.series, row.task): row for row in rows.itertuples()}


def _cell_lines(cell, compared, word: str) -> list[tuple[str, dict]]:
    """Write the lines of a cell, each with its look: its mean, its interval or else the sd between
    probes, and the mean of the cell that it is compared with, if there is one."""
    number = partial(grids.number, signed=cell.panel == "delta")
    stars = ""
    if cell.p_holm < 0.05:
        stars = "**"
    elif cell.p < 0.05:
        stars = "*"
    lines = [(number(cell.value) + stars, {"fontsize": 8.5})]
    if spread := numbers.spread(cell, number):
        lines.append((spread, {}))
    elif np.isfinite(cell.sd_probe):
        lines.append((f"sd {grids.number(cell.sd_probe, False)}", {}))
    if compared is not None:
        lines.append((f"{word} {number(compared.value)}", {"color": "#404040"}))
    return lines
