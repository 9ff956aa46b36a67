"""BERT Goes to College, Figure 4: the training loss of models with re-initialised layers."""

from collections.abc import Mapping

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure

from bertshift.figures import numbers, style
from bertshift.rows import statistics

COLUMNS = ["panel", "series", "position", "layers", "step", *numbers.VALUES]
PLACE = ["scale", "checkpoint", "data", "table"]
KINDS = {"loss": "value", "smoothed": "smoothed"}


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Losses (`loss`: mean since the step before; `smoothed`: the moving average), means over the replicates that made
    this step; their range where there are several."""
    parts = []
    for path, table in inputs.items():
        panel = min(table["model"], key=len)
        rows = statistics.with_replicates(on_common_steps(table.assign(table=path)))
        unit = statistics.UNITS[rows["replicate"].iloc[0][:4]]
        for series, column in KINDS.items():
            each = rows.groupby(["position", "layers", "step", "replicate"], as_index=False)[column].mean()
            part = each.groupby(["position", "layers", "step"], as_index=False)[column].agg(
                value="mean", low="min", high="max", replicates="size"
            )
            alone = part["replicates"] == 1
            part.loc[alone, ["low", "high"]] = np.nan
            part = part.assign(
                panel=panel, series=series, unit=unit, interval=np.where(alone, "none", "min-max"), source="ours",
                provenance="measured", **{key: "; ".join(map(str, rows[key].unique())) for key in PLACE},
            )  # fmt: skip
            parts.append(part)
    return numbers.join(*parts, columns=COLUMNS)


def on_common_steps(table: pd.DataFrame) -> pd.DataFrame:
    """Every run's rows at the steps of the longest run of its model, up to its own end: runs that stop at a plateau do
    not all stop at one step, and each is thinned by its own number of steps."""
    parts = []
    for _, rows in table.groupby("model", sort=False):
        runs = [run.sort_values("step") for _, run in rows.groupby(["init", "seed"])]
        longest = max((run["step"].to_numpy() for run in runs), key=max)
        for run in runs:
            steps = longest[longest <= run["step"].max()]
            curves = {name: np.interp(steps, run["step"], run[name]) for name in KINDS.values()}
            parts.append(run.iloc[np.zeros(len(steps), int)].assign(step=steps, **curves))
    return pd.concat(parts, ignore_index=True)


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One panel per task, a line for each first re-initialised layer; the plain model in black."""
    table = tidy(inputs, published)
    panels = list(table["panel"].unique())
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    depth = int(table["layers"].max())
    figure = Figure((style.TEXT_WIDTH, 1.9 * lines + 0.3), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False).ravel()
    colours = matplotlib.colormaps["viridis"].resampled(depth)
    for axes, panel in zip(grid, panels):
        of_panel = table[table["panel"] == panel]
        for position, rows in of_panel.groupby("position"):
            none = position > rows["layers"].iloc[0]
            look = {"color": "black" if none else colours(position - 1), "zorder": 3 if none else 2}
            for series, weight in (
                ("loss", {"alpha": 0.25, "linewidth": 0.6}),
                ("smoothed", {"linewidth": 1.2}),
            ):
                curve = rows[rows["series"] == series]
                axes.plot(
                    curve["step"], curve["value"], **look, **weight,
                    linestyle="--" if none and series == "smoothed" else "-"
                )  # fmt: skip
        axes.set(title=style.label_of(panel), xlabel="step", ylim=(0, None))
    for axes in grid[len(panels) :]:
        axes.axis("off")
    for axes in grid[::columns]:
        axes.set_ylabel("training loss")
    bar = figure.colorbar(
        ScalarMappable(BoundaryNorm(np.arange(depth + 1) + 0.5, depth), colours), ax=list(grid), fraction=0.03, pad=0.02,
        ticks=range(1, depth + 1, 1 if depth <= 12 else 3),
    )  # fmt: skip
    bar.set_label("first re-initialised layer")
    return style.captioned(figure, table)
