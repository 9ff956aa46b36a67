"""Kovaleva et al. 2019, Figure 3: heads that relate frame-evoking words to elements of their frame."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.errors import UserError
from bertshift.figures import grids, numbers, style
from bertshift.rows import statistics

COLUMNS = ["panel", "series", "stimuli", "variant", "layer", "head", "rank", "example", "query", "key", "query_token",
           "key_token", "query_part", "key_part", *numbers.VALUES]  # fmt: skip
PLACE = ["example", "query_token", "key_token", "query_part", "key_part"]
HEADLINE, OF_THE_FIGURE = "max_fe_to_lu", "code_zip"
SCORES, MAPS, OURS = "YlOrRd", "Reds", "#0072B2"  # the maps' colours are the paper's own
BEST = "best_head"
OTHER = "another shape: not comparable"


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Of the first replicate every head's score in both readings that are drawn, its null and the 99th percentile of
    that, and two heads' maps; the best head's score, over all replicates; and the published numbers."""
    if len(inputs) != 1:
        raise UserError(
            f"figures.kovaleva2019.figure3: {len(inputs)} models, but it draws the heads of one; list one."
        )
    rows = numbers.rows_of(inputs, "relation_heads")
    rows = rows[rows["head"] > 0].assign(panel="heads", query=0, key=0, **dict.fromkeys(PLACE, ""))
    maps = numbers.rows_of(inputs, "relation_map").assign(panel="map", rank=0)
    maps[PLACE] = maps[PLACE].astype(object).where(maps[PLACE].notna(), "").astype(str)
    scores = rows[rows["variant"] == HEADLINE]
    best = scores[scores["rank"] == 1].assign(variant=BEST, layer=0, head=0)
    nulls = [
        scores.assign(variant=name, value=scores[name], low=np.nan, rank=0) for name in ("null", "null_99")
    ]
    shown = pd.concat([rows[rows["variant"].isin([HEADLINE, OF_THE_FIGURE])], *nulls, maps])
    run = shown[["init", "seed"]].iloc[0]
    shown = shown[(shown["init"] == run["init"]) & (shown["seed"] == run["seed"])]
    by = [column for column in COLUMNS if column not in numbers.VALUES]
    return numbers.join(
        numbers.means(shown, by, ["variant"]), numbers.means(best, by, ["variant"]),
        *_published(published.get("figure3", {}), published.get("paper", {})), columns=COLUMNS
    ).astype({"query": int, "key": int})  # fmt: skip


def _published(entry: Mapping, paper: Mapping) -> list[pd.DataFrame]:
    if not entry:
        return []
    cells = numbers.published(
        entry, paper, panel="heads", series="paper", variant=OF_THE_FIGURE, query=0, key=0, **numbers.cells(entry["matrix"])
    )  # fmt: skip
    example = entry["example"]
    query = 1 + example["tokens"].index(example["query"])
    rows = [
        numbers.published(
            entry | example, paper, panel="map", series="paper", variant=HEADLINE, layer=layer, head=head, query=query,
            query_token=example["query"], key=[*range(1, len(example["tokens"]) + 1)], key_token=example["tokens"],
            value=example[f"L{layer}H{head}"],
        )
        for layer, head in ((1, 2), (7, 6))
    ]  # fmt: skip
    return [cells, *rows]


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Above, all heads between the maps of the two best, the frame element's row of each enlarged; below, the paper's
    heads, ours calculated alike, and scores against what the positions alone would give."""
    table = tidy(inputs, published)
    heads, maps = (table[table["panel"] == panel] for panel in ("heads", "map"))
    ours = heads[heads["source"] == "ours"]
    figure = Figure((style.TEXT_WIDTH, 5.0), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.04, wspace=0.04)
    grid = figure.add_gridspec(3, 3, height_ratios=[1, 0.17, 1])
    same, paper = ours[ours["variant"] == OF_THE_FIGURE], heads[heads["source"] == "published"]
    agreed = agreement(same, paper)
    pair = maps[maps["source"] == "ours"].groupby(["layer", "head"], sort=False)
    for column, ((layer, head), cells) in zip((0, 2), pair):
        label = f"{style.label_of(ours['series'].iloc[0])}, L{layer}H{head}"
        attention(figure.add_subplot(grid[0, column]), cells, label)
        theirs = maps[(maps["source"] == "published") & (maps["layer"] == layer) & (maps["head"] == head)]
        enlarged(figure.add_subplot(grid[1, column]), cells, theirs if agreed != OTHER else theirs[:0])
    score_map(figure, grid[:2, 1], ours[ours["variant"] == HEADLINE], _title(ours))
    if len(paper):
        score_map(figure, grid[2, 0], paper, "paper")
    score_map(figure, grid[2, 1], same, f"ours, pieces paired as there\n{agreed}")
    against_null(figure.add_subplot(grid[2, 2]), ours)
    return style.captioned(figure, table, *notes(table, published))


def _title(ours: pd.DataFrame) -> str:
    best = ours[ours["variant"] == BEST].iloc[0]
    drawn = f"all heads, best {ours.loc[ours['variant'] == HEADLINE, 'value'].max():.2f}"
    if best["replicates"] == 1:
        return drawn
    return f"{drawn}\nbest of {best['replicates']} runs: {best['value']:.2f} ({best['low']:.2f}–{best['high']:.2f})"


def _matrix(cells: pd.DataFrame, index: str = "layer", columns: str = "head") -> pd.DataFrame:
    return cells.pivot(index=index, columns=columns, values="value")


def score_map(figure: Figure, place, cells: pd.DataFrame, title: str) -> None:
    """Layers x heads, layer 1 on top, with colours of its own as in the paper."""
    axes = figure.add_subplot(place)
    axes.set_title(title, pad=3, fontsize=7.5)
    axes.set_box_aspect(1)
    matrix = _matrix(cells)
    grids.heat_map(axes, matrix, cmap=SCORES)
    grids.ticks(axes.yaxis, grids.ends(len(matrix)))
    axes.set(xlabel="head", ylabel="layer")
    bar = figure.colorbar(axes.collections[0], ax=axes, fraction=0.05, pad=0.02)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(length=1.5, pad=1, labelsize=7)


def attention(axes: Axes, cells: pd.DataFrame, title: str) -> None:
    """One sentence's map, query down, key across; bold: the predicate and its arguments."""
    axes.set_title(title, pad=3, fontsize=7.5)
    axes.set_box_aspect(1)
    matrix = _matrix(cells, "query", "key").to_numpy()
    grids.heat_map(axes, matrix, cmap=MAPS, vmin=0)
    words = cells[cells["key"] == 1]
    grids.ticks(axes.yaxis, words["query"], words["query_token"])
    axes.set_xticks([])
    axes.tick_params(length=0)
    for label, part in zip(axes.get_yticklabels(), words["query_part"], strict=True):
        label.set_fontweight("bold" if part else "normal")


