"""Kovaleva et al. 2019, Figure 9: the score of a fine-tuned model with all heads of one layer disabled."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.figures.grids import ACROSS
from bertshift.papers.kovaleva2019 import ablations


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mean of every layer, the score with nothing disabled (variant none), and the published panels."""
    rows = ablations.scores(inputs)
    rows = ablations.of_sweep(rows[rows["head"] == 0])
    entry, paper = published.get("figure9", {}), published.get("paper", {})
    metrics = published.get("figure8", {}).get("metrics", {})
    return ablations.join(
        ablations.means(rows),
        *ablations.published(entry, paper, metrics, list(rows["panel"].unique()), "layers"),
    )


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """A column of cells per task, layer 1 on top, each with its own colours and colour bar; ours above the paper's."""
    table = tidy(inputs, published)
    panels = list(table["panel"].unique())
    kinds = [source for source in ("ours", "published") if (table["source"] == source).any()]
    across = min(max(len(panels), 3), ACROSS)
    blocks = [panels[start : start + across] for start in range(0, len(panels), across)]
    figure = Figure(
        (style.TEXT_WIDTH * (across + 0.3) / (ACROSS + 0.3), 0.1 + 1.75 * len(kinds) * len(blocks)),
        layout="constrained",
    )
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.04, wspace=0)
    grid = figure.add_gridspec(len(kinds) * len(blocks), 2 * across, width_ratios=[1, 0.55] * across)
    for block, names in enumerate(blocks):
        for row, source in enumerate(kinds, block * len(kinds)):
            for column, panel in enumerate(names):
                axes = figure.add_subplot(grid[row, 2 * column])
                cells, base = ablations.cells_of(table, panel, source)
                if source == kinds[0]:
                    score = cells["score"].iloc[0]
                    axes.set_title(f"{style.label_of(panel)}\n{style.SCORES.get(score, score)}", fontsize=7.5)
                if cells.empty:
                    grids.heat_map(axes, cells)
                    continue
                norm = ablations.draw_cells(axes, cells, base)
                axes.set_xticks([])
                grids.ticks(axes.yaxis, sorted(cells["layer"]))
                ablations.bar(figure, figure.add_subplot(grid[row, 2 * column + 1]), norm, base, "vertical")
                if column == 0:
                    axes.set_ylabel({"ours": "ours\nlayer", "published": "paper\nlayer"}[source])
    return style.captioned(
        figure, table, style.failures(table, "panel"), numbers.cited(published, "figure9", table, ablations.INFERRED)
    )  # fmt: skip
