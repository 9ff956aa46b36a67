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
APART = ["series", "task"]
KEYS = [*APART, "variant", "view"]
HEADLINE = "micro_all"
BASELINES = ["lexical", "word_only", "randomized"]

LABELS, CELL, ROW, HEADER = 0.95, 0.85, 0.42, 0.5  # inches
SATURATES = 5.0  # points of difference
LEARNED = 1.0  # point of F1 on control labels: below it selectivity is as good as F1


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping, variant: str) -> style.Drawn:
    """Draw a row per task and a column per model; `variant` is the probe's, `mix` (Table 1) or
    `top` (Appendix A).

    A grey number stands below ours. With `mix` it is the paper's. With `top` it is that of our
    probe on a mix of layers, as the paper's appendix is not at hand.
    """
    ours = tidy(inputs, variant)
    word, beside = (
        ("paper", printed(published, ours)) if variant == "mix" else ("mix", tidy(inputs, "mix"))
    )
    table = numbers.join(ours, beside, columns=COLUMNS)
    figure = blocks(table[: len(ours)], table[len(ours) :], word)
    scores = numbers.rows_of(inputs, "edge_probe")
    shared = style.shared_probes(scores, scores["series"] == "base")
    return style.captioned(figure, table, unlearned(ours), shared, style.failures(table))


def unlearned(ours: pd.DataFrame) -> str:
    """Name in a sentence the tasks whose control labels are not learned, so that selectivity is
    F1; empty if none."""
    shown = ours[ours["view"] == HEADLINE].set_index(["task", "series"])
    f1, selectivity = (
        shown.loc[shown["panel"] == panel, "value"] for panel in ("f1", "selectivity")
    )
    low = (f1 - selectivity).dropna() < LEARNED
    said = [
        f"{name} ({low[task].sum()} of {len(low[task])} columns)"
        for task, name in labelling.edge_labels(low.reset_index()["task"]).items()
        if low[task].any()
    ]
    known = "Control labels are not learned (F1 below 1), so that selectivity is F1"
    return f"{known}: {', '.join(said)}." if said else ""


def tidy(inputs: Mapping[str, pd.DataFrame], variant: str) -> pd.DataFrame:
    """Tabulate F1, its difference from the pretrained model, and selectivity, in points, in every
    view of the score.

    The two lexical readings of the pretrained model's table stand beside mix.
    """
    scores = statistics.in_points(numbers.rows_of(inputs, "edge_probe"))
    lexical = scores["variant"].isin(BASELINES)
    scores["series"] = scores["series"].where(~lexical, scores["variant"])
    scores = scores[(scores["variant"] == variant) | (lexical & (variant == "mix"))]
    is_base = scores["series"] == "base"
    if not is_base.any():
        raise UserError(
            f"no edge probes of kind '{variant}' on the pretrained model in {', '.join(inputs)}; "
            "list the model as 'reference' and run its rule again."
        )
    moved = statistics.minus_parents(scores[~is_base], scores[is_base], ["task", "view"])
    moved["table"] += "; " + numbers.each_once(scores.loc[is_base, "table"])
    baselines = _means(moved[moved["series"].isin(BASELINES)])
    selective = scores.dropna(subset="selectivity")
    selective = statistics.with_value(selective, selective["selectivity"])
    panels = {
        "f1": (scores, _means(scores)),
        "delta": (moved, pd.concat([baselines, _tested(inputs, variant, moved)])),
        "selectivity": (selective, _means(selective)),
    }
    return pd.concat(
        means.merge(statistics.spreads(numbers.trained(rows, APART), KEYS), on=KEYS).assign(
            panel=panel
        )
        for panel, (rows, means) in panels.items()
    )


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    return numbers.means(rows, KEYS, APART) if len(rows) else pd.DataFrame(columns=KEYS)


def _tested(inputs: Mapping[str, pd.DataFrame], variant: str, moved: pd.DataFrame) -> pd.DataFrame:
    """Average fine-tuned minus pretrained, with the p of the least certain replicate and Holm's
    over a view's tests.

    Replicates that differ in direction are no evidence of either direction: their p is 1.
    """
    rows = statistics.in_points(numbers.rows_of(inputs, "edge_probe_delta"))
    rows = rows[rows["variant"] == variant]
    # The spreads are from these tables.
    beside = moved.drop_duplicates("model").set_index("model")["table"]
    rows = rows.assign(table=rows["table"] + "; " + rows["model"].map(beside))
    of_cells = numbers.trained(rows, APART).groupby(KEYS, as_index=False)
    tests = of_cells.agg(
        p=("p", "max"), n=("n", "min"), least=("value", "min"), most=("value", "max")
    )
    apart = (tests.pop("least") < 0) & (tests.pop("most") > 0)
    tests["p"] = tests["p"].mask(apart & tests["p"].notna(), 1.0)
    tests["p_holm"] = tests.groupby("view")["p"].transform(statistics.holm)
    return _means(rows).merge(tests, on=KEYS)


