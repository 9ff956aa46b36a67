"""Kovaleva et al. 2019, Figure 8: the score of a fine-tuned model with one head disabled."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import numbers, style
from bertshift.papers.kovaleva2019 import ablations, panels
from bertshift.rows import statistics
from bertshift.rows.blocks import WITHOUT

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
    return ablations.join(
        ablations.means(heads),
        ablations.means(gains(heads, inputs)),
        *ablations.published(published, "figure8", rows["panel"].unique()),
    )


def gains(heads: pd.DataFrame, inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows of GAIN, on the complete development set if heads were run again on it, and HONEST, one a replicate."""
    tried = heads[heads["head"] > 0]
    surest = tried[tried["sample"] == tried.groupby("panel")["sample"].transform("min")]  # complete, sample
    best = surest.sort_values("delta").groupby(["model", "init", "seed"], as_index=False).tail(1)
    without, run = [name for name in WITHOUT if name in heads], ["model", "init", "seed", "sample"]
    base = heads[heads["layer"] == 0].set_index(run)[without]
    best = best.assign(**best[without] - base.loc[pd.MultiIndex.from_frame(best[run])].to_numpy())
    halves = numbers.rows_of(inputs, "ablation_split_half")
    halves = statistics.with_value(halves, halves["delta"]).assign(panel=halves["model"])
    halves = halves[halves["variant"] == ablations.DISABLED]
    both = pd.concat([best.assign(variant=GAIN), numbers.first_run(halves).assign(variant=HONEST)])
    return both.assign(value=both["delta"], layer=0, head=0, q=np.nan)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Heat maps of layers x heads, each with its own colours and colour bar, ours and the paper's side by side."""
    table = tidy(inputs, published)
    models = list(table["panel"].unique())
    lines = -(-len(models) // PAIRS)
    figure = Figure((style.TEXT_WIDTH, 0.2 + 2.12 * lines), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.05)
    grid = figure.subplots(lines, 2 * PAIRS, squeeze=False).reshape(-1, 2)
    for model, pair in zip(models, grid):
        both = ablations.by_source(table, model)
        for axes, rows, title in zip(pair, both, titles(style.label_of(model), *both)):
            ablations.draw(axes, rows)
            axes.set_title(title, pad=3, fontsize=7.5)
        if pair[0].get_subplotspec().is_first_col():
            pair[0].set_ylabel("layer")
    for unused in grid[len(models) :].flat:
        unused.remove()
    framed = len(ablations.run_again(table[table["source"] == "ours"]))
    return style.captioned(
        figure, table, FRAMES if framed else "", style.failures(table, "panel"),
        numbers.cited(published, "figure8", table, ablations.INFERRED)
    )  # fmt: skip


def titles(label: str, ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[str, str]:
    """Of our panel, what the best head gains; of the paper's, the correlation over heads with ours."""
    score = ours["score"].iloc[0]
    best, honest = statistics.POINTS * ours.set_index("variant").loc[[GAIN, HONEST], "value"]
    gained = f"best {best:+.1f}, other half {honest:+.1f}".replace("-", "−")
    r = panels.agreement(*map(ablations.cells_of, (ours, theirs)), other=" with ours")
    return f"{label} ({style.SCORES.get(score, score)}), ours\n{gained}", f"{label}, paper\n{r}"
