import numpy as np
import pandas as pd
import pytest

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
    model = table("mnli", {"half": [0.0, 0.1, 0.5], "small": [0.0, 0.2, 0.3], "none": [0, 0, 0.9]})
    names = ["half", "small", "none"]
    small = table("mnli.noise", {name: [0.1, 0.2, 0.3] for name in names})
    large = table("mnli.noise10", {name: [0.5, 0.6, 0.7] for name in names})
    result = matched(model, [small, large]).set_index(["variant", "layer"])["value"]
    np.testing.assert_allclose(result["half"], [0.3, 0.4, 0.5])  # between the two sizes
    np.testing.assert_allclose(result["small"], [0.1, 0.2, 0.3])
    assert "none" not in result  # beyond the largest noise


def test_draws_of_a_run_are_averaged_and_blocks_are_matched_by_themselves():
    model, *noise = (
        table(name, {"nats": curve}, seeds)
        for name, curve, seeds in (
            ("mnli", [0.0, 0.1, 0.5], 2),
            ("mnli.noise", [0.1, 0.2, 0.3], 4),
            ("mnli.noise3", [0.5, 0.8, 0.7], 4),
        )
    )
    model["without1"] = model["value"]
    for rows in noise:
        rows["without1"] = rows["value"] + 0.1
    result = matched(model, noise).set_index(["seed", "layer"])
    # Draws 1 and 2 are of seed 1, on average .005 above the curve: the model's last layer lies
    # .195 of .4 above the smaller noise, without a block .095 of .4.
    np.testing.assert_allclose(result.loc[1, "value"], [0.3, 0.4975, 0.5])
    np.testing.assert_allclose(result.loc[1, "without1"], [0.3, 0.4475, 0.5])
    np.testing.assert_allclose(result.loc[2, "value"], [0.31, 0.5025, 0.51])


def test_parts_of_one_change_are_matched_together():
    model, *noise = (
        table(name, {"total": [0, 0, total], "own": [0, 0, own]}, metric="own_or_inherited")
        for name, total, own in (("mnli", 0.5, 0.1), ("mnli.noise", 0, 0), ("mnli.noise3", 1, 0.8))
    )
    result = matched(model, noise)
    assert result[result["variant"] == "own"]["value"].iloc[-1] == pytest.approx(0.4)


def test_maps_of_layers_are_matched_by_the_last_layer_of_both_models():
    def maps(model, last, within):
        cells = {
            "variant": ["across"] * 4 + ["after"] * 4,
            "layer": [0, 0, 1, 1] * 2,
            "ref_layer": [0, 1] * 4,
            "value": [0.9, 0.5, 0.5, last, 1.0, within, within, 1.0],
        }
        return pd.DataFrame(cells).assign(model=model, metric="layer_cka", init=1, seed=1)

    noise = [maps("mnli.noise", 0.8, 0.7), maps("mnli.noise3", 0.0, 0.3)]
    result = matched(maps("mnli", 0.6, 0.1), noise)
    result = result.set_index(["variant", "layer", "ref_layer"])["value"]
    assert result["after", 0, 1] == pytest.approx(0.6)  # a quarter of the way


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
    assert all(result[path] is tables[path] for path in result if path != joined)
    assert {*result[joined]["model"]} == {"mnli.matched"}
    np.testing.assert_allclose(result[joined]["value"], [0.3, 0.4, 0.5])
    beyond = tables | {paths[0]: table("mnli", {"crop": [0.0, 0.1, 0.9]})}
    assert joined not in with_matched(beyond)
