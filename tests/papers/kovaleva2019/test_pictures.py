"""What the figures of Kovaleva et al. 2019 leave out, and say of what they draw."""

import re

import pytest
from made_papers import real
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from bertshift.papers.kovaleva2019 import change
from bertshift.rows import labelling


@pytest.mark.parametrize(("p", "found"), [(0.4, False), (0.6, True)])
def test_a_class_is_drawn_where_a_map_is_more_likely_of_it_than_not(draw, p, found):
    tables = real("kovaleva2019/figure1")
    for table in tables.values():
        table.loc[table["variant"] == "most_confident", "value"] = p
    figure, _, caption = draw("kovaleva2019/figure1", tables)
    assert sum(len(axes.images) for axes in figure.axes) == (5 if found else 0)
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert texts.count("none found") == (0 if found else 5)
    assert ("Where none is found" in caption) == (not found)


def test_the_caption_counts_the_seeds_of_all_frames(draw):
    figure, _, caption = draw("kovaleva2019/figure8", real("kovaleva2019/figure8"))
    frames = [
        patch
        for axes in figure.axes
        for patch in axes.patches
        if isinstance(patch, Rectangle) and not patch.get_fill()
    ]
    said = re.search(r"Of the framed heads, (.*?)\.", caption)[1]
    counts = [int(number) for number in re.findall(r"(\d+)(?: were so)? in \d", said)]
    assert len(counts) == 3 and sum(counts) == len(frames)


def test_a_legend_does_not_give_noise_the_colour_of_one_part(draw):
    figure, _, caption = draw(
        "kovaleva2019/own_or_inherited", real("kovaleva2019/own_or_inherited", "/mnli")
    )
    [legend] = figure.legends
    colours = {
        text.get_text(): handle.get_color()
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
    }
    noise = colours.pop(labelling.NULL_WORDS["noise"])
    assert len(colours) == len(change.PARTS) and noise not in colours.values()
    assert "Each part's noise has its colour" in caption
