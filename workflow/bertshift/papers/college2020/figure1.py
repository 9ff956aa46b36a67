"""BERT Goes to College 2020, Figure 1: training loss with and without an intermediate task."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import numbers, style
from bertshift.rows import statistics

COLUMNS = ["panel", "series", "heads", "variant", "step", *numbers.VALUES]
DIRECT = "direct"
ACROSS = 2


def tidy(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Means over replicates by final task (`panel`), intermediate task or `direct` (`series`), head and step; variant `loss` or
    `smoothed`. The paper prints no number."""
    return numbers.join(*(curve(rows).assign(table=path) for path, rows in inputs.items()), columns=COLUMNS)


def curve(rows: pd.DataFrame) -> pd.DataFrame:
    """Both variants of one model, over its steps."""
    model = rows["model"].iloc[0]
    series, heads = style.intermediate_of(model)
    replicates = statistics.with_replicates(rows)
    parts = []
    for variant, column in (("loss", "value"), ("smoothed", "smoothed")):
        runs = replicates.pivot_table(index="replicate", columns="step", values=column)
        one = statistics.estimate(runs)
        parts.append(
            pd.DataFrame(
                {"variant": variant, "step": runs.columns, "value": one.mean, "low": one.low, "high": one.high,
                 "replicates": one.replicates, "interval": one.interval}
            )
        )  # fmt: skip
    return pd.concat(parts, ignore_index=True).assign(
        panel=style.task_of(model),
        series=series or DIRECT,
        heads=heads,
        unit=statistics.UNITS[runs.index[0][:4]],
        source="ours",
        provenance="measured",
        **{
            column: "; ".join(rows[column].astype(str).unique()) for column in ("scale", "checkpoint", "data")
        },
    )


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """A panel per final task and a line per intermediate task: smoothed, over the loss of every step in pale."""
    table = tidy(inputs)
    panels = list(table["panel"].unique())
    lines = -(-len(panels) // ACROSS)
    figure = Figure((style.TEXT_WIDTH, 0.3 + 1.75 * lines), layout="constrained")
    grid = figure.subplots(lines, ACROSS, squeeze=False)
    handles = {}
    for axes, panel in zip(grid.flat, panels):
        for (series, heads), rows in table[table["panel"] == panel].groupby(["series", "heads"], sort=False):
            color = "black" if series == DIRECT else style.look_of(style.task_of(series))["color"]
            raw, smoothed = (rows[rows["variant"] == variant] for variant in ("loss", "smoothed"))
            axes.plot(raw["step"], raw["value"], linewidth=0.4, alpha=0.25, zorder=1, color=color)
            dashes = "--" if heads == "carry" else "-"
            [line] = axes.plot(
                smoothed["step"], smoothed["value"], dashes, color=color, linewidth=1.1, zorder=3
            )
            handles.setdefault(series, line)
            if smoothed["low"].notna().any():
                axes.fill_between(smoothed["step"], smoothed["low"], smoothed["high"], color=color, alpha=0.15,
                                  linewidth=0, zorder=2)  # fmt: skip
        axes.set_title(f"final task: {style.WORDS.get(panel, panel)}")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("iteration")
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    for axes in grid[:, 0]:
        axes.set_ylabel("training loss")
    order = [series for series in (DIRECT, *panels) if series in handles]
    names = [f"after {style.WORDS.get(series, series)}" if series != DIRECT else series for series in order]
    figure.legend([handles[series] for series in order], names, loc="outside upper center", ncols=len(order))
    carried = "Dashed: under the head of the intermediate task." if (table["heads"] == "carry").any() else ""
    return style.captioned(figure, table, carried)
