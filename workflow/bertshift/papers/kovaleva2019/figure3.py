"""Kovaleva et al. 2019, Figure 3: heads that relate frame-evoking words to elements of their
frame."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.text import Text

from bertshift.errors import UserError
from bertshift.figures import grids, numbers, style
from bertshift.metrics.relation_heads import FIRST, SEPARATOR
from bertshift.papers.kovaleva2019 import panels
from bertshift.rows import labelling, statistics

COLUMNS = [
    "panel",
    "series",
    "stimuli",
    "variant",
    "layer",
    "head",
    "rank",
    "example",
    "query",
    "key",
    "query_token",
    "key_token",
    "query_part",
    "key_part",
    *numbers.VALUES,
]
PLACE = ["example", "query_token", "key_token", "query_part", "key_part"]
HEADLINE, OF_THE_FIGURE = "max_fe_to_lu", "code_zip"
SCORES, MAPS, OURS = "YlOrRd", "Reds", "#0072B2"  # the maps' colours are the paper's own
BEST = "best_head"


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Tabulate, for the first replicate, every head's score in both readings that are drawn, its
    null and the null's 99th percentile, and two heads' maps; the best head's score, over all
    replicates; and the published numbers."""
    if len(inputs) != 1:
        raise UserError(
            f"figures.kovaleva2019.figure3: {len(inputs)} models, but it draws the heads of one;"
            " list one."
        )
    rows = numbers.rows_of(inputs, "relation_heads")
    rows = rows[rows["head"] > 0].assign(panel="heads", query=0, key=0, **dict.fromkeys(PLACE, ""))
    maps = numbers.rows_of(inputs, "relation_map").assign(panel="map", rank=0)
    maps[PLACE] = maps[PLACE].astype(object).where(maps[PLACE].notna(), "").astype(str)
    special = style.special_names(maps.assign(source="ours"))
    names = {FIRST: special["cls"], SEPARATOR: special["sep"]}
    maps = maps.replace({"query_token": names, "key_token": names})
    scores = rows[rows["variant"] == HEADLINE]
    best = scores[scores["rank"] == 1].assign(variant=BEST, layer=0, head=0)
    nulls = [
        statistics.with_value(scores, scores[name]).assign(variant=name, low=np.nan, rank=0)
        for name in ("null", "null_99")
    ]
    shown = pd.concat([rows[rows["variant"].isin([HEADLINE, OF_THE_FIGURE])], *nulls, maps])
    run = shown[["init", "seed"]].iloc[0]
    shown = shown[(shown["init"] == run["init"]) & (shown["seed"] == run["seed"])]
    by = [column for column in COLUMNS if column not in numbers.VALUES]
    return numbers.join(
        numbers.means(shown, by, ["variant"]),
        numbers.means(best, by, ["variant"]),
        *_published(published["figure3"], published["paper"]),
        columns=COLUMNS,
    ).astype({"query": int, "key": int})


def _published(entry: Mapping, paper: Mapping) -> Iterator[pd.DataFrame]:
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
            key=[*range(1, len(tokens) + 1)],
            key_token=tokens,
            value=example[f"L{layer}H{head}"],
        )


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw two rows. Above are all heads between the maps of the two best, the frame element's row
    of each enlarged. Below are the paper's heads, ours calculated alike, and scores against what
    the positions alone would give."""
    table = tidy(inputs, published)
    by_source = dict(list(table.groupby(["panel", "source"])))
    ours, paper = by_source["heads", "ours"], by_source["heads", "published"]
    same = ours[ours["variant"] == OF_THE_FIGURE]
    agreed = panels.agreement(same, paper, other=" with the paper")
    figure = style.blank(5.0)
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.04, wspace=0.04)
    grid = figure.add_gridspec(3, 3, height_ratios=[1, 0.17, 1])
    theirs = by_source["map", "published"].set_index(["layer", "head"])
    pair = by_source["map", "ours"].groupby(["layer", "head"], sort=False)
    for column, (head, cells) in zip((0, 2), pair):
        label = f"{labelling.label_of(ours['series'].iloc[0])}, L{head[0]}H{head[1]}"
        attention(figure.add_subplot(grid[0, column]), cells, label)
        shown = agreed != panels.NOT_COMPARABLE and head in theirs.index
        enlarged(figure.add_subplot(grid[1, column]), cells, theirs.loc[[head] if shown else []])
    score_map(figure.add_subplot(grid[:2, 1]), ours[ours["variant"] == HEADLINE], _title(ours))
    score_map(figure.add_subplot(grid[2, 0]), paper, "paper")
    score_map(figure.add_subplot(grid[2, 1]), same, f"ours, pieces paired as there\n{agreed}")
    against_null(figure.add_subplot(grid[2, 2]), ours)
    heads = ours[(ours["variant"] == HEADLINE) & (ours["rank"] > 0)]
    top = ", ".join(
        f"L{row.layer}H{row.head} {row.value:.3f}"
        for row in heads.nsmallest(5, "rank").itertuples()
    )
    paired = "; its notebook pairs pieces one by one, as the panel beside it does"
    cited = numbers.cited(published, "figure3", table, paired)
    return style.captioned(figure, table, f"Highest: {top}.", cited)


def _title(ours: pd.DataFrame) -> str:
    best = ours[ours["variant"] == BEST].iloc[0]
    drawn = f"all heads, best {ours.loc[ours['variant'] == HEADLINE, 'value'].max():.2f}"
    if best["replicates"] == 1:
        return drawn
    return (
        f"{drawn}\nbest of {best['replicates']} runs: {numbers.with_spread(best, '{:.2f}'.format)}"
    )


def score_map(axes: Axes, cells: pd.DataFrame, title: str) -> None:
    """Draw layers x heads, layer 1 on top, with colours of its own as in the paper."""
    panels.heat_map(axes, panels.matrix_of(cells), cmap=SCORES)
    axes.set_title(title, pad=3, fontsize=7.5)
    axes.set(xlabel="head", ylabel="layer")
    look = {"aspect": 20, "fraction": 0.05, "pad": 0.02}
    bar = panels.colour_bar(np.array([axes]), axes.collections[0].norm, SCORES, **look)
    bar.ax.tick_params(length=1.5, pad=1, labelsize=7)


def attention(axes: Axes, cells: pd.DataFrame, title: str) -> None:
    """Draw one sentence's map, query down, key across; bold: the predicate and its arguments."""
    axes.set_title(title, pad=3, fontsize=7.5)
    words = cells[cells["key"] == 1]
    matrix = panels.matrix_of(cells, "query", "key")
    panels.heat_map(axes, matrix, list(words["query_token"]), cmap=MAPS, vmin=0)
    axes.set_xticks([])
    axes.tick_params(length=0)
    embolden(axes.get_yticklabels(), words["query_part"])


