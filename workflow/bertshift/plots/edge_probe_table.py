"""Edge probes in the layout of Table 1 of Merchant et al. 2020: tasks x models, a score and differences from it."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from bertshift import stats
from bertshift.errors import UserError
from bertshift.plots import style, tables

COLUMNS = ["panel", "series", "task", "variant", "view", *tables.VALUES[:6], "p", "p_holm", "n", "sd_probe",
           "sd_finetuning", "sd_pretraining", *tables.VALUES[6:]]  # fmt: skip
KEYS = ["series", "task", "variant", "view"]
APART = KEYS[:2]
HEADLINE = "micro_all"
BASELINES = ["lexical", "word_only", "randomized"]

LABELS, CELL, ROW, HEADER = 0.95, 0.85, 0.42, 0.5  # inches
LOSS_TO_GAIN = LinearSegmentedColormap.from_list("loss to gain", ["#F0A070", "#FFFFFF", "#80B8DE"])
LINES = {1: (0.02,), 2: (-0.18, 0.18), 3: (-0.29, 0, 0.29)}  # shares of a row, from its middle
SATURATES = 5.0  # points of difference
NOTE = (
    "Below each mean, its interval, or the sd between probes if there is one run. Blue = gain, orange = loss, full at 5 "
    "points. * p < .05 in every replicate, ** also after Holm's correction for all tests of the table (paired "
    "bootstrap over test sentences; baselines are not tested). Selectivity is F1 minus the F1 of the same probe on "
    "control labels."
)


def tidy(inputs: Mapping[str, pd.DataFrame], variant: str) -> pd.DataFrame:
    """F1, its difference from the pretrained model, and selectivity, in points, in every view of the score.

    `variant` is the probe's, mix or top; the two lexical readings of the pretrained model's table stand beside mix.
    """
    scores = stats.in_points(tables.rows_of(inputs, "edge_probe"))
    lexical = scores["variant"].isin(BASELINES)
    scores["series"] = scores["series"].where(~lexical, scores["variant"])
    scores = scores[(scores["variant"] == variant) | (lexical & (variant == "mix"))]
    is_base = scores["series"] == "base"
    if not is_base.any():
        raise UserError(f"no edge probes of kind '{variant}' on the pretrained model in {', '.join(inputs)}; "
                        "list the model as 'reference' and run its rule again.")  # fmt: skip
    moved = stats.with_parents(scores[~is_base], scores[is_base], ["task", "view"])
    moved["value"] -= moved["parent"]
    chosen = scores[scores["selectivity"].notna()]
    chosen = chosen.assign(value=chosen["selectivity"])
    parts = {
        "f1": (scores, _means(scores)),
        "delta": (
            moved,
            pd.concat([_means(moved[moved["series"].isin(BASELINES)]), _tested(inputs, variant)]),
        ),
        "selectivity": (chosen, _means(chosen)),
    }
    return pd.concat(
        means.merge(stats.spreads(tables.trained(rows, APART), KEYS), on=KEYS).assign(panel=panel)
        for panel, (rows, means) in parts.items()
    )


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    return tables.means(rows, KEYS, APART) if len(rows) else pd.DataFrame(columns=KEYS)


def _tested(inputs: Mapping[str, pd.DataFrame], variant: str) -> pd.DataFrame:
    """Fine-tuned minus pretrained, with the p of the least certain replicate and Holm's over the tests of a view."""
    rows = stats.in_points(tables.rows_of(inputs, "edge_probe_delta"))
    rows = rows[rows["variant"] == variant]
    tests = tables.trained(rows, APART).groupby(KEYS, as_index=False).agg(p=("p", "max"), n=("n", "min"))
    tests["p_holm"] = tests.groupby("view")["p"].transform(stats.holm)
    return _means(rows).merge(tests, on=KEYS)


