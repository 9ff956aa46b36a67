"""What holds of every figure, whatever its shape: its numbers are in its table, and its text can
be read."""

import re

import numpy as np
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.colors import BoundaryNorm, Normalize
from matplotlib.container import BarContainer
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.text import Text

from bertshift.figures.intervals import CUT
from bertshift.rows.labelling import NULL_WORDS
from bertshift.rows.nulls import NOISE
from bertshift.rows.statistics import BANDED, each_of

SLACK = 0.5  # pixels
MOST_BANDS = 5
EDGE = 0.003  # of an axis: nobody sees that so little is cut
LINEAR = (Normalize, BoundaryNorm)
# The dashes or the marker of what legends name.
LOOKS = {NULL_WORDS[NOISE]: "-.", "majority class": ":", "published": "*", "paper": "*"}
COLOURS_IN_WORDS = re.compile(r"blue|orange|green|dark|light|shading|colour", re.IGNORECASE)
WITHOUT_WIDTH = re.compile(r"\[([+−]?[\d.]+), \1\]")
RANGE_IN_WORDS = re.compile(r"\[[+−]?[\d.]+, [+−]?[\d.]+\]")


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


def assert_bands_are_few_and_cut_ones_told(figure, caption):
    """Bands can be told apart, and the caption says how far those reach that a panel cuts."""
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


def intervals_of(axes):
    """Bands and lines from end to end that are drawn in data coordinates."""
    return [
        artist
        for artist in axes.collections
        if isinstance(artist, PolyCollection | LineCollection)
        and not isinstance(artist, QuadMesh)
        and artist.get_transform() == axes.transData
    ]


def leaves(axes, points):
    """Test which points [points, 2] lie outside the panel."""
    limits = np.sort([axes.get_xlim(), axes.get_ylim()], axis=1)
    slack = EDGE * np.ptp(limits, axis=1)
    low, high = limits[:, 0] - slack, limits[:, 1] + slack
    return ((points < low) | (points > high)).any(axis=1)


def cut_without_a_mark(figure):
    """Panels that cut a line, or an interval that no arrow marks, in words."""
    for axes in figure.axes:
        name = axes.get_title() or axes.get_ylabel()
        for line in axes.get_lines():
            if line.get_transform() == axes.transData:
                points = np.asarray(line.get_xydata(), float)
                if leaves(axes, points[np.isfinite(points).all(axis=1)]).any():
                    yield f"a line leaves {name!r}"
        paths = [path for artist in intervals_of(axes) for path in artist.get_paths()]
        is_marked = any(artist.get_gid() == CUT for artist in axes.collections)
        if any(leaves(axes, path.vertices).any() for path in paths) and not is_marked:
            yield f"{name!r} cuts an interval without an arrow"


def words_on_points(figure):
    """Texts that lie on a point of a scatter plot."""
    figure.draw_without_rendering()
    for axes in figure.axes:
        scatters = [
            artist
            for artist in axes.collections
            if isinstance(artist, PathCollection) and artist.get_gid() != CUT
        ]
        if axes.get_images() or any(isinstance(drawn, QuadMesh) for drawn in axes.collections):
            continue
        points = [artist.get_offsets() for artist in scatters]
        points = axes.transData.transform(np.concatenate([np.empty((0, 2)), *points]))
        for text in axes.findobj(Text):
            box = text.get_window_extent()
            is_inside = (points > box.min) & (points < box.max)
            if text.get_text() and text.get_visible() and is_inside.all(axis=1).any():
                yield text.get_text()


def colours_beyond(figure, caption):
    """Panels with cells beyond the ends of their colours, which nothing tells, in words."""
    if "full at" in caption:
        return
    for axes in figure.axes:
        for drawn in [*axes.images, *axes.collections]:
            cells = drawn.get_array()
            if isinstance(drawn, QuadMesh | AxesImage) and not hasattr(axes, "_colorbar"):
                beyond = (cells < drawn.norm.vmin - 1e-9) | (cells > drawn.norm.vmax + 1e-9)
                if np.ma.filled(beyond, False).any():
                    yield f"{axes.get_title()!r} has a cell beyond its colours"


def assert_caption_and_picture_agree(figure, table, caption):
    assert_nothing_is_cut_or_covered(figure, caption)
    assert_caption_is_of_the_picture(figure, table, caption)
    assert_bands_are_few_and_cut_ones_told(figure, caption)
    assert_each_meaning_has_its_look(figure)


def assert_nothing_is_cut_or_covered(figure, caption):
    cut = [*cut_without_a_mark(figure), *colours_beyond(figure, caption)]
    assert not [*cut, *words_on_points(figure)]


def draws_intervals(figure, table):
    """Test whether an interval of the table is drawn as a band or a line, or stands in words."""
    rows = table[(table["replicates"] >= BANDED) & (table["high"] > table["low"])]
    if rows.empty:
        return False
    if any(RANGE_IN_WORDS.search(text.get_text()) for text in figure.findobj(Text)):
        return True
    ends = {(f"{row.low:.9g}", f"{row.high:.9g}") for row in rows.itertuples()}
    for axes in figure.axes:
        for path in (path for artist in intervals_of(axes) for path in artist.get_paths()):
            for values in path.vertices.T:
                drawn = {f"{value:.9g}" for value in values}
                if any(low in drawn and high in drawn for low, high in ends):
                    return True
    return False


def assert_caption_is_of_the_picture(figure, table, caption):
    """A caption announces intervals, correlations and published panels where the picture has them,
    and a colour bar says that its scale is not linear."""
    assert ("interval: 95%" in caption) == draws_intervals(figure, table)
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert not [text for text in texts if WITHOUT_WIDTH.search(text)]
    assert (" r: " in caption) == any("r = " in text or "no r:" in text for text in texts)
    if not (table["source"] == "published").any():
        assert not re.search(r"(paper|report)'s (panel|strip|difference|summar)|Stars?:", caption)
    maps = [
        drawn for axes in figure.axes for drawn in axes.collections if isinstance(drawn, QuadMesh)
    ]
    if maps and not any(hasattr(axes, "_colorbar") for axes in figure.axes):
        assert COLOURS_IN_WORDS.search(caption)
    for axes in figure.axes:
        if hasattr(axes, "_colorbar") and type(axes._colorbar.norm) not in LINEAR:
            assert "scale" in axes.get_ylabel() + axes.get_xlabel()


def assert_each_meaning_has_its_look(figure):
    """Noise, the majority class and published numbers look alike in all legends, and nothing else
    looks so."""
    legends = figure.legends + [axes.get_legend() for axes in figure.axes]
    for legend in filter(None, legends):
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if not isinstance(handle, Line2D):
                continue
            name = re.split(r"[ *]*[(*,]", text.get_text())[0]
            look = {handle.get_linestyle(), handle.get_marker()}
            of_its_own = look & {*LOOKS.values()} - {":"}
            if name in LOOKS:
                assert LOOKS[name] in look, name
            else:
                assert not of_its_own, name
