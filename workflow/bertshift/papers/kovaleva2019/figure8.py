"""Kovaleva et al. 2019, Figure 8: the score of a fine-tuned model with one head disabled."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.papers.kovaleva2019 import ablations
from bertshift.rows import statistics

PAIRS = 2  # of ours and the paper's panel, side by side
FRAMES = (
    "Framed: best or worst on a sample of the development set, which the colours show, and run again on the complete set, "
    "from which their dots and the best gain are."
)
GAIN, HONEST = "largest_gain", "largest_gain_other_half"


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mean of every head, the score with nothing disabled (variant none), the gain from the head that helps most,
    and that gain on the half of the examples on which the head was not chosen; and the published panels.

    `sample` is `sample` or `complete`; heads that were run again on the complete development set have a row of each, the
    latter over the replicates in which they were.
    """
    rows = numbers.first_run(ablations.scores(inputs))
    heads = rows[(rows["head"] > 0) | (rows["layer"] == 0)]
    entry, paper = published.get("figure8", {}), published.get("paper", {})
    return ablations.join(
        ablations.means(heads),
        ablations.means(gains(heads, inputs)),
        *ablations.published(entry, paper, entry.get("metrics", {}), list(rows["panel"].unique()), "matrix"),
    )


def gains(heads: pd.DataFrame, inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows of GAIN, on the complete development set if heads were run again on it, and HONEST, one a replicate."""
    replicate = ["model", "init", "seed"]
    best = (
        ablations.on_most(heads[heads["head"] > 0])
        .sort_values("delta")
        .groupby(replicate, as_index=False)
        .last()
    )
    halves = numbers.rows_of(inputs, "ablation_split_half")
    halves = numbers.first_run(halves[halves["variant"] == "uniform"].assign(panel=halves["model"]))
    both = pd.concat([best.assign(variant=GAIN), halves.assign(variant=HONEST)])
    return both.assign(value=both["delta"], layer=0, head=0, q=np.nan)


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Heat maps of layers x heads, each with its own colours and colour bar, ours and the paper's side by side."""
    table = tidy(inputs, published)
    panels = list(table["panel"].unique())
    lines = -(-len(panels) // PAIRS)
    figure = Figure((style.TEXT_WIDTH, 0.2 + 2.12 * lines), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.05)
    grid = figure.add_gridspec(2 * lines, 2 * PAIRS, height_ratios=[1, 0.055] * lines)
    framed = False
    for number, panel in enumerate(panels):
        line, pair = divmod(number, PAIRS)
        for side, source in enumerate(("ours", "published")):
            place = 2 * line, 2 * pair + side
            cells, base = ablations.cells_of(table, panel, source)
            axes = figure.add_subplot(grid[place])
            axes.set_box_aspect(1)
            axes.set_title(title(table, panel, source), pad=3, fontsize=7.5)
            if cells.empty:
                grids.heat_map(axes, cells)
                continue
            again = ablations.run_again(table, panel, source)
            norm = ablations.draw_cells(axes, cells, base)
            ablations.frame(axes, again)
            framed |= len(again) > 0
            ablations.bar(figure, figure.add_subplot(grid[place[0] + 1, place[1]]), norm, base, "horizontal")
            if place[1] == 0:
                axes.set_ylabel("layer")
    return style.captioned(
        figure, table, FRAMES if framed else "", style.failures(table, "panel"),
        numbers.cited(published, "figure8", table, ablations.INFERRED)
    )  # fmt: skip


def title(table: pd.DataFrame, panel: str, source: str) -> str:
    label = style.label_of(panel)
    if source == "published":
        return f"{label}, paper\n{agreement(table, panel)}"
    rows = table[(table["panel"] == panel) & (table["source"] == "ours")].set_index("variant")
    score = rows["score"].iloc[0]
    best, honest = (statistics.POINTS * rows.loc[key, "value"] for key in (GAIN, HONEST))
    gained = f"best {best:+.1f}, other half {honest:+.1f}".replace("-", "−")
    return f"{label} ({style.SCORES.get(score, score)}), ours\n{gained}"


def agreement(table: pd.DataFrame, panel: str) -> str:
    """The correlation of the two panels over heads, if they have the same ones."""
    ours, theirs = (ablations.cells_of(table, panel, source)[0] for source in ("ours", "published"))
    if theirs.empty:
        return ""
    ours, theirs = ablations.grid_of(ours), ablations.grid_of(theirs)
    if ours.shape != theirs.shape:
        return "not comparable: shape"
    return style.agreement(statistics.correlation(ours, theirs), " with ours")
