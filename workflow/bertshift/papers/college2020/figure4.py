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
BY = COLUMNS[:5]
PLACE = ["scale", "checkpoint", "data", "table"]
LOOKS = {"loss": {"alpha": 0.25, "linewidth": 0.6}, "smoothed": {"linewidth": 1.2}}
ACROSS = 3


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Losses (`loss`: mean since the step before; `smoothed`: the moving average), means over the replicates that made
    this step."""
    parts = []
    for path, table in inputs.items():
        about = {"panel": min(table["model"], key=len), "table": path}
        curves = on_common_steps(table.rename(columns={"value": "loss"}).assign(**about))
        rows = curves.melt(["panel", "position", "layers", "step", "init", "seed"], list(LOOKS), "series")
        part = statistics.summarise(rows, BY).sort_values(BY, kind="stable")
        made_from = {key: "; ".join(map(str, curves[key].unique())) for key in PLACE}
        parts.append(part.assign(source="ours", provenance="measured", **made_from))
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
            curves = {name: np.interp(steps, run["step"], run[name]) for name in LOOKS}
            parts.append(run.iloc[np.zeros(len(steps), int)].assign(step=steps, **curves))
    return pd.concat(parts, ignore_index=True)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One panel per task, a line for each first re-initialised layer; the plain model in black."""
    table = tidy(inputs, published)
    panels = table.groupby("panel", sort=False)
    columns = min(ACROSS, len(panels))
    lines = -(-len(panels) // columns)
    depth = int(table["layers"].max())
    figure = Figure((style.TEXT_WIDTH, 1.9 * lines + 0.3), layout="constrained")
    colours = matplotlib.colormaps["viridis"].resampled(depth)
    for place, (panel, curves) in enumerate(panels):
        axes = figure.add_subplot(lines, columns, place + 1)
        for (position, layers, series), rows in curves.groupby(["position", "layers", "series"]):
            look = {"color": colours(position - 1), "zorder": 2} | LOOKS[series]
            if position > layers:  # none is re-initialised
                look |= {"color": "black", "zorder": 3, "linestyle": "--" if series == "smoothed" else "-"}
            axes.plot(rows["step"], rows["value"], **look)
        axes.set(title=style.label_of(panel), xlabel="step", ylim=(0, None))
        if place % columns == 0:
            axes.set_ylabel("training loss")
    bar = figure.colorbar(
        ScalarMappable(BoundaryNorm(np.arange(depth + 1) + 0.5, depth), colours), ax=figure.axes, fraction=0.03, pad=0.02,
        ticks=range(1, depth + 1, 1 if depth <= 12 else 3),
    )  # fmt: skip
    bar.set_label("first re-initialised layer")
    return style.captioned(figure, table)
