"""Edge probes in the layout of Table 1 of Merchant et al. 2020: tasks x models, a score and differences from it."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.errors import UserError
from bertshift.figures import grids, numbers, style
from bertshift.rows import statistics

COLUMNS = ["panel", "series", "task", "variant", "view", *numbers.VALUES[:6], "p", "p_holm", "n", "sd_probe",
           "sd_finetuning", "sd_pretraining", *numbers.VALUES[6:]]  # fmt: skip
KEYS = ["series", "task", "variant", "view"]
APART = KEYS[:2]
HEADLINE = "micro_all"
BASELINES = ["lexical", "word_only", "randomized"]

LABELS, CELL, ROW, HEADER = 0.95, 0.85, 0.42, 0.5  # inches
SATURATES = 5.0  # points of difference


def tidy(inputs: Mapping[str, pd.DataFrame], variant: str) -> pd.DataFrame:
    """F1, its difference from the pretrained model, and selectivity, in points, in every view of the score.

    `variant` is the probe's, mix or top; the two lexical readings of the pretrained model's table stand beside mix.
    """
    scores = statistics.in_points(numbers.rows_of(inputs, "edge_probe"))
    lexical = scores["variant"].isin(BASELINES)
    scores["series"] = scores["series"].where(~lexical, scores["variant"])
    scores = scores[(scores["variant"] == variant) | (lexical & (variant == "mix"))]
    is_base = scores["series"] == "base"
    if not is_base.any():
        raise UserError(f"no edge probes of kind '{variant}' on the pretrained model in {', '.join(inputs)}; "
                        "list the model as 'reference' and run its rule again.")  # fmt: skip
    moved = statistics.with_parents(scores[~is_base], scores[is_base], ["task", "view"])
    moved["value"] -= moved["parent"]
    moved["table"] += "; " + numbers.each_once(scores.loc[is_base, "table"])
    chosen = scores[scores["selectivity"].notna()]
    chosen = chosen.assign(value=chosen["selectivity"])
    parts = {
        "f1": (scores, _means(scores)),
        "delta": (
            moved,
            pd.concat([_means(moved[moved["series"].isin(BASELINES)]), _tested(inputs, variant, moved)]),
        ),
        "selectivity": (chosen, _means(chosen)),
    }
    return pd.concat(
        means.merge(statistics.spreads(numbers.trained(rows, APART), KEYS), on=KEYS).assign(panel=panel)
        for panel, (rows, means) in parts.items()
    )


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    return numbers.means(rows, KEYS, APART) if len(rows) else pd.DataFrame(columns=KEYS)


def _tested(inputs: Mapping[str, pd.DataFrame], variant: str, moved: pd.DataFrame) -> pd.DataFrame:
    """Fine-tuned minus pretrained, with the p of the least certain replicate and Holm's over the tests of a view."""
    rows = statistics.in_points(numbers.rows_of(inputs, "edge_probe_delta"))
    rows = rows[rows["variant"] == variant]
    beside = moved.drop_duplicates("model").set_index("model")["table"]  # from which the spreads are
    rows = rows.assign(table=rows["table"] + "; " + rows["model"].map(beside))
    tests = numbers.trained(rows, APART).groupby(KEYS, as_index=False).agg(p=("p", "max"), n=("n", "min"))
    tests["p_holm"] = tests.groupby("view")["p"].transform(statistics.holm)
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
        grids.over(grid[0], title, [columns.index(name) for name in names])
    if selective:
        _block(grid[1], shown, beside.head(0), word, tasks, dict.fromkeys(columns, "selectivity"))
        grids.over(grid[1], "Selectivity", range(len(columns)))
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
            lines = [(grids.number(cell.value, signed) + mark(cell.p, cell.p_holm), {"fontsize": 8.5})]
            if np.isfinite(cell.low):
                lines.append((f"[{grids.number(cell.low, signed)}, {grids.number(cell.high, signed)}]", {}))
            elif np.isfinite(cell.sd_probe):
                lines.append((f"sd {grids.number(cell.sd_probe, False)}", {}))
            if grey is not None:
                lines.append((f"{word} {grids.number(grey.value, signed)}", {"color": "#404040"}))
            for (text, look), line in zip(lines, grids.LINES[len(lines)]):
                axes.text(x, y + line, text, ha="center", va="center", **({"fontsize": 7} | look))
    names = [style.label_of(name) + style.mark_of(shown[shown["series"] == name]) for name in columns]
    look = {"cmap": grids.LOSS_TO_GAIN, "vmin": -SATURATES, "vmax": SATURATES}
    grids.coloured_table(axes, fills, names, tasks.values(), **look)


def mark(p: float, p_holm: float) -> str:
    return "**" if p_holm < 0.05 else "*" if p < 0.05 else ""
