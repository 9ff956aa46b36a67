"""How much attention changes: Figure 5 of Kovaleva et al. 2019, by head, and two controls of ours
beside it.

Do the last layers change most because their steps are larger? And is the change a layer's own, or
its input's?
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from bertshift.figures import grids, layers, numbers, style
from bertshift.papers.kovaleva2019 import panels
from bertshift.rows import labelling, statistics
from bertshift.rows.nulls import model_of, null_of

CMAP = "Blues_r"  # the paper's own
CURVES = {
    ("ours", "crop"): ("ours, tokens only", {"color": "#0072B2", "linestyle": "-"}),
    ("ours", "padded"): ("ours, padded", {"color": "#0072B2", "linestyle": "--"}),
    ("published", "padded"): ("published (padded)", {"color": "#000000", "linestyle": ":"}),
}
NOISE_COLOUR = "#D55E00"  # dashed, ours are blue
ROWS = {
    "ours\nlayer": ("crop", "ours"),
    "ours, padded\nlayer": ("padded", "ours"),
    "published*\nlayer": ("padded", "published"),
}
QUANTITIES = {
    "gradient": "gradient",
    "update": "update",
    "displacement": "distance from start",
    "attention": "1 − cosine\nof attention",
}
LINES = {name: (name, {"color": "#0072B2", "marker": "o"}) for name in QUANTITIES}
MEASURES = {"cosine_distance": "1 − cosine", "js": "JS divergence (nats)"}
PARTS = {
    "total": ("both, as fine-tuned", {"color": "#000000", "marker": "o"}),
    "own": ("the layer's weights alone", {"color": "#D55E00", "marker": "s"}),
    "inherited": ("its input alone", {"color": "#0072B2", "marker": "^"}),
}


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Tabulate our mean of every head and layer (head 0), cropped and padded, and the published
    panels of the same tasks. Where shapes agree, add the correlation over heads of either of ours
    with the published ones (crop_r, padded_r)."""
    rows = numbers.stack(inputs, "cosine", ["crop", "padded"])
    models = [model for model in rows["model"].unique() if not null_of(model)]
    heads = numbers.first_run(rows[(rows["head"] > 0) & rows["model"].isin(models)], "model")
    parts = [numbers.ours(pd.concat([rows[rows["head"] == 0], heads]), "model", "variant")]
    entry, paper = published["figure5"], published["paper"]
    for model, panel in panels.papers(published, "figure5", models):
        means = {
            "layer": [*range(1, len(panel["layer_mean"]) + 1)],
            "head": 0,
            "value": panel["layer_mean"],
        }
        facts = dict.fromkeys(["series", "variant"], entry["variant"]) | {
            "stimuli": labelling.task_of(model)
        }
        parts += [
            numbers.published(entry, paper, panel=model, **facts, **cells)
            for cells in (numbers.cells(panel["matrix"]), means)
        ]
    table = numbers.join(*parts)
    return numbers.join(table, *correlations(table[table["head"] > 0]))


def correlations(cells: pd.DataFrame) -> list[pd.DataFrame]:
    """Correlate our heads with the published ones, a row for each panel and variant where shapes
    agree."""
    nothing = {
        "layer": 0,
        "head": 0,
        "low": np.nan,
        "high": np.nan,
        "each": "",
        "provenance": "derived",
    }
    found = []
    for _, rows in cells.groupby("panel", sort=False):
        theirs = rows[rows["source"] == "published"]
        for variant, ours in rows[rows["source"] == "ours"].groupby("variant"):
            r = panels.correlation(ours, theirs)
            if r is not None:
                name = f"{variant}_r"
                found.append(ours.head(1).assign(variant=name, series=name, value=r, **nothing))
    return found


def figure5(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw heat maps [layers, heads] per task, ours (cropped, padded) above the published; all
    layer means below."""
    table = tidy(inputs, published)
    rows = {label: kind for label, kind in ROWS.items() if kind[1] in set(table["source"])}
    figure, grid = panels.heat_maps(
        table[table["head"] > 0],
        ["variant", "source"],
        rows,
        Normalize(0, 1),
        CMAP,
        below={"mean of\nheads": 0.95},
        ticks=[0, 0.5, 1],
        label="cosine",
    )
    means = dict(list(table[table["head"] == 0].groupby("panel", sort=False)))
    models = [panel for panel in means if not null_of(panel)]
    for axes, model in zip(grid[:, -1], models):
        profile(
            axes,
            means[model],
            pd.concat([means[panel] for panel in means if model_of(panel) == model]),
        )
    panels.legend(figure, *grid[:, -1])
    more = "; its maps include rows of padding. r: over heads with ours, padded"
    cited = numbers.cited(published, "figure5", table, more)
    return style.captioned(
        figure, table, cited, layers.null_note(table, "panel"), style.failures(table, "panel")
    )


def profile(axes: Axes, means: pd.DataFrame, beside: pd.DataFrame) -> None:
    """Draw one task's layer means, over relative depth where our model and the paper's differ in
    number of layers. Nulls are `beside` them."""
    depths = means.groupby("source")["layer"].max()
    relative = depths.nunique() > 1

    def placed(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(
            depth=rows["layer"] / rows["source"].map(depths) if relative else rows["layer"]
        )

    means = placed(means)
    layers.nulls(axes, placed(beside), "panel", "depth", lambda _: NOISE_COLOUR)
    for (source, variant), (label, look) in CURVES.items():
        rows = means[(means["source"] == source) & (means["variant"] == variant)]
        if len(rows):
            layers.curve(axes, rows, label, look, "depth", marker="." if len(rows) < 8 else None)
    axes.set(ylim=(0, 1.05), yticks=[0, 0.5, 1])
    if relative:
        axes.set(
            xlim=(0, 1.06),
            xlabel="layer / layers",
            xticks=[0, 0.5, 1],
            xticklabels=["0", ".5", "1"],
        )
    else:
        axes.set(xlabel="layer", xticks=grids.ends(depths.max()))
    axes.tick_params(length=1.5, pad=1)


def steps(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw a panel over layers per quantity (series and variant) and task."""
    moved, changes = (numbers.rows_of(inputs, metric) for metric in ("steps", "cosine"))
    changes = changes[(changes["head"] == 0) & (changes["variant"] == "crop")]
    changes = statistics.mapped(changes.assign(variant="attention"), lambda cosine: 1 - cosine)
    rows = pd.concat([moved, changes], ignore_index=True)
    return _drawn(rows.assign(series=rows["variant"]), QUANTITIES, LINES)


def own_or_inherited(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw a panel over layers per measure (series) and task, with a line per variant."""
    rows = numbers.stack(inputs, "own_or_inherited", list(PARTS))
    return _drawn(rows[rows["head"] == 0].rename(columns={"measure": "series"}), MEASURES, PARTS)


def _drawn(rows: pd.DataFrame, series: Mapping, variants: Mapping) -> style.Drawn:
    table = numbers.join(numbers.ours(rows, "model", "series"))
    figure = layers.small_multiples(table, "series", series, variants)
    noise = layers.null_note(table, "panel", "Dash-dotted")
    return style.captioned(figure, table, noise, style.failures(table, "panel"))
