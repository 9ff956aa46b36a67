"""How much attention changes: Figure 5 of Kovaleva et al. 2019, by head, and two controls of ours.

The controls ask whether the last layers change most because their steps are larger, and whether a
layer's own weights or its input change its attention and its hidden states.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from bertshift.figures import grids, layers, numbers, style
from bertshift.papers.kovaleva2019 import panels
from bertshift.rows import labelling
from bertshift.rows.nulls import NOISE, model_of, null_of
from bertshift.rows.table import Table, concat

CMAP = "Blues_r"  # the paper's own
CURVES = {
    ("ours", "crop"): ("ours, tokens only", {"color": "#0072B2"}),
    ("ours", "padded"): ("ours, padded", {"color": "#56B4E9"}),
    ("published", "padded"): (
        "published (padded)",
        style.PUBLISHED | {"color": "#000000", "markerfacecolor": "white", "markersize": 4},
    ),
}
CURVE = {"marker": ".", "linewidth": 1.1, "markeredgewidth": 0.5}
NOISE_COLOUR = "#D55E00"  # dashed, ours are blue
# {label: (variant, source)}, from top to bottom.
ROWS = {
    "ours\nlayer": ("crop", "ours"),
    "ours, padded\nlayer": ("padded", "ours"),
    "published*\nlayer": ("padded", "published"),
}
QUANTITIES = {
    "gradient": "|gradient| / |W₀|",
    "update": "|update| / |W₀|",
    "displacement": "|W − W₀| / |W₀|",
    "attention": "1 − cosine\nof attention",
}
LINES = {name: (name, {"color": "#0072B2", "marker": "o"}) for name in QUANTITIES}
MEASURES = {
    "cosine_distance": "1 − cosine",
    "js": "JS divergence (nats)",
    "rsa_distance": "1 − RSA\nof hidden states",
}
PARTS = {
    "total": ("both, as fine-tuned", {"color": "#000000", "marker": "o"}),
    "own": ("the layer's weights alone", {"color": "#D55E00", "marker": "s"}),
    "inherited": ("its input alone", {"color": "#0072B2", "marker": "^"}),
}
# The same parts of the change of hidden states, which have names of their own in the tables.
PARTS |= {"both": PARTS["total"], "made": PARTS["own"], "arrived": PARTS["inherited"]}
STATES_NOTE = (
    "Hidden states: 1 − RSA of the layer's output for content tokens, to the pretrained model's."
)


def tidy(inputs: Mapping[str, Table], published: Mapping) -> pd.DataFrame:
    """Tabulate our mean of every head and layer (head 0), cropped and padded, and the published
    panels of the same tasks. Where shapes agree, add the correlation over heads of either of ours
    with the published ones (crop_r, padded_r)."""
    measured = numbers.stack(inputs, "cosine", ["crop", "padded"])
    models = [model for model in measured["model"].unique() if not null_of(model)]
    layer_means = measured.query("head == 0")
    heads = measured.where((measured["head"] > 0) & measured["model"].isin(models))
    heads = numbers.first_run(heads, "model")
    ours = numbers.ours(concat([layer_means, heads]), "model", "variant")
    table = numbers.join(ours, *read_published(published, models))
    return numbers.join(table, *correlations(table.query("head > 0")))


def read_published(published: Mapping, models: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Read the paper's cosine of every head and its mean of every layer (head 0)."""
    entry, paper = published["figure5"], published["paper"]
    for model, panel in panels.published_panels(published, "figure5", models):
        heads = numbers.cells(panel["matrix"])
        layer_means = panels.layer_cells(panel["layer_mean"])
        for cells in (heads, layer_means):
            yield numbers.published(
                entry,
                paper,
                panel=model,
                series=entry["variant"],
                variant=entry["variant"],
                stimuli=labelling.task_of(model),
                **cells,
            )


