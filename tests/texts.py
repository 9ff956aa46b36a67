"""Helpers that find which texts of a figure are drawn, and which overlap another or leave the page."""

from itertools import combinations

from matplotlib.text import Text

SLACK = 0.5  # pixels


def clashes(figure):
    """Texts of a figure that overlap another or leave the page, in words."""
    figure.draw_without_rendering()
    texts = [(text.get_text(), text.get_window_extent()) for text in shown(figure)]
    page = figure.bbox
    outside = [
        f"{words!r} leaves the page"
        for words, box in texts
        if min(box.x0, box.y0) < -SLACK or box.x1 > page.x1 + SLACK or box.y1 > page.y1 + SLACK
    ]
    return outside + [
        f"{words!r} lies on {others!r}"
        for (words, box), (others, other) in combinations(texts, 2)
        if min(box.x1, other.x1) - max(box.x0, other.x0) > SLACK
        and min(box.y1, other.y1) - max(box.y0, other.y0) > SLACK
    ]


def shown(figure):
    """All texts that are drawn; labels of ticks outside the axes' limits are not, nor are those of axes without axis."""
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
    return [text for text in texts if text not in hidden and text.get_visible() and text.get_text().strip()]