def printed(published: Mapping, ours: pd.DataFrame) -> pd.DataFrame:
    """Place the paper's Table 1 in the columns and rows of `ours`; of two models of one task,
    beside the first."""
    entry = published["table1"]
    series = {labelling.task_of(name): name for name in reversed(ours["series"].unique())}
    cells = [
        (
            "f1" if column == "base" else "delta",
            series[column],
            task,
            "lexical" if column == "lexical" else "mix",
            value,
        )
        for column, values in {"base": entry["base"], **entry["delta"]}.items()
        if column in series
        for task, value in values.items()
        if task in set(ours["task"])
    ]
    rows = pd.DataFrame(cells, columns=["panel", "series", "task", "variant", "value"]).to_dict(
        "list"
    )
    return numbers.published(entry, published["paper"], **rows, view=HEADLINE)


def blocks(shown: pd.DataFrame, beside: pd.DataFrame, word: str) -> Figure:
    """Draw `shown`, our rows. Below a cell's interval stands the same cell of `beside`, in grey
    after `word`."""
    shown, beside = (rows[rows["view"] == HEADLINE] for rows in (shown, beside))
    tasks = labelling.edge_labels(shown["task"])
    present = list(shown["series"].unique())
    groups = {
        "F1": ["base"],
        "Δ for baselines": [name for name in BASELINES if name in present],
        "Δ for fine-tuned models": [name for name in present if name not in ("base", *BASELINES)],
    }
    columns = [name for names in groups.values() for name in names]
    selective = "selectivity" in set(shown["panel"])
    heights = [HEADER + ROW * len(tasks)] + [HEADER + 0.75 * ROW * len(tasks)] * selective
    width = max(style.TEXT_WIDTH, LABELS + CELL * len(columns))
    figure, grid = style.grid(sum(heights) + 0.1, len(heights), width=width, height_ratios=heights)
    grid = grid[:, 0]
    deltas = {name: "f1" if name == "base" else "delta" for name in columns}
    _block(grid[0], shown, beside, word, tasks, deltas)
    for title, names in groups.items():
        grids.over(grid[0], title, [columns.index(name) for name in names])
    if selective:
        _block(grid[1], shown, beside.head(0), word, tasks, dict.fromkeys(columns, "selectivity"))
        grids.over(grid[1], "Selectivity", range(len(columns)))
    return figure


def _block(
    axes: Axes, shown, beside, word: str, tasks: Mapping[str, str], columns: Mapping[str, str]
) -> None:
    """Draw cells of tasks x `columns`, which map the name of each column to the panel that it
    shows."""
    key = ["panel", "series", "task"]
    ours, other = (
        dict(zip(map(tuple, rows[key].values), rows.itertuples())) for rows in (shown, beside)
    )
    fills = np.full((len(tasks), len(columns)), np.nan)
    for (y, task), (x, (name, panel)) in product(enumerate(tasks), enumerate(columns.items())):
        cell, grey = ours.get((panel, name, task)), other.get((panel, name, task))
        if cell is None:
            axes.text(x, y, "–", ha="center", va="center", color="#595959")
            continue
        number = partial(grids.number, signed=panel == "delta")
        fills[y, x] = cell.value if panel == "delta" else np.nan
        stars = "**" if cell.p_holm < 0.05 else "*" if cell.p < 0.05 else ""
        lines = [(number(cell.value) + stars, {"fontsize": 8.5})]
        if spread := numbers.spread(cell, number):
            lines.append((spread, {}))
        elif np.isfinite(cell.sd_probe):
            lines.append((f"sd {grids.number(cell.sd_probe, False)}", {}))
        if grey is not None:
            lines.append((f"{word} {number(grey.value)}", {"color": "#404040"}))
        grids.write(axes, x, y, lines)
    names = [
        labelling.label_of(name) + style.mark_of(shown[shown["series"] == name])
        for name in columns
    ]
    look = {"cmap": grids.LOSS_TO_GAIN, "vmin": -SATURATES, "vmax": SATURATES}
    grids.coloured_table(axes, fills, names, tasks.values(), **look)
