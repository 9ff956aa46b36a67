"""The figure of planted changes, and the verdicts on them, from made-up outcomes."""

import pandas as pd
import pytest
from made_tables import measured, published
from pictures import assert_every_number_is_in_the_table, assert_legible

from bertshift.papers import by_name
from bertshift.papers.beyond import planted
from bertshift.papers.beyond.claims import ATTENTION, MADE, STATES
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED

PATH = "results/planted/base.tsv"
LAYERS, SIZES = 6, (0.1, 0.3, 1.0)
SIZED = ("head", "attention", "feed_forward", "rank_one")
ATTENTION_MEASURES = ("js", "js_head", "js_matched", "cosine", "cosine_head", "cosine_matched")


def cases():
    """(kind, size, layer) of one draw."""
    for kind in SIZED:
        yield from ((kind, size, layer) for size in SIZES for layer in range(1, LAYERS + 1))
    for kind in ("words", "all_layers"):
        yield from ((kind, size, 0) for size in SIZES)
    for kind in ("heads_reordered", "units_reordered"):
        yield from ((kind, 0.0, layer) for layer in range(1, LAYERS + 1))
    yield "nothing", 0.0, 0


def outcomes(is_found, is_placed, draws):
    """The table of a checkpoint. is_found(measure, kind, size, layer), is_placed(measure, layer)."""
    rows = []
    for draw in range(1, draws + 1):
        for measure in planted.MEASURES:
            for kind, size, layer in cases():
                values = {"found": is_found(measure, kind, size, layer)}
                if kind not in ("all_layers", "nothing") and not (
                    kind == "words" and measure in ATTENTION_MEASURES
                ):
                    values["placed"] = is_placed(measure, layer)
                for outcome, value in values.items():
                    rows.append({
                        "metric": "planted", "model": "base", "stimuli": "wiki", "init": 1, "seed": draw,
                        "variant": kind, "measure": measure, "size": size, "layer": layer, "head": 0,
                        "outcome": outcome, "value": float(value), "n": 100, "failed": False,
                        "scale": "demo", "checkpoint": "made", "family": "bert", "data": "made",
                    })  # fmt: skip
    return pd.DataFrame(rows)


def as_expected(measure, kind, size, layer):
    if kind in ("nothing", "units_reordered"):
        return False
    if kind == "heads_reordered":
        return measure in ("js", "cosine")
    return size >= 0.3


def at_the_top(measure, layer):
    return measure.startswith("made") or layer == LAYERS


def test_the_claims_hold_where_everything_is_as_they_say(decide):
    rows = decide("beyond/planted", {PATH: outcomes(as_expected, at_the_top, draws=8)})
    assert set(rows["id"]) == {"W.2", "W.3", "W.4", "W.5", "W.6"}
    assert (rows["verdict"] == HOLDS).all()
    assert rows.loc["W.2 (RSA)", "ours"] == pytest.approx(5 / 6, abs=1e-6)
    counts = rows.groupby("id").size()
    everything = len(STATES) + len(MADE) + len(ATTENTION)
    assert counts.to_dict() == {
        "W.2": len(STATES), "W.3": 1, "W.4": everything, "W.5": len(ATTENTION), "W.6": len(STATES)
    }  # fmt: skip


def test_the_claims_fail_where_nothing_is(decide):
    def found(measure, kind, size, layer):
        return kind != "heads_reordered" or measure not in ("js", "cosine")

    def placed(measure, layer):
        return not measure.startswith("made")

    rows = decide("beyond/planted", {PATH: outcomes(found, placed, draws=8)})
    assert (rows["verdict"] == FAILS).all()


@pytest.mark.parametrize(("draws", "verdict"), [(5, UNDECIDED), (6, HOLDS)])
def test_draws_that_all_agree_decide_from_six_on(draws, verdict):
    tables = measured({PATH: outcomes(as_expected, at_the_top, draws)})
    rows = by_name.decide("beyond/planted", tables, published("beyond")).set_index("claim")
    assert rows.loc["W.3 (made, by RSA)", "verdict"] == verdict


def test_the_smallest_size_is_the_first_of_which_half_are_found(draw):
    def found(measure, kind, size, layer):
        if measure == "edge":
            return False
        return size == 1.0 or (size == 0.3 and layer <= (3 if measure == "rsa" else 2))

    figure, table, caption = draw("beyond/planted", {PATH: outcomes(found, at_the_top, draws=3)})
    smallest = table[(table["series"] == "smallest") & (table["variant"] == "feed_forward")]
    sizes = smallest.set_index("measure")["value"]
    assert sizes["rsa"] == 0.3 and sizes["svcca"] == 1.0 and "edge" not in sizes
    placed = table[(table["series"] == "placed") & (table["size"] == 1.0)]
    placed = placed.set_index(["variant", "measure"])["value"]
    assert placed["feed_forward", "rsa"] == pytest.approx(1 / 6)
    assert placed["rank_one", "made"] == 1
    assert_every_number_is_in_the_table(figure, table)
    assert_legible(figure)
    texts = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert "–" in texts[0] and "0.3" in texts[0] and "17" in texts[1] and "0" in texts[2]
    assert "Sizes: 0.1, 0.3, 1; a dash: none of these is found." in caption
    assert "3 draws" in caption


def test_a_share_of_all_has_the_limit_of_wilsons_interval():
    """Of 18 models, all found."""
    table = outcomes(lambda *_: True, at_the_top, draws=3)
    for block in range(1, 6):
        table[f"without{block}"] = table["value"]
    shares = planted.tidy(measured({PATH: table}))
    row = shares[(shares["variant"] == "head") & (shares["series"] == "found")].iloc[0]
    assert row["value"] == row["high"] == 1 and 0.6 < row["low"] < 0.9
