"""Kovaleva et al. 2019, Figure 9: the score of a fine-tuned model with all heads of one layer disabled."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import ablations, style

ACROSS = 7  # panels side by side, as in the paper


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
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
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
                    ablations.absent(axes)
                    continue
                norm = ablations.draw_cells(axes, cells, base)
                axes.set_xticks([])
                axes.set_yticks(sorted(cells["layer"]))
                ablations.bar(figure, figure.add_subplot(grid[row, 2 * column + 1]), norm, base, "vertical")
                if column == 0:
                    axes.set_ylabel({"ours": "ours\nlayer", "published": "paper\nlayer"}[source])
    style.caption(
        figure, table, "All heads of one layer disabled: each token attends alike to all. Lighter is worse; each panel has "
        "its own colours.", ablations.MARKS, style.failures(table, "panel"),
        ablations.sources(published.get("paper", {}), published.get("figure9", {}), table),
    )  # fmt: skip
    return figure, table
