"""How every figure looks, and how it is saved: one style sheet, one palette, the same bytes for
the same numbers."""

import textwrap
from collections.abc import Iterable, Mapping
from itertools import cycle
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

from bertshift import files
from bertshift.figures import intervals
from bertshift.models.source import BERT
from bertshift.naming import named_in, null_of
from bertshift.rows import labelling
from bertshift.rows.nulls import SHUFFLED
from bertshift.rows.provenance import MARGIN, SHUFFLED_MARGIN
from bertshift.rows.replicate import PAIRED, UNITS
from bertshift.rows.statistics import BANDED, COMPARABLE, FAR, each_of, is_far_off
from bertshift.version import stamped, version

Drawn = tuple[Figure, pd.DataFrame, str]  # a figure, the table of every number in it, its caption
NAMED = 3  # names in a list of those that differ
FEW = {1: "one", 2: "two"}  # replicates, from which no interval is drawn
REPLICATES_SHOWN = "thin lines, dots, a / b: replicates"
SHOWN, LONGEST = 2, 220  # descriptions of data in a caption, characters of each
LONGEST_NAME = 60  # characters of a checkpoint in the line below a figure
COLUMN_WIDTH, TEXT_WIDTH = 3.35, 6.9  # inches: one and two columns of a conference page

SHEET = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine draws the same letters
    "font.size": 7.5,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "savefig.dpi": 220,
    "pdf.fonttype": 42,  # TrueType: letters stay letters
}

# Okabe and Ito's colours, safe for the common colour deficiencies; a marker each, for print in
# grey.
PALETTE = {
    "mnli": ("#0072B2", "o"),
    "squad": ("#D55E00", "s"),
    "dep": ("#009E73", "^"),
    "rte": ("#E69F00", "D"),
    "sst2": ("#56B4E9", "v"),
    "mrpc": ("#CC79A7", "P"),
    "qqp": ("#000000", "X"),
    "stsb": ("#7F6A00", "<"),
    "stsb_standardised": ("#C9B037", "p"),
    "qnli": ("#5E4FA2", ">"),
    "cola": ("#8C510A", "h"),
    "wnli": ("#666666", "d"),
    "squad2": ("#A6300B", "8"),
    "wiki": ("#000000", "D"),
    "base": ("#000000", "."),
}
OTHER = ("#999999", ".")
UNSEEN = 0.002  # of a panel's height or width: nobody sees that so little is cut
# What a dash means in every figure. Published numbers are stars, or black.
BASELINE = {"linestyle": "--"}  # where nothing was done: the pretrained model, or another seed
UNRELATED = {"linestyle": ":"}  # what chance gives: states without relation, word frequencies
NOISE_DASH = {"linestyle": "-."}
SHUFFLED_DASH = {"linestyle": (0, (5, 1, 1, 1, 1, 1))}  # two dots in a dash
PUBLISHED = {"color": "#ffffff", "marker": "*", "markersize": 7, "markeredgecolor": "#000000"}
SHADES = 64  # of a colour map


def styled(function):
    """Run `function` under the style sheet, whatever the caller has set."""

    def wrapper(*args, **kwargs):
        with matplotlib.rc_context({**matplotlib.rcParamsDefault, **SHEET, "backend": "agg"}):
            return function(*args, **kwargs)

    return wrapper


def of_bases(models: Iterable[str], looks: Mapping, spare_looks: Iterable) -> dict:
    """Assign to each model's checkpoint its look, or the next of the spare ones, in a cycle."""
    spare = cycle(spare_looks)
    bases = dict.fromkeys(map(labelling.base_of, models))
    return {base: looks[base] if base in looks else next(spare) for base in bases}


def special_names(table: pd.DataFrame) -> dict[str, str]:
    """Name the first token and the separators for a figure: as BERT does if it draws no other
    family."""
    ours = table[table["source"] == "ours"]
    families = "; ".join(ours["family"].dropna()).split("; ")
    if {*families} <= {BERT, ""}:
        return {"cls": "[CLS]", "sep": "[SEP]"}
    return {"cls": "first token", "sep": "separators"}


