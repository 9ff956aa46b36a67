"""Kovaleva et al. 2019, Figure 3: heads that relate frame-evoking words to elements of their
frame."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.text import Text

from bertshift.errors import UserError
from bertshift.figures import grids, layers, numbers, style
from bertshift.metrics.relation_heads import FIRST, SEPARATOR
from bertshift.papers.kovaleva2019 import panels
from bertshift.rows import labelling
from bertshift.rows.table import Table, concat

PAIR = ["example", "query_token", "key_token", "query_part", "key_part"]
KEYS = ["panel", "series", "stimuli", "variant", "layer", "head", "rank"]
KEYS += ["example", "query", "key", "query_token", "key_token", "query_part", "key_part"]
COLUMNS = [*KEYS, *numbers.VALUES]
HEADLINE, OF_THE_FIGURE = "max_fe_to_lu", "code_zip"
# The maps' colours are the paper's own.
SCORES, MAPS, OURS = style.shades("YlOrRd"), style.shades("Reds"), "#0072B2"
BEST_MARKERS, BEST_COLOUR = "^s", "#D55E00"
BEST = "best_head"


def tidy(inputs: Mapping[str, Table], published: Mapping) -> pd.DataFrame:
    """Tabulate, for the first replicate, every head's score in both readings that are drawn, its
    null and the null's 99th percentile, and two heads' maps; the best head's score, over all
    replicates; and the published numbers."""
    if len(inputs) != 1:
        raise UserError(
            f"figures.kovaleva2019.figure3: {len(inputs)} models, but it draws the heads of one;"
            " list one."
        )
    measured = numbers.rows_of(inputs, "relation_heads")
    no_pair = dict.fromkeys(PAIR, "")
    measured = measured.query("head > 0").assign(panel="heads", query=0, key=0, **no_pair)
    scores = measured.where(measured["variant"] == HEADLINE)
    best = scores.query("rank == 1").assign(variant=BEST, layer=0, head=0)
    readings = measured.where(measured["variant"].isin([HEADLINE, OF_THE_FIGURE]))
    nulls = [
        scores.with_value(scores[name]).assign(variant=name, rank=0)
        for name in ("null", "null_99")
    ]
    shown = concat([readings, *nulls, _read_maps(inputs)])
    run = shown.rows.iloc[0]
    is_first = (shown["init"] == run["init"]) & (shown["seed"] == run["seed"])
    table = numbers.join(
        numbers.means(shown.where(is_first), KEYS, ["variant"]),
        numbers.means(best, KEYS, ["variant"]),
        *_read_published(published["figure3"], published["paper"]),
        columns=COLUMNS,
    )
    return table.astype({"query": int, "key": int})


def _read_maps(inputs: Mapping[str, Table]) -> Table:
    """Read the maps of one sentence, with the model's names of special tokens."""
    measured = numbers.rows_of(inputs, "relation_map").assign(panel="map", rank=0)
    maps = measured.rows
    maps = maps.assign(**maps[PAIR].astype(object).fillna(""))
    special = style.special_names(maps.assign(source="ours"))
    names = {FIRST: special["cls"], SEPARATOR: special["sep"]}
    return measured.keep(maps.replace({"query_token": names, "key_token": names}))