def correlations(cells: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Correlate our heads with the published ones, a row for each panel and variant where shapes
    agree."""
    for _, rows in cells.groupby("panel", sort=False):
        theirs = rows.query("source == 'published'")
        for variant, ours in rows.query("source == 'ours'").groupby("variant"):
            r = panels.correlation(ours, theirs)
            if r is None:
                continue
            name = f"{variant}_r"
            row = ours.head(1).assign(variant=name, series=name, layer=0, head=0, value=r)
            yield row.assign(low=np.nan, high=np.nan, each="", provenance="derived")


def figure5(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw heat maps [layers, heads] per task, ours (cropped, padded) above the published; all
    layer means below."""
    table = tidy(inputs, published)
    figure, grid = panels.heat_maps(
        table.query("head > 0"),
        ["variant", "source"],
        panels.rows_with_source(ROWS, table),
        Normalize(0, 1),
        CMAP,
        below={"mean of\nheads": 0.95},
        ticks=[0, 0.5, 1],
        label="cosine",
    )
    layer_means = table.query("head == 0")
    models = [panel for panel in layer_means["panel"].unique() if not null_of(panel)]
    bottom_row = grid[:, -1]
    for axes, model in zip(bottom_row, models):
        means = layer_means[layer_means["panel"] == model]
        with_nulls = layer_means[layer_means["panel"].map(model_of) == model]
        draw_layer_means(axes, means, with_nulls)
    panels.legend(figure, *bottom_row)
    more = "; its maps include rows of padding and stand below ours"
    return style.captioned(
        figure,
        table,
        numbers.cited(published, "figure5", table, more),
        panels.explain_r(figure, "correlation over heads with ours, padded"),
        layers.null_note(table, "panel"),
        style.failures(table, "panel"),
        with_intervals=layer_means,
    )


def draw_layer_means(axes: Axes, means: pd.DataFrame, with_nulls: pd.DataFrame) -> None:
    """Draw one task's layer means, and those of its nulls. The x axis is relative depth where our
    model and the paper's differ in number of layers."""
    layer_counts = means.groupby("source")["layer"].max()
    is_relative = layer_counts.nunique() > 1

    def add_depth(rows: pd.DataFrame) -> pd.DataFrame:
        if is_relative:
            return rows.assign(depth=rows["layer"] / rows["source"].map(layer_counts))
        return rows.assign(depth=rows["layer"])

    means = add_depth(means)
    layers.nulls(axes, add_depth(with_nulls), "panel", "depth", lambda _: NOISE_COLOUR)
    for (source, variant), (label, look) in CURVES.items():
        rows = means[(means["source"] == source) & (means["variant"] == variant)]
        if len(rows):
            layers.curve(axes, rows, label, CURVE | look, "depth")
    axes.set(ylim=(0, 1.05), yticks=[0, 0.5, 1])
    if is_relative:
        axes.set(xlim=(0, 1.06), xticks=[0, 0.5, 1], xticklabels=["0", ".5", "1"])
        axes.set_xlabel("layer / layers")
    else:
        axes.set(xlabel="layer", xticks=grids.ends(layer_counts.max()))
    axes.tick_params(length=1.5, pad=1)


def steps(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a panel over layers per quantity (series and variant) and task."""
    step_sizes = numbers.rows_of(inputs, "steps")
    cosines = numbers.rows_of(inputs, "cosine")
    cosines = cosines.query("head == 0 and variant == 'crop'")
    cosines = cosines.assign(variant="attention")
    changes = cosines.mapped(lambda cosine: 1 - cosine)
    measured = concat([step_sizes, changes])
    measured = measured.assign(series=measured["variant"])
    return _draw_by_layer(measured, QUANTITIES, LINES)


def own_or_inherited(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a panel over layers per measure (series) and task, with a line per variant."""
    measured = numbers.stack(inputs, "own_or_inherited", list(PARTS))
    measured = measured.query("head == 0").rename(measure="series")
    measured = measured.where(measured["series"].isin([*MEASURES]))
    has_states = (measured["series"] == "rsa_distance").any()
    return _draw_by_layer(measured, MEASURES, PARTS, STATES_NOTE if has_states else "")


def _draw_by_layer(
    measured: Table, series: Mapping, variants: Mapping, note: str = ""
) -> style.Drawn:
    table = numbers.join(numbers.ours(measured, "model", "series"))
    figure = layers.small_multiples(table, "series", series, variants)
    return style.captioned(
        figure,
        table,
        note,
        layers.null_note(table, "panel"),
        _describe_noise(table, series),
        style.failures(table, "panel"),
    )


def _describe_noise(table: pd.DataFrame, series: Mapping) -> str:
    """Write how high the lines of noise reach, which may lie on the axis; empty without noise."""
    noise = table[table["panel"].map(null_of) == NOISE]
    if noise.empty:
        return ""
    most = noise.groupby("series", sort=False)["value"].max()
    reached = " and ".join(f"a {series[name]} of {value:.2g}" for name, value in most.items())
    reached = reached.replace("\n", " ")
    return f"Each part's noise has its colour, and reaches {reached} at most."