def marks_of(rows: pd.DataFrame) -> list[str]:
    """List what is to be known of a line: that all runs of its model failed to train, or that it
    is of one seed, so that no interval is around it."""
    marks = []
    if ((rows["trained"] == 0) & (rows["failed"] > 0)).all():
        marks.append("failed")
    if ((rows["unit"] == UNITS["seed"]) & (rows["replicates"] == 1)).all():
        marks.append("1 seed")
    return marks


def mark_of(rows: pd.DataFrame) -> str:
    """Write the `marks_of` rows behind the name of their model."""
    marks = marks_of(rows)
    return f" ({', '.join(marks)})" if marks else ""


def failures(table: pd.DataFrame, column: str = "series") -> str:
    """Write a sentence on the runs that failed to train, by model as named in `column`, and one on
    those that learnt from shuffled labels; empty if there are none. Noise has the runs of its
    model."""
    ours = table[table["source"] == "ours"]
    failed = ours[ours["failed"] > 0].drop_duplicates([column, "trained", "failed"])
    null = failed[column].map(null_of)
    untrained, learnt = failed[null == ""], failed[null == SHUFFLED]
    sentences = []
    if len(untrained):
        sentences.append(
            "Failed to train (a run, or either of two, at most"
            f" {MARGIN:g} above the majority class): {_count_failed(untrained, column)}; left out,"
            " or drawn and marked where all failed."
        )
    if len(learnt):
        counts = _count_failed(learnt, column)
        sentences.append(
            "Learnt although labels were dealt anew (a run more than"
            f" {SHUFFLED_MARGIN:g} above the majority class): {counts}; left out, unless all did."
        )
    return " ".join(sentences)


def _count_failed(failed: pd.DataFrame, column: str) -> str:
    counts = [
        f"{labelling.label_of(row[column])} {row['failed']} of {row['trained'] + row['failed']}"
        for row in failed.to_dict("records")
    ]
    return ", ".join(counts)


def far_off(table: pd.DataFrame) -> str:
    """Write a sentence on the means in which one replicate lies far from the others; empty if
    there are none. Pairs of runs share runs, so they are not tested."""
    if "each" not in table:
        return ""
    single = table[~table["unit"].fillna("").str.endswith(PAIRED)]
    replicates = single["each"].fillna("").map(each_of)
    tested = replicates[replicates.map(len) >= COMPARABLE]
    far = int(tested.map(is_far_off).sum())
    if not far:
        return ""
    return (
        f"One replicate lies far from the others in {far} of {len(tested)} means (Grubbs's test,"
        f" which finds one by chance in {FAR:.0%} of them)."
    )


def cut_note(figure: Figure) -> str:
    """Write a sentence on the intervals that run beyond the axis of their panel; empty if all are
    drawn whole."""
    parts = []
    for axes in figure.axes:
        if ends := _ends_beyond(axes):
            reach = " and ".join(f"{end:.3g}".replace("-", "−") for end in ends)
            parts.append(f"{reach} ({_name_panel(axes)})")
    return f"Intervals are cut at the axis: they reach {', '.join(parts)}." if parts else ""


def _ends_beyond(axes: Axes) -> list[float]:
    """List the least and the largest end of a panel's intervals, as far as they lie beyond its
    axes: of bands up and down, of bars in either direction."""
    ends = []
    for kind, columns in ((PolyCollection, [1]), (LineCollection, [0, 1])):
        collections = [each for each in axes.collections if isinstance(each, kind)]
        outlines = [path.vertices for each in collections for path in each.get_paths()]
        points = np.concatenate([np.empty((0, 2)), *outlines])
        places = (axes.transScale + axes.transLimits).transform(points)  # shares of the panel
        for column in columns:
            values, place = points[:, column], places[:, column]
            below, above = values[place < -UNSEEN], values[place > 1 + UNSEEN]
            ends += [*np.sort(below)[:1], *np.sort(above)[-1:]]
    return ends


def _name_panel(axes: Axes) -> str:
    """Name a panel by the title of its column and the axis of its row."""
    titles, labels = [], []
    place = axes.get_subplotspec()
    for other in axes.figure.axes:
        spec = other.get_subplotspec()
        if spec is None or place is None or spec.get_gridspec() is not place.get_gridspec():
            continue
        if spec.colspan == place.colspan:
            titles.append(other.get_title())
        if spec.rowspan == place.rowspan:
            labels.append(other.get_ylabel())
    own = axes.get_title(), axes.get_ylabel()
    names = [mine or next(filter(None, others), "") for mine, others in zip(own, (titles, labels))]
    return " ".join(" ".join(filter(str.strip, names)).split())