def draw(shown: pd.DataFrame, beside: pd.DataFrame, word: str) -> Figure:
    """The figure of `shown`, our rows; below a cell's interval, in grey after `word`, that cell of `beside`."""
    shown, beside = (rows[rows["view"] == HEADLINE] for rows in (shown, beside))
    tasks = style.edge_labels(shown["task"])
    others = [name for name in shown["series"].unique() if name not in ("base", *BASELINES)]
    baselines = [name for name in BASELINES if name in set(shown["series"])]
    columns = ["base", *baselines, *others]
    selective = "selectivity" in set(shown["panel"])
    heights = [HEADER + ROW * len(tasks)] + [HEADER + 0.75 * ROW * len(tasks)] * selective
    width = max(style.TEXT_WIDTH, LABELS + CELL * len(columns))
    figure = Figure((width, sum(heights) + 0.1), layout="constrained")
    grid = np.atleast_1d(figure.subplots(len(heights), 1, height_ratios=heights))
    deltas = {"base": "f1"} | dict.fromkeys(columns[1:], "delta")
    _block(grid[0], shown, beside, word, tasks, deltas)
    groups = [("F1", ["base"]), ("Δ for baselines", baselines), ("Δ for fine-tuned models", others)]
    for title, names in groups:
        over(grid[0], title, [columns.index(name) for name in names])
    if selective:
        _block(grid[1], shown, beside.head(0), word, tasks, dict.fromkeys(columns, "selectivity"))
        over(grid[1], "Selectivity", range(len(columns)))
    return figure


def _block(
    axes: Axes, shown, beside, word: str, tasks: Mapping[str, str], columns: Mapping[str, str]
) -> None:
    """Cells of tasks x `columns`, which name the panel that each column shows."""
    ours, other = (
        {(row.panel, row.series, row.task): row for row in rows.itertuples()} for rows in (shown, beside)
    )
    fills = np.full((len(tasks), len(columns)), np.nan)
    for y, task in enumerate(tasks):
        for x, (name, panel) in enumerate(columns.items()):
            signed = panel == "delta"
            cell, grey = ours.get((panel, name, task)), other.get((panel, name, task))
            if cell is None:
                axes.text(x, y, "–", ha="center", va="center", color="#595959")
                continue
            if signed:
                fills[y, x] = cell.value
            lines = [(number(cell.value, signed) + mark(cell.p, cell.p_holm), {"fontsize": 8.5})]
            if np.isfinite(cell.low):
                lines.append((f"[{number(cell.low, signed)}, {number(cell.high, signed)}]", {}))
            elif np.isfinite(cell.sd_probe):
                lines.append((f"sd {number(cell.sd_probe, False)}", {}))
            if grey is not None:
                lines.append((f"{word} {number(grey.value, signed)}", {"color": "#404040"}))
            for (text, look), line in zip(lines, LINES[len(lines)]):
                axes.text(x, y + line, text, ha="center", va="center", **({"fontsize": 7} | look))
    axes.pcolormesh(
        np.arange(len(columns) + 1) - 0.5, np.arange(len(tasks) + 1) - 0.5, fills, cmap=LOSS_TO_GAIN,
        vmin=-SATURATES, vmax=SATURATES, edgecolors="#d9d9d9", linewidth=0.5,
    )  # fmt: skip
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    names = [style.label_of(name) + style.mark_of(shown[shown["series"] == name]) for name in columns]
    axes.set_xticks(range(len(columns)), names, fontsize=8)
    axes.set_yticks(range(len(tasks)), tasks.values(), fontsize=8)
    axes.invert_yaxis()


def over(axes: Axes, title: str, columns: Iterable[int], above: float = 17) -> None:
    """A title over neighbouring columns, `above` their middle by so many points, over their names."""
    columns = list(columns)
    if columns:
        place = {"xy": ((columns[0] + columns[-1]) / 2, 1), "xycoords": ("data", "axes fraction")}
        axes.annotate(title, **place, xytext=(0, above), textcoords="offset points", ha="center", fontsize=8,
                      fontweight="bold")  # fmt: skip


def number(value: float, signed: bool) -> str:
    """One digit behind the point, as the paper prints, with a true minus sign and none before 0.0."""
    return f"{round(value, 1) + 0.0:{'+' if signed and round(value, 1) else ''}.1f}".replace("-", "−")


def mark(p: float, p_holm: float) -> str:
    return "**" if p_holm < 0.05 else "*" if p < 0.05 else ""
