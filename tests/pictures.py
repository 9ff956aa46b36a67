"""What holds of every figure, whatever its shape: its numbers are in its table, and its text can
be read."""

import numpy as np
from matplotlib.collections import PathCollection, PolyCollection, QuadMesh
from matplotlib.container import BarContainer
from matplotlib.text import Text

from bertshift.rows.labelling import NULL_WORDS
from bertshift.rows.nulls import NOISE
from bertshift.rows.statistics import each_of

SLACK = 0.5  # pixels
MOST_BANDS = 5


def clashes(figure):
    """Texts of a figure that overlap another or leave the page, in words."""
    figure.draw_without_rendering()
    texts = shown(figure)
    words = [text.get_text() for text in texts]
    boxes = np.reshape([text.get_window_extent().extents for text in texts], (-1, 4))
    low, high = boxes[:, :2], boxes[:, 2:]
    leaves = (low < -SLACK).any(axis=1) | (high > figure.bbox.max + SLACK).any(axis=1)
    shared = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    overlaps = np.triu((shared > SLACK).all(axis=-1), k=1)
    return [f"{words[one]!r} leaves the page" for one in np.flatnonzero(leaves)] + [
        f"{words[one]!r} lies on {words[other]!r}" for one, other in np.argwhere(overlaps)
    ]


def shown(figure):
    """All texts that are drawn; labels of ticks outside the axes' limits are not, nor are those of
    axes without axis."""
    hidden = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not (axes.axison and axis.get_visible() and low <= tick.get_loc() <= high):
                    hidden |= {tick.label1, tick.label2}
            if not axes.axison:
                hidden.add(axis.label)
    texts = figure.findobj(Text, include_self=False)
    return [
        text
        for text in texts
        if text not in hidden and text.get_visible() and text.get_text().strip()
    ]


def ink(figure):
    """Every value of a line or band (y, or x where rows are named), every bar, every cell of a
    heat map or an image."""
    for axes in figure.axes:
        if hasattr(axes, "_colorbar"):
            continue
        for line in axes.get_lines():
            if line.get_transform() == axes.transData:  # not a rule across the panel
                yield from np.asarray(
                    line.get_xdata() if axes.yaxis_inverted() else line.get_ydata(), float
                )
        for bars in axes.containers:
            if isinstance(bars, BarContainer):
                yield from (bar.get_height() for bar in bars if bar.get_height())  # 0: of a legend
        for image in axes.images:
            yield from image.get_array().compressed()
        for collection in axes.collections:
            if isinstance(collection, QuadMesh):
                cells = np.ma.masked_invalid(collection.get_array())
                yield from cells.compressed()
            elif isinstance(collection, PolyCollection) and not isinstance(
                collection, PathCollection
            ):
                for path in collection.get_paths():
                    yield from path.vertices[:, 1]


def assert_every_number_is_in_the_table(figure, table):
    replicates = np.concatenate([[], *table["each"].map(each_of)])
    known = np.concatenate([table[["value", "low", "high"]].to_numpy().ravel(), replicates])
    if "weights" in table:  # a whole map in each row
        known = np.array(" ".join(table["weights"]).split(), float)
    known = np.sort(known[np.isfinite(known)])
    inked = np.array(list(ink(figure)))
    inked = inked[np.isfinite(inked)]
    assert len(inked) >= 10
    nearest = known[np.clip(np.searchsorted(known, inked), 1, len(known) - 1)]
    before = known[np.clip(np.searchsorted(known, inked), 1, len(known) - 1) - 1]
    assert np.minimum(abs(nearest - inked), abs(before - inked)).max() < 1e-9


def assert_legible(figure):
    """No text is small, overlaps another or leaves the page, and neither do axes."""
    assert not clashes(figure)
    texts = figure.findobj(lambda artist: hasattr(artist, "get_fontsize") and artist.get_text())
    assert min(text.get_fontsize() for text in texts) >= 7
    # figure.texts[-1] says what made the figure; nothing may run into it
    caption = figure.texts[-1].get_window_extent()
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1, (
            axes.get_title()
        )
        assert box.y0 >= caption.y1 - 1


def assert_honest(figure, caption):
    """What is cut is told, bands can be told apart, and noise has a dash of its own."""
    cut = []
    for axes in figure.axes:
        low, high = sorted(axes.get_ylim())
        slack = (high - low) / 100
        bands = [each for each in axes.collections if isinstance(each, PolyCollection)]
        assert len({tuple(band.get_facecolor()[0, :3]) for band in bands}) <= MOST_BANDS
        for band in bands:
            ends = np.concatenate([path.vertices[:, 1] for path in band.get_paths()])
            cut += [end for end in ends if end < low - slack or end > high + slack]
    assert not cut or "cut at the axis" in caption, cut
    for legend in [*figure.legends, *(axes.get_legend() for axes in figure.axes)]:
        lines = zip(legend.get_lines(), legend.get_texts()) if legend else ()
        dashes = {text.get_text(): line.get_linestyle() for line, text in lines}
        noise = dashes.pop(NULL_WORDS[NOISE], None)
        assert noise in (None, "-.") and noise not in dashes.values()