def enlarged(axes: Axes, cells: pd.DataFrame, paper: pd.DataFrame) -> None:
    """Draw the row that gives the sentence its score, its weights printed; below it the paper's,
    if it has that head."""
    pairs = cells[(cells["query_part"] == "argument") & (cells["key_part"] == "predicate")]
    row = cells[cells["query"] == pairs.loc[pairs["value"].idxmax(), "query"]]
    strips = [row, paper] if len(paper) == len(row) else [row]
    weights = np.array([strip["value"] for strip in strips])
    names = [row["query_token"].iloc[0], "paper"][: len(strips)]
    look = {"annot_kws": {"fontsize": 7, "rotation": 90 if len(row) > 9 else 0}}
    printed = np.vectorize(lambda value: f"{value:.2f}".replace("0.", ".", 1))(weights)
    grids.heat_map(
        axes, weights, cmap=MAPS, vmin=0, vmax=cells["value"].max(), annot=printed, fmt="", **look
    )
    axes.tick_params(length=0)
    grids.ticks(axes.yaxis, range(1, len(strips) + 1), names)
    grids.ticks(axes.xaxis, row["key"], row["key_token"])
    axes.tick_params(axis="x", rotation=90)
    embolden(axes.get_yticklabels(), names)
    embolden(axes.get_xticklabels(), row["key_part"])


def embolden(labels: Iterable[Text], parts: Iterable[str]) -> None:
    """Set the names of words that are a part of the relation in bold."""
    for label, part in zip(labels, parts, strict=True):
        label.set_fontweight("bold" if part else "normal")


def against_null(axes: Axes, ours: pd.DataFrame) -> None:
    """Draw a dot a head; filled where its score is above the 99th percentile of its null."""
    heads = ours[ours["head"] > 0].pivot(
        index=["layer", "head"], columns="variant", values="value"
    )
    score, null = heads[HEADLINE], heads["null"]
    above = score > heads["null_99"]
    end = 1.15 * max(score.max(), null.max())
    axes.axline((0, 0), slope=1, color="#999999", linewidth=0.8)
    for chosen, face in ((above, OURS), (~above, "none")):
        axes.scatter(
            null[chosen], score[chosen], s=12, facecolor=face, edgecolor=OURS, linewidth=0.7
        )
    best = (
        ours[ours["variant"] == HEADLINE].nsmallest(2, "rank").set_index(["layer", "head"]).index
    )
    for head, down in zip(best, (2, -8)):  # which may lie side by side
        side, across = ("left", 4) if null[head] < end / 2 else ("right", -4)
        place = {
            "xy": (null[head], score[head]),
            "xytext": (across, down),
            "textcoords": "offset points",
        }
        axes.annotate("L{}H{}".format(*head), **place, ha=side, fontsize=7)
    axes.set(xlim=(0, end), ylim=(0, end), xlabel="same places, other sentences", ylabel="score")
    axes.set_box_aspect(1)
    axes.set_title(
        f"{above.sum()} of {len(above)} heads above\n99% of their null", pad=3, fontsize=7.5
    )
