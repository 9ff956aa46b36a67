"""Merchant et al. 2020, Figure 1: structural probes before and after fine-tuning, by layer."""

from collections.abc import Mapping

from bertshift.figures import layers, numbers, style
from bertshift.rows.table import Table

KEYS = ["panel", "series", "kind", "measure", "split", "rank", "layer"]
# The two probes side by side, each with the measure of whole trees that belongs to it below:
# panel, title, label.
PANELS = [
    ("depth spearman", "Depth probe", "Spearman"),
    ("distance spearman", "Distance probe", "Spearman"),
    ("depth root_accuracy", "", "root accuracy"),
    ("distance uuas", "", "UUAS"),
]


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw one line per model over layers 0 (embeddings) to L, on dev, of probes of the highest
    rank that was trained. The table has every measure of both probes, on dev and test. The paper
    prints no number of this figure."""
    measured = numbers.rows_of(inputs, "structural_probe")
    measured = measured.assign(panel=measured["kind"] + " " + measured["measure"])
    means = numbers.means(measured, KEYS, ["series"])
    table = numbers.join(means, columns=[*KEYS, *numbers.VALUES])
    rank = table["rank"].max()
    shown = table[(table["split"] == "dev") & (table["rank"] == rank)]
    figure, grid = style.grid(4.1, 2, 2, sharex=True, height_ratios=[1.6, 1])
    for axes, (panel, title, label) in zip(grid.flat, PANELS, strict=True):
        layers.by_model(axes, shown[shown["panel"] == panel])
        layers.layer_axis(axes, shown["layer"])
        axes.set(title=title, ylabel=label)
    for axes in grid[0]:
        axes.set_xlabel("")
    layers.legend_over(figure, *layers.handles_of([grid[0, 0]]))
    return style.captioned(figure, table, f"Probes have rank {rank}.", style.failures(table))