def enlarged(axes: Axes, cells: pd.DataFrame, paper: pd.DataFrame) -> None:
    """The row that gives the sentence its score, its weights printed; below it the paper's, if it has that head."""
    pairs = cells[(cells["query_part"] == "argument") & (cells["key_part"] == "predicate")]
    row = cells[cells["query"] == pairs.loc[pairs["value"].idxmax(), "query"]]
    strips = [row["value"].to_numpy()]
    if len(paper) == len(row):
        strips.append(paper["value"].to_numpy())
    grids.heat_map(axes, np.array(strips), cmap=MAPS, vmin=0, vmax=cells["value"].max())
    axes.tick_params(length=0)
    turned = 90 if len(row) > 9 else 0
    for down, values in enumerate(strips, 1):
        for across, value in enumerate(values, 1):
            text = f"{value:.2f}".replace("0.", ".", 1)
            colour = "white" if value > 0.6 * cells["value"].max() else "black"
            axes.text(
                across - 0.5, down - 0.5, text, ha="center", va="center", rotation=turned, fontsize=7, color=colour
            )  # fmt: skip
    grids.ticks(axes.yaxis, range(1, len(strips) + 1), [row["query_token"].iloc[0], "paper"][: len(strips)])
    grids.ticks(axes.xaxis, row["key"], row["key_token"])
    axes.tick_params(axis="x", rotation=90)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold")
    for label, part in zip(axes.get_xticklabels(), row["key_part"], strict=True):
        label.set_fontweight("bold" if part else "normal")


def against_null(axes: Axes, ours: pd.DataFrame) -> None:
    """A dot a head; filled where its score is above the 99th percentile of its null."""
    by = {
        name: ours[ours["variant"] == name].set_index(["layer", "head"])
        for name in (HEADLINE, "null", "null_99")
    }
    score = by[HEADLINE]["value"]
    null, limit = (by[name]["value"][score.index] for name in ("null", "null_99"))
    above = (score > limit).to_numpy()
    end = 1.15 * max(score.max(), null.max())
    axes.axline((0, 0), slope=1, color="#999999", linewidth=0.8)
    for chosen, face in ((above, OURS), (~above, "none")):
        axes.scatter(null[chosen], score[chosen], s=12, facecolor=face, edgecolor=OURS, linewidth=0.7)
    best = by[HEADLINE].nsmallest(2, "rank").index
    for (layer, head), down in zip(best, (2, -8)):  # which may lie side by side
        place = null[layer, head], score[layer, head]
        side, across = ("left", 4) if place[0] < end / 2 else ("right", -4)
        axes.annotate(
            f"L{layer}H{head}", place, (across, down), textcoords="offset points", ha=side, fontsize=7
        )
    axes.set(xlim=(0, end), ylim=(0, end), xlabel="same places, other sentences", ylabel="score")
    axes.set_box_aspect(1)
    axes.set_title(f"{above.sum()} of {len(above)} heads above\n99% of their null", pad=3, fontsize=7.5)


def agreement(ours: pd.DataFrame, paper: pd.DataFrame) -> str:
    """The correlation of both over heads, if they have the same ones."""
    if paper.empty:
        return ""
    ours, paper = _matrix(ours).to_numpy(), _matrix(paper).to_numpy()
    if ours.shape != paper.shape:
        return OTHER
    return style.agreement(statistics.correlation(ours, paper), " with the paper")


def notes(table: pd.DataFrame, published: Mapping) -> list[str]:
    ours = table[(table["source"] == "ours") & (table["variant"] == HEADLINE) & (table["rank"] > 0)]
    five = ours.nsmallest(5, "rank")
    top = ", ".join(f"L{row.layer}H{row.head} {row.value:.3f}" for row in five.itertuples())
    paired = "; its notebook pairs pieces one by one, as the panel beside it does"
    return [f"Highest: {top}.", numbers.cited(published, "figure3", table, paired)]
