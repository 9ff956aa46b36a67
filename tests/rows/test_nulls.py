import numpy as np
import pandas as pd
import pytest

from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.nulls import matched, model_of, null_of, with_matched

LAYERS = [1, 2, 3]


def table(model, curves, seeds=1, **more):
    """A metric table: `curves` are {variant: values by layer}, `seeds` times the same but for a
    hundredth of the seed."""
    return pd.DataFrame(
        {"metric": "js", "model": model, "stimuli": "mnli", "variant": variant, "init": 1, "seed": seed, "head": 0,
         "layer": layer, "value": value + 0.01 * (seed - 1)} | more
        for seed in range(1, seeds + 1) for variant, values in curves.items() for layer, value in zip(LAYERS, values)
    )  # fmt: skip


def test_names_of_nulls():
    names = {"mnli": "", "mnli@large": "", "mnli.noise": "noise", "wnli+cola.noise@cased": "noise",
             "mnli.lora8.matched@large": "matched"}  # fmt: skip
    assert {name: null_of(name) for name in names} == names
    models = ["mnli", "mnli@large", "mnli", "wnli+cola@cased", "mnli.lora8@large"]
    assert list(map(model_of, names)) == models


def test_matched_noise_changes_the_last_layer_as_much_and_is_interpolated_below():
    model = table(
        "mnli", {"nats": [0.0, 0.1, 0.5], "bits": [0.0, 0.2, 0.1], "more": [0.0, 0.1, 0.9]}
    )
    small = table(
        "mnli.noise", {"nats": [0.1, 0.2, 0.3], "bits": [0.0, 0.0, 0.1], "more": [0.1, 0.2, 0.3]}
    )
    large = table(
        "mnli.noise10", {"nats": [0.5, 0.6, 0.7], "bits": [0.4, 0.4, 0.3], "more": [0.1, 0.2, 0.7]}
    )
    result = matched(model, [small, large]).set_index(["variant", "layer"])["value"]
    np.testing.assert_allclose(
        result["nats"], [0.3, 0.4, 0.5]
    )  # half of the way from one size to the other
    np.testing.assert_allclose(result["bits"], [0.0, 0.0, 0.1])  # the smaller size is the match
    assert "more" not in result  # beyond the largest noise


def test_draws_of_a_run_are_averaged_and_blocks_are_matched_by_themselves():
    model = table("mnli", {"nats": [0.0, 0.1, 0.5]}, seeds=2)
    small = table("mnli.noise", {"nats": [0.1, 0.2, 0.3]}, seeds=4)
    large = table("mnli.noise3", {"nats": [0.5, 0.6, 0.7]}, seeds=4)
    model, small, large = (
        rows.assign(**dict.fromkeys(JACKKNIFE_COLUMNS, np.nan)).assign(
            without1=rows["value"] + above
        )
        for rows, above in ((model, 0), (small, 0.1), (large, 0.1))
    )
    result = matched(model, [small, large])
    # Draws 1 and 2 are of seed 1, on average .005 above the curve; the last layer is .195 of .4 of
    # the way up.
    for seed, above in ((1, 0.005), (2, 0.025)):
        seed_rows = result[result["seed"] == seed]
        share = (0.5 + 0.01 * (seed - 1) - 0.3 - above) / 0.4
        np.testing.assert_allclose(
            seed_rows["value"], np.array([0.1, 0.2, 0.3]) + above + share * 0.4
        )
        np.testing.assert_allclose(
            seed_rows["without1"], seed_rows["value"]
        )  # all are .1 higher, so that the match is lower


def test_parts_of_one_change_are_matched_together():
    model, small, large = (
        table(
            name,
            {"total": [0, 0, total], "own": [0, 0, own]},
            metric="own_or_inherited",
            measure="js",
        )
        for name, total, own in (("mnli", 0.5, 0.1), ("mnli.noise", 0, 0), ("mnli.noise3", 1, 0.8))
    )
    result = matched(model, [small, large])
    assert result[result["variant"] == "own"]["value"].iloc[-1] == pytest.approx(0.4)


def test_maps_of_layers_are_matched_by_the_last_layer_of_both_models():
    def maps(model, last, within):
        values = {"across": [0.9, 0.5, 0.5, last], "after": [1.0, within, within, 1.0]}
        cells = pd.DataFrame(
            {
                "layer": [0, 0, 1, 1],
                "ref_layer": [0, 1, 0, 1],
                "model": model,
                "metric": "layer_cka",
            }
        )
        cells = cells.assign(init=1, seed=1, head=0)
        return pd.concat(
            [cells.assign(variant=name, value=value) for name, value in values.items()]
        )

    result = matched(
        maps("mnli", 0.6, 0.1), [maps("mnli.noise", 0.8, 0.7), maps("mnli.noise3", 0.0, 0.3)]
    )
    result = result.set_index(["variant", "layer", "ref_layer"])["value"]
    assert result["across", 1, 1] == pytest.approx(0.6)  # a quarter of the way
    assert result["after", 0, 1] == pytest.approx(0.6)


def test_tables_of_other_sizes_give_way_to_matched_ones_and_all_others_stay():
    """A measure may have a table for each kind of its inputs, as cosine has of padded ones, and
    noise but one of them."""
    tables = {
        "results/cosine/mnli.tsv": table("mnli", {"crop": [0.0, 0.1, 0.5]}),
        "results/cosine_padded/mnli.tsv": table("mnli", {"padded": [0.0, 0.1, 0.2]}),
        "results/cosine/mnli.noise.tsv": table("mnli.noise", {"crop": [0.1, 0.2, 0.3]}),
        "results/cosine/mnli.noise3.tsv": table("mnli.noise3", {"crop": [0.5, 0.6, 0.7]}),
        "results/losses/mnli.tsv": pd.DataFrame({"step": [1]}),
    }
    result = with_matched(tables)
    paths = list(tables)
    joined = "; ".join(paths[2:4])
    assert list(result) == [*paths[:3], paths[4], joined]
    assert set(result[joined]["model"]) == {"mnli.matched"} and set(result[joined]["variant"]) == {
        "crop"
    }
    np.testing.assert_allclose(result[joined]["value"], [0.3, 0.4, 0.5])
    assert all(result[path] is tables[path] for path in result if path != joined)
    beyond = tables | {paths[0]: table("mnli", {"crop": [0.0, 0.1, 0.9]})}
    assert joined not in with_matched(beyond)