def shared_probes(probes: pd.DataFrame, is_base: pd.Series) -> str:
    """Write a sentence where fine-tuning seeds of the only pretraining run share a probe of the
    pretrained model (rows `is_base`); empty where each has its own (`statistics.is_own_probe`)."""
    base, tuned = probes[is_base], probes[~is_base]
    probes_of_base = base.groupby(["init", "task"])["probe_seed"].nunique()
    is_shared = probes_of_base.min() < tuned["seed"].max()
    if is_shared and tuned["init"].nunique() == 1:
        return (
            "Seeds share a probe of the pretrained model: intervals of differences lack its noise."
        )
    return ""


def agreement(r: float, other: str = "") -> str:
    """Put a correlation over the cells of two heat maps (`statistics.correlation`) into words that
    end with `other`."""
    if not np.isfinite(r):
        return "no r: all alike"
    return f"r = {r + 0:.2f}{other}".replace("-", "−")


def colours_of(lines: Iterable[str]) -> dict[str, str]:
    """Choose the colour of each line that is named by a task, by a model, or by two models (the
    colour of the first); any other line has none."""
    tasks = {line: labelling.task_of(named_in(line)[0]) for line in lines}
    return {line: PALETTE[task][0] for line, task in tasks.items() if task in PALETTE}


def shades(cmap: str) -> Colormap:
    """Reduce a colour map to steps that the eye cannot tell apart, and few enough for a picture
    of 256 colours."""
    return matplotlib.colormaps[cmap].resampled(SHADES)


def look_of(name: str) -> dict:
    colour, marker = PALETTE.get(name, OTHER)
    return {"color": colour, "marker": marker}


def blank(height: float, width: float = TEXT_WIDTH) -> Figure:
    """Make an empty figure of this size in inches."""
    return Figure((width, height), layout="constrained")


def grid(
    height: float, rows: int = 1, columns: int = 1, width: float = TEXT_WIDTH, **look
) -> tuple[Figure, np.ndarray]:
    """Make a figure of this size in inches, and its panels, [rows, columns]."""
    figure = blank(height, width)
    return figure, figure.subplots(rows, columns, squeeze=False, **look)


def captioned(
    figure: Figure, table: pd.DataFrame, *notes: str, with_intervals: pd.DataFrame | None = None
) -> Drawn:
    """Write (figure, table, caption): below the figure a line on what made it; the caption says
    all of that, and `notes`.

    `with_intervals` are the rows of `table` whose intervals or replicates are drawn, by default
    all. The figure grows by the line, so that the plot does not shrink.
    """
    intervals.mark_cut(figure)
    short, full = origin(table, with_intervals)
    width = figure.get_figwidth()
    lines = textwrap.wrap(short, width=int(width * 18.3))
    below = len(lines) * 0.128 + 0.08  # inches
    height = figure.get_figheight() + below
    figure.set_figheight(height)
    figure.get_layout_engine().set(rect=(0, below / height, 1, 1 - below / height))
    position = {"x": 0.05 / width, "y": 0.04 / height, "va": "bottom"}
    figure.text(s="\n".join(lines), fontsize=7, color="#444444", **position)
    caption = [full, *notes, far_off(table), cut_note(figure)]
    return figure, table, " ".join(filter(None, caption))


def origin(table: pd.DataFrame, with_intervals: pd.DataFrame | None = None) -> tuple[str, str]:
    """Write a short line and a long one on our rows in a figure's table: scale, checkpoint,
    replicates, what is drawn around the means of the rows `with_intervals` (by default all),
    data."""
    ours = table[table["source"] == "ours"]
    runs = _count_replicates(ours)
    drawn = ours if with_intervals is None else ours[ours.index.isin(with_intervals.index)]
    kinds = list(drawn.groupby(["replicates", "interval"], sort=False).groups)
    bands = _describe_bands(kinds)
    first, *others = dict.fromkeys("; ".join(ours["checkpoint"].unique()).split("; "))
    checkpoint = textwrap.shorten(first, LONGEST_NAME, placeholder=" …")
    if others:
        checkpoint += f" and {len(others)} more"
    scale, checkpoints, data = (
        _list_values(ours[column]) for column in ("scale", "checkpoint", "data")
    )
    short = f"Ours: scale {scale}; {checkpoint}; {runs}; {bands}."
    full = f"scale {scale}; checkpoint {checkpoints}; mean of {runs}; {bands}; data {data}."
    return short, f"Ours: {full}"


