"""Arrows where a panel cuts the intervals that are drawn in it."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PolyCollection
from matplotlib.figure import Figure

INTERVAL, CUT = "interval", "cut"  # ids of the artists
# The marker of each end of an axis.
ARROWS = {"x": ("<", ">"), "y": ("v", "^")}
SLACK = 0.002  # of an axis: nobody sees that so little is cut


def mark_cut(figure: Figure) -> None:
    """Draw an arrow where a panel cuts an interval, an artist with the id INTERVAL."""
    for axes in figure.axes:
        axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())  # arrows shall not widen them
    for axes in figure.axes:
        drawn = [artist for artist in axes.collections if artist.get_gid() == INTERVAL]
        for artist in drawn:
            for x, y, marker in cut_ends(axes, artist):
                look = {"color": artist.get_edgecolor()[:1], "s": 9, "linewidth": 0}
                if isinstance(artist, PolyCollection):
                    look["color"] = artist.get_facecolor()[:1, :3]
                axes.scatter(x, y, marker=marker, clip_on=False, zorder=6, gid=CUT, **look)


def cut_ends(axes: Axes, artist: Collection) -> Iterator[tuple[float, float, str]]:
    """Yield (x, y, marker) on the edge of the panel for each end of an interval, or of a band,
    that lies outside; a band has one for each run of neighbouring points, at the middle."""
    limits = np.sort([axes.get_xlim(), axes.get_ylim()], axis=1)
    margin = SLACK * np.ptp(limits, axis=1)
    for path in artist.get_paths():
        points = path.vertices
        for axis, name in enumerate(ARROWS):
            inside_other = _is_within(points[:, 1 - axis], limits[1 - axis], margin[1 - axis])
            for limit, sign, marker in zip(limits[axis], (-1, 1), ARROWS[name]):
                beyond = sign * (points[:, axis] - limit) > margin[axis]
                for run in _runs(beyond & inside_other):
                    point = points[run[len(run) // 2]].copy()
                    point[axis] = limit
                    yield *point, marker


def _is_within(values: np.ndarray, limits: np.ndarray, margin: float) -> np.ndarray:
    return (values >= limits[0] - margin) & (values <= limits[1] + margin)


def _runs(marked: np.ndarray) -> list[np.ndarray]:
    """List the indices of each run of neighbours that are marked."""
    indices = np.flatnonzero(marked)
    if not len(indices):
        return []
    return np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)
