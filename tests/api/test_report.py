"""The sentences that a comparison begins with, on made-up rows."""

import numpy as np
import pandas as pd
from made_tables import WITHOUT, of_columns

from bertshift.api.change import Change

BLOCKS = len(WITHOUT)


def rows_of(measure, variant, values, noise=0.0, head=0, seed=1):
    """One row a layer, from 1: its value, and values without blocks that spread by `noise`, each
    layer's in its own way."""
    rng = np.random.default_rng([len(values), seed, head])
    rows = []
    for layer, value in enumerate(values, 1):
        keys = {"metric": measure, "variant": variant, "layer": layer, "ref_layer": layer}
        keys |= {"model": "m", "reference": "r", "head": head, "value": value}
        keys |= {"init": 1, "seed": seed, "ref_init": 1, "ref_seed": 0}
        left_out = value + noise * rng.normal(size=BLOCKS)
        rows.append(keys | dict(zip(WITHOUT, left_out, strict=True)))
    return rows


def change_of(*parts, about=None, **more):
    rows = pd.DataFrame([row for part in parts for row in part])
    return Change(of_columns(rows), "m", "r", about or {"texts": 200}, **more)


def test_equal_models_are_the_same():
    change = change_of(rows_of("rsa", "content", [1.0, 1.0]), left_out={"svcca": "few tokens."})
    assert change.report == [
        "m and r are the same: no measure differs in a layer.",
        "svcca is left out: few tokens.",
    ]


def test_the_layer_that_changed_most_is_told_apart_from_others_only_by_intervals():
    sure = change_of(rows_of("rsa", "content", [1.0, 0.9, 0.5, 0.8], noise=1e-4))
    assert sure.most_changed("rsa") == (3, [])
    assert sure.report[0] == "m and r differ in layers 2 to 4, and are the same in layer 1."
    low, high = sure.by_layer("rsa").loc[3, ["low", "high"]]
    assert sure.report[1] == (
        f"rsa changed most in layer 3: 0.5 [{low:.4g}, {high:.4g}], where 1 is no change, and more"
        " than any other layer."
    )
    unsure = change_of(rows_of("svcca", "svcca99", [0.1, 0.5, 0.51, 0.52], noise=0.02))
    assert unsure.most_changed("svcca") == (4, [2, 3])
    assert unsure.report[1].endswith("is no change; layers 2 and 3 may have changed as much.")


def test_one_text_tells_no_layers_apart():
    change = change_of(rows_of("rsa", "content", [0.9, 0.5], noise=np.nan))
    assert change.most_changed("rsa") == (2, [1])
    assert "There is no interval: one text says nothing about others." in change.report


def test_the_head_that_changed_most_is_named_among_how_many():
    heads = [rows_of("js", "nats", values, 1e-4, head) for head, values in enumerate(
        ([0.2, 0.3], [0.1, 0.1], [0.3, 0.5]))]  # fmt: skip
    [said] = [line for line in change_of(*heads).report if "heads" in line]
    assert said.startswith("Of 4 heads 2.2 changed most by js: 0.5 [")


def test_what_the_last_layer_makes_is_told_beside_what_arrives_there():
    parts = [rows_of("rsa", variant, values, 1e-4) for variant, values in {
        "content": [0.9, 0.2], "content_made": [0.9, 0.99], "content_arrived": [1.0, 0.3]}.items()]  # fmt: skip
    said = change_of(*parts).report
    assert (
        "rsa in layer 2 is 0.2: by this layer's weights alone 0.99 (made), by its input alone 0.3"
        " (arrived)." in said
    )


def test_intervals_of_one_model_say_nothing_of_other_seeds():
    one = change_of(rows_of("rsa", "content", [0.9, 0.5], 1e-3))
    assert one.report[-2] == (
        "Intervals are of 95 %, over texts (200 texts); they say nothing of other seeds: give the"
        " models of several."
    )
    seeds = [rows_of("rsa", "content", [0.9, value], 1e-3, seed=seed)
             for seed, value in enumerate([0.5, 0.52], 1)]  # fmt: skip
    assert change_of(*seeds).report[-2] == (
        "Intervals are of 95 %, over texts and replicates (200 texts, 2 replicates)."
    )
