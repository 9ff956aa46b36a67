"""What the figures of Kovaleva et al. 2019 leave out, and say of what they draw."""

import re

import pandas as pd
import pytest
from made_papers import real
from made_tables import WITHOUT
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from bertshift.rows import labelling
from bertshift.verdicts.deciding import FAILS, HOLDS, UNTESTED


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


def with_states(tables, made):
    """Add hidden states of which the last layer makes so much, and in which all has changed by
    .5. Runs and blocks of inputs differ by a thousandth of what they do in attention."""
    values = {"total": ("both", 0.5), "own": ("made", made), "inherited": ("arrived", 0.4)}
    added = {}
    for path, table in tables.items():
        parts = [table]
        for attention, (variant, value) in values.items():
            is_part = (table["head"] == 0) & (table["measure"] == "js")
            rows = table[is_part & (table["variant"] == attention)].copy()
            numbers = [name for name in ("value", *WITHOUT) if name in rows]
            rows[numbers] = value + 1e-3 * rows[numbers]
            parts.append(rows.assign(measure="rsa_distance", variant=variant))
        added[path] = pd.concat(parts, ignore_index=True)
    return added


def test_hidden_states_have_a_row_of_panels_where_they_were_measured(draw):
    tables = real("kovaleva2019/own_or_inherited", "/mnli")
    figure, table, caption = draw("kovaleva2019/own_or_inherited", with_states(tables, 0.01))
    older, older_table, older_caption = draw("kovaleva2019/own_or_inherited", tables)
    assert len(figure.axes) == 3 and len(older.axes) == 2
    assert {"both", "made", "arrived"} <= {*table["variant"]}
    assert len(table) > len(older_table)
    assert "1 − RSA of the layer's output" in caption and "1 − RSA" not in older_caption
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [text.get_text() for text in older.legends[0].get_texts()]


@pytest.mark.parametrize(("made", "verdict"), [(0.01, HOLDS), (0.8, FAILS)])
def test_what_a_layer_makes_is_claimed_to_be_less_than_what_shows(decide, made, verdict):
    tables = real("kovaleva2019/own_or_inherited", "/mnli")
    verdicts = decide("kovaleva2019/own_or_inherited", with_states(tables, made))
    older = decide("kovaleva2019/own_or_inherited", tables)
    for claim, shown in [("K5.4 (mnli)", 0.5), ("K5.5 (mnli)", 0.25)]:
        row = verdicts.loc[claim]
        assert row["verdict"] == verdict
        assert row["ours"] == pytest.approx(made - shown, abs=1e-3)
        assert older.loc[claim, "verdict"] == UNTESTED


def test_a_legend_does_not_give_a_null_the_colour_of_one_part(draw):
    figure, _, caption = draw(
        "kovaleva2019/own_or_inherited", real("kovaleva2019/own_or_inherited", "/mnli")
    )
    [legend] = figure.legends
    colours = {
        text.get_text(): handle.get_color()
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
    }
    of_nulls = {colours.pop(words) for words in labelling.NULL_WORDS.values()}
    assert len(colours) == 3 and not of_nulls & {*colours.values()}
    assert "Each part's noise has its colour" in caption