def _count_replicates(ours: pd.DataFrame) -> str:
    """Count the replicates of each unit, and name what has fewer: `3 seeds (MNLI: 1)`."""
    parts = []
    for unit, rows in ours.groupby("unit", sort=False):
        most = rows["replicates"].max()
        count = f"{most} {unit}s" if most > 1 else f"{most} {unit}"
        fewer = _name_fewer(rows)
        parts.append(f"{count} ({fewer})" if fewer else count)
    return " or ".join(parts)


def _name_fewer(rows: pd.DataFrame) -> str:
    """Name the panels or the lines with fewer replicates than the most, with their number:
    whichever of the two tells it in fewer words."""
    most = rows["replicates"].max()
    candidates = []
    for column in ("panel", "series"):
        if column not in rows:
            continue
        counts = rows.groupby(column, sort=False)["replicates"].agg(["min", "max"])
        fewer = counts[counts["min"] < most]
        is_mixed = bool((fewer["min"] < fewer["max"]).any())
        candidates.append((is_mixed, len(fewer), column, fewer))
    if not candidates:
        return ""
    *_, fewer = min(candidates, key=lambda candidate: candidate[:3])
    names_by_count: dict[str, list[str]] = {}
    for name, least, largest in fewer.itertuples():
        count = str(least) if least == largest else f"{least} to {largest}"
        names_by_count.setdefault(count, []).append(labelling.label_of(name))
    parts = [f"{_list_first(names)}: {count}" for count, names in names_by_count.items()]
    return "; ".join(parts)


def _list_first(names: list[str]) -> str:
    """List these names, or the first where they are more than NAMED."""
    return ", ".join(names) if len(names) <= NAMED else f"{names[0]} and {len(names) - 1} more"


def _describe_bands(kinds: list[tuple[int, str]]) -> str:
    """Say what is drawn around means, given (replicates, kind of interval) of each."""
    intervals = dict.fromkeys(
        interval for count, interval in kinds if count >= BANDED and interval != "none"
    )
    parts = []
    if intervals:
        parts.append(f"interval: {' or '.join(intervals)}")
    counts = {count for count, _ in kinds}
    few = [word for count, word in FEW.items() if count in counts]
    if intervals and few:
        parts.append(f"none from {' or '.join(few)}")
    elif 2 in counts:
        parts.append("no interval from two")
    if 2 in counts:
        parts.append(REPLICATES_SHOWN)
    return "; ".join(parts) or "no interval is drawn"


def _list_values(column: pd.Series) -> str:
    """List the first SHOWN of a column's values, each shortened to LONGEST."""
    values = list(column.unique())
    short = [
        textwrap.shorten(value, LONGEST, placeholder=" … (see the TSV)")
        for value in values[:SHOWN]
    ]
    text = " | ".join(short)
    if len(values) > SHOWN:
        text += f" and {len(values) - SHOWN} more (see the TSV)"
    return text


def lay_out(figure: Figure) -> None:
    """Place all panels, as the PNG will have them, for good: with a layout engine, each `savefig`
    would draw twice."""
    figure.dpi = matplotlib.rcParams["savefig.dpi"]
    if engine := figure.get_layout_engine():
        engine.execute(figure)
    figure.set_layout_engine(None)


@styled
def save(
    drawn: Drawn, png: str | Path, tsv: str | Path, txt: str | Path, pdf: str | Path | None = None
) -> None:
    """Write the figure, as a PDF too if one is named, its numbers and its caption, each
    atomically; pictures without dates or versions, so that a release draws the same."""
    figure, table, caption = drawn
    lay_out(figure)
    with files.atomic(png) as path:
        figure.savefig(path, format="png", metadata={"Software": None})
    if pdf:
        undated = dict.fromkeys(["CreationDate", "Creator", "Producer"])
        with files.atomic(pdf) as path:
            figure.savefig(path, format="pdf", metadata=undated)
    files.write_tsv(tsv, stamped(table))
    files.write_text(txt, f"{caption.rstrip()} Drawn by {version()}.\n")
