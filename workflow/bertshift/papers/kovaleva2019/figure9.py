"""Kovaleva et al. 2019, Figure 9: the score of a fine-tuned model with all heads of one layer disabled."""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import numbers, style
from bertshift.papers.kovaleva2019 import ablations, panels


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mean of every layer, the score with nothing disabled (variant none), and the published panels."""
    rows = ablations.scores(inputs)
    rows = ablations.of_sweep(rows[rows["head"] == 0])
    theirs = ablations.published(published, "figure9", rows["panel"].unique())
    return ablations.join(ablations.means(rows), *theirs)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """A column of cells per task, layer 1 on top, each with its own colours and colour bar; ours above the paper's."""
    table = tidy(inputs, published)
    models = list(table["panel"].unique())
    kinds = {"ours": "ours\nlayer", "published": "paper\nlayer"}
    labels = [label for source, label in kinds.items() if source in set(table["source"])]
    figure, grid = panels.columns(models, dict.fromkeys(labels, 1.75))
    for model, column in zip(models, grid):
        for axes, rows, label in zip(column, ablations.by_source(table, model), labels):
            ablations.draw(axes, rows)
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel(label)
        score = table.loc[table["panel"] == model, "score"].iloc[0]
        column[0].set_title(f"{style.label_of(model)}\n{style.SCORES.get(score, score)}", fontsize=7.5)
    return style.captioned(
        figure, table, style.failures(table, "panel"), numbers.cited(published, "figure9", table, ablations.INFERRED)
    )  # fmt: skip