def _read_published(entry: Mapping, paper: Mapping) -> Iterator[pd.DataFrame]:
    """Read the paper's score of every head, and the rows of two maps that it shows."""
    facts = {"panel": "heads", "series": "paper", "variant": OF_THE_FIGURE, "query": 0, "key": 0}
    yield numbers.published(entry, paper, **facts, **numbers.cells(entry["matrix"]))
    example = entry["example"]
    tokens = example["tokens"]
    for layer, head in ((1, 2), (7, 6)):
        yield numbers.published(
            entry | example,
            paper,
            panel="map",
            series="paper",
            variant=HEADLINE,
            layer=layer,
            head=head,
            query=1 + tokens.index(example["query"]),
            query_token=example["query"],
            key=list(range(1, len(tokens) + 1)),
            key_token=tokens,
            value=example[f"L{layer}H{head}"],
        )


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw two rows. Above are all heads between the maps of the two best, the frame element's row
    of each enlarged. Below are the paper's heads, ours calculated alike, and scores against what
    the positions alone would give."""
    table = tidy(inputs, published)
    parts = dict(list(table.groupby(["panel", "source"])))
    ours, paper = parts["heads", "ours"], parts["heads", "published"]
    headline = ours[ours["variant"] == HEADLINE]
    as_in_paper = ours[ours["variant"] == OF_THE_FIGURE]
    agreed = panels.agreement(as_in_paper, paper, ending=" with the paper")
    figure = style.blank(5.0)
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.04, wspace=0.04)
    grid = figure.add_gridspec(3, 3, height_ratios=[1, 0.17, 1])
    paper_maps = parts["map", "published"].set_index(["layer", "head"])
    our_maps = parts["map", "ours"].groupby(["layer", "head"], sort=False)
    model = labelling.label_of(ours["series"].iloc[0])
    for column, (head, cells) in zip((0, 2), our_maps):
        title = f"{model}, L{head[0]}H{head[1]}"
        draw_map(figure.add_subplot(grid[0, column]), cells, title)
        is_in_paper = agreed != panels.NOT_COMPARABLE and head in paper_maps.index
        paper_row = paper_maps.loc[[head] if is_in_paper else []]
        draw_enlarged(figure.add_subplot(grid[1, column]), cells, paper_row)
    draw_scores(figure.add_subplot(grid[:2, 1]), headline, _write_title(ours))
    draw_scores(figure.add_subplot(grid[2, 0]), paper, "paper")
    title = f"ours, pieces paired as there\n{agreed}"
    draw_scores(figure.add_subplot(grid[2, 1]), as_in_paper, title)
    draw_against_null(figure.add_subplot(grid[2, 2]), ours)
    best = headline.query("rank > 0").nsmallest(5, "rank").itertuples()
    highest = ", ".join(f"L{row.layer}H{row.head} {row.value:.3f}" for row in best)
    paired = "; its notebook pairs pieces one by one, as the panel beside it does"
    return style.captioned(
        figure,
        table,
        f"Highest: {highest}.",
        numbers.cited(published, "figure3", table, paired),
        panels.explain_r(figure, "correlation over heads"),
    )


def _write_title(ours: pd.DataFrame) -> str:
    """Write the title of our map of scores: the best head here and, of several runs, in all."""
    largest = ours.loc[ours["variant"] == HEADLINE, "value"].max()
    title = f"all heads, best {largest:.2f}"
    best = ours[ours["variant"] == BEST].iloc[0]
    runs = best["replicates"]
    if runs == 1:
        return title
    return f"{title}\nbest of {runs} runs: {numbers.with_spread(best, '{:.2f}'.format)}"


def draw_scores(axes: Axes, cells: pd.DataFrame, title: str) -> None:
    """Draw layers x heads, layer 1 on top, with colours of its own as in the paper."""
    panels.heat_map(axes, panels.matrix_of(cells), cmap=SCORES)
    axes.set_title(title, pad=3, fontsize=7.5)
    axes.set(xlabel="head", ylabel="layer")
    bar = panels.colour_bar(
        np.array([axes]),
        axes.collections[0].norm,
        SCORES,
        aspect=20,
        fraction=0.05,
        pad=0.02,
    )
    bar.ax.tick_params(length=1.5, pad=1, labelsize=7)


def draw_map(axes: Axes, cells: pd.DataFrame, title: str) -> None:
    """Draw one sentence's map, query down, key across; bold: the predicate and its arguments."""
    axes.set_title(title, pad=3, fontsize=7.5)
    queries = cells.query("key == 1")
    matrix = panels.matrix_of(cells, "query", "key")
    panels.heat_map(axes, matrix, list(queries["query_token"]), cmap=MAPS, vmin=0)
    axes.set_xticks([])
    axes.tick_params(length=0)
    embolden(axes.get_yticklabels(), queries["query_part"])


def draw_enlarged(axes: Axes, cells: pd.DataFrame, paper: pd.DataFrame) -> None:
    """Draw the row that gives the sentence its score, its weights printed; below it the paper's,
    if it has that head."""
    pairs = cells.query("query_part == 'argument' and key_part == 'predicate'")
    query = pairs.loc[pairs["value"].idxmax(), "query"]
    row = cells[cells["query"] == query]
    weights = [row["value"]]
    names = [row["query_token"].iloc[0]]
    if len(paper) == len(row):
        weights.append(paper["value"])
        names.append("paper")
    weights = np.array(weights)
    printed = np.vectorize(panels.without_zero)(weights, 2)
    grids.heat_map(
        axes,
        weights,
        cmap=MAPS,
        vmin=0,
        vmax=cells["value"].max(),
        annot=printed,
        annot_kws={"fontsize": 7, "rotation": 90 if len(row) > 9 else 0},
        fmt="",
    )
    axes.tick_params(length=0)
    grids.ticks(axes.yaxis, range(1, len(names) + 1), names)
    grids.ticks(axes.xaxis, row["key"], row["key_token"])
    axes.tick_params(axis="x", rotation=90)
    embolden(axes.get_yticklabels(), names)
    embolden(axes.get_xticklabels(), row["key_part"])


def embolden(labels: Iterable[Text], parts: Iterable[str]) -> None:
    """Set the names of words that are a part of the relation in bold."""
    for label, part in zip(labels, parts, strict=True):
        label.set_fontweight("bold" if part else "normal")


def draw_against_null(axes: Axes, ours: pd.DataFrame) -> None:
    """Draw a dot a head, the two best named by their markers; filled where its score is above the
    99th percentile of its null."""
    ours = ours.query("head > 0")
    heads = ours.pivot(index=["layer", "head"], columns="variant", values="value")
    score, null = heads[HEADLINE], heads["null"]
    is_above = score > heads["null_99"]
    end = 1.15 * max(score.max(), null.max())
    axes.axline((0, 0), slope=1, color="#999999", linewidth=0.8)
    for shown, face in ((is_above, OURS), (~is_above, "none")):
        axes.scatter(
            null[shown],
            score[shown],
            s=12,
            facecolor=face,
            edgecolor=OURS,
            linewidth=0.7,
        )
    best = ours[ours["variant"] == HEADLINE].nsmallest(2, "rank")
    for layer, head, marker in zip(best["layer"], best["head"], BEST_MARKERS):
        axes.scatter(
            null[layer, head],
            score[layer, head],
            s=20,
            marker=marker,
            facecolor=BEST_COLOUR if is_above[layer, head] else "white",
            edgecolor=BEST_COLOUR,
            linewidth=0.7,
            zorder=3,
            label=f"L{layer}H{head}",
        )
    layers.legend_above(axes, 2)
    axes.set(
        xlim=(0, end),
        ylim=(0, end),
        xlabel="same places, other sentences",
        ylabel="score",
    )
    axes.set_box_aspect(1)
    title = f"{is_above.sum()} of {len(is_above)} heads above\n99% of their null"
    axes.set_title(title, pad=17, fontsize=7.5)
