"""BERT Goes to College, the table of MRPC: the same score whatever layer is re-initialised."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import grids, numbers, style
from bertshift.papers.college2020 import figure3
from bertshift.rows import statistics
from bertshift.rows.blocks import WITHOUT

MEAN, LOSS = "accuracy_and_f1", "loss"
SCORES = {"accuracy": "accuracy", "f1": "F1", MEAN: "mean of both", LOSS: "training loss,\nlast epoch"}
# The columns of the table: whose number, and which.
COLUMNS = [("ours", score) for score in SCORES] + [("published", score) for score in SCORES if score != LOSS]
EXACT = 5e-4  # the paper cuts scores after three decimals
LABELS, CELL, ROW = 1.5, 0.95, 0.3  # inches


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Accuracy, F1, their mean and the loss of the last epoch by k; the majority class (position 0); the paper's scores,
    and what always saying "paraphrase" gives on the development set of MRPC."""
    rows = figure3.runs(inputs, headline=False)
    rows = rows[rows["score"].isin(SCORES)]
    run = ["panel", "series", "position", "init", "seed"]
    averaged = [name for name in ("value", "majority", *WITHOUT) if name in rows]
    both = rows.groupby(run, as_index=False)[averaged].mean()
    first = rows.drop_duplicates(run)
    mean = first.drop(columns=averaged).merge(both, on=run).assign(score=MEAN)
    loss = statistics.with_value(first, first["loss"]).assign(score=LOSS, majority=np.nan)
    table = figure3.means(pd.concat([rows, mean, loss], ignore_index=True))
    return numbers.join(table[table["run"] == ""], *printed(table, published), columns=figure3.COLUMNS)


def printed(table: pd.DataFrame, published: Mapping) -> Iterator[pd.DataFrame]:
    """The paper's scores of any k, of none (position L + 1), and of the majority class (0)."""
    paper, entry = published.get("paper", {}), published.get("figure3", {})
    panels = [panel for panel in table["panel"].unique() if style.task_of(panel) == "mrpc"]
    for panel in panels[:1]:
        depth = int(table.loc[table["panel"] == panel, "layers"].iloc[0])
        for key, positions, provenance in (
            ("any_layer", list(range(1, depth + 1)), "printed"), ("no_reinit", [depth + 1], "printed"),
            ("majority", [0], "derived"),
        ):  # fmt: skip
            for score, value in entry.get("mrpc", {}).get(key, {}).items():
                yield numbers.published(
                    entry | {"provenance": provenance, "place": "table of MRPC"}, paper, panel=panel, series=figure3.PAPER,
                    score=score, layers=depth, position=positions, value=value,
                )  # fmt: skip


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Rows are the first re-initialised layer; ours, and the paper's scores to the right. The first model is drawn."""
    table = tidy(dict([next(iter(inputs.items()))]), published)
    depth = int(table["layers"].max())
    positions = [*range(1, depth + 2), 0]
    figure = Figure((LABELS + CELL * len(COLUMNS), 0.75 + ROW * len(positions)), layout="constrained")
    axes = figure.add_subplot()
    scores = table[table["score"] != LOSS].set_index(["position", "source", "score"])["value"]
    fills = scores.unstack(["source", "score"]).reindex(index=positions, columns=COLUMNS).to_numpy()
    across = [("paper,\n" if source == "published" else "") + SCORES[score] for source, score in COLUMNS]
    down = [f"from layer {k} up" for k in positions[:-2]] + ["no layer", "majority class"]
    grids.coloured_table(axes, fills, across, down, 7, cmap="Blues", vmin=0, vmax=2)
    for row in table.itertuples():
        place = COLUMNS.index((row.source, row.score)), positions.index(row.position)
        colour = "black" if row.source == "ours" else "#404040"
        axes.text(*place, text_of(row), ha="center", va="center", fontsize=7, color=colour, linespacing=0.95)
    axes.axvline(len(SCORES) - 0.5, color="#808080", linewidth=0.8)
    axes.axhline(depth - 0.5, color="#808080", linewidth=0.8)
    axes.set_title(f"{style.label_of(table['panel'].iloc[0])}, re-initialised …", pad=4, loc="left")
    return style.captioned(figure, table, identity(table, published))


def text_of(row) -> str:
    text, low, high = (f"{value:.3f}" for value in (row.value, row.low, row.high))
    return text if low == high else f"{text}\n[{low}, {high}]"  # without an interval both are nan


def identity(table: pd.DataFrame, published: Mapping) -> str:
    """Is every score of ours, and of the paper's, that of the majority class?"""
    ours = table[(table["source"] == "ours") & (table["score"] == MEAN)]
    depth = int(table["layers"].max())
    constant = ours.loc[ours["position"] == 0, "value"].iloc[0]
    equal = ours[ours["position"].between(1, depth) & ((ours["value"] - constant).abs() < EXACT)]
    said = f"Ours equals the majority class for {len(equal)} of {depth} k."
    facts = published.get("figure3", {}).get("mrpc", {})
    if not facts:
        return said
    return (
        f"{said} The paper's {facts['any_layer'][MEAN]:.6f} for any k is exactly that class: 279 of 408 are paraphrases, and "
        f"the mean of accuracy {facts['majority']['accuracy']:.5f} and F1 {facts['majority']['f1']:.5f} is the same number."
    )
