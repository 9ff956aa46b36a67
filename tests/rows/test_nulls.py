import numpy as np
import pandas as pd
import pytest

from bertshift.rows.blocks import WITHOUT
from bertshift.rows.nulls import matched, model_of, null_of, with_matched

LAYERS = [1, 2, 3]


def table(model, curves, seeds=1, **more):
    """A metric table: `curves` are {variant: values by layer}, `seeds` times the same but for a hundredth of the seed."""
    return pd.DataFrame(
        {"metric": "js", "model": model, "stimuli": "mnli", "variant": variant, "init": 1, "seed": seed, "head": 0,
         "layer": layer, "value": value + 0.01 * (seed - 1)} | more
        for seed in range(1, seeds + 1) for variant, values in curves.items() for layer, value in zip(LAYERS, values)
    )  # fmt: skip


def test_names_of_nulls():
    names = ["mnli", "mnli@large", "mnli.noise", "wnli+cola.noise@cased", "mnli.lora8.matched@large"]
    assert [null_of(name) for name in names] == ["", "", "noise", "noise", "matched"]
    assert [model_of(name) for name in names] == [
        "mnli",
        "mnli@large",
        "mnli",
        "wnli+cola@cased",
        "mnli.lora8@large",
    ]


def test_matched_noise_changes_the_last_layer_as_much_and_is_interpolated_below():
    model = table("mnli", {"nats": [0.0, 0.1, 0.5], "bits": [0.0, 0.2, 0.1]})
    small = table("mnli.noise", {"nats": [0.1, 0.2, 0.3], "bits": [0.0, 0.0, 0.1]})
    large = table("mnli.noise10", {"nats": [0.5, 0.6, 0.7], "bits": [0.4, 0.4, 0.3]})
    found = matched(model, [small, large]).set_index(["variant", "layer"])["value"]
    np.testing.assert_allclose(found["nats"], [0.3, 0.4, 0.5])  # half of the way from one size to the other
    np.testing.assert_allclose(found["bits"], [0.0, 0.0, 0.1])  # the smaller size is the match


def test_there_is_no_match_beyond_the_largest_noise():
    model = table("mnli", {"nats": [0.0, 0.1, 0.9]})
    noise = [
        table(f"mnli.noise{size}", {"nats": [0.1, 0.2, value]}) for size, value in (("", 0.3), (10, 0.7))
    ]
    assert matched(model, noise).empty
    assert "mnli.matched" not in {
        t["model"].iloc[0] for t in with_matched({"a": model, "b": noise[0], "c": noise[1]}).values()
    }


def test_draws_of_a_run_are_averaged_and_blocks_are_matched_by_themselves():
    model = table("mnli", {"nats": [0.0, 0.1, 0.5]}, seeds=2).assign(**dict.fromkeys(WITHOUT, np.nan))
    small = table("mnli.noise", {"nats": [0.1, 0.2, 0.3]}, seeds=4).assign(**dict.fromkeys(WITHOUT, np.nan))
    large = table("mnli.noise3", {"nats": [0.5, 0.6, 0.7]}, seeds=4).assign(**dict.fromkeys(WITHOUT, np.nan))
    model[WITHOUT[0]], small[WITHOUT[0]], large[WITHOUT[0]] = (
        model["value"],
        small["value"] + 0.1,
        large["value"] + 0.1,
    )
    found = matched(model, [small, large])
    # Draws 1 and 2 are of seed 1, on average .005 above the curve; the last layer is .195 of .4 of the way up.
    for seed, above in ((1, 0.005), (2, 0.025)):
        own = found[found["seed"] == seed]
        share = (0.5 + 0.01 * (seed - 1) - 0.3 - above) / 0.4
        np.testing.assert_allclose(own["value"], np.array([0.1, 0.2, 0.3]) + above + share * 0.4)
        np.testing.assert_allclose(
            own[WITHOUT[0]], own["value"]
        )  # all are .1 higher, so that the match is lower


def test_parts_of_one_change_are_matched_together():
    model = table("mnli", {"total": [0, 0, 0.5], "own": [0, 0, 0.1]}).assign(
        metric="own_or_inherited", measure="js"
    )
    small = table("mnli.noise", {"total": [0, 0, 0], "own": [0, 0, 0]}).assign(
        metric="own_or_inherited", measure="js"
    )
    large = table("mnli.noise3", {"total": [0, 0, 1], "own": [0, 0, 0.8]}).assign(
        metric="own_or_inherited", measure="js"
    )
    found = matched(model, [small, large])
    assert found[found["variant"] == "own"]["value"].iloc[-1] == pytest.approx(0.4)


def test_maps_of_layers_are_matched_by_the_last_layer_of_both_models():
    def maps(model, last, within):
        cells = [(i, j) for i in (0, 1) for j in (0, 1)]
        values = {"across": [0.9, 0.5, 0.5, last], "after": [1.0, within, within, 1.0]}
        rows = {"metric": "layer_cka", "model": model, "init": 1, "seed": 1, "head": 0}
        return pd.DataFrame(
            rows | {"variant": variant, "layer": i, "ref_layer": j, "value": value}
            for variant, of_map in values.items() for (i, j), value in zip(cells, of_map)
        )  # fmt: skip

    found = matched(maps("mnli", 0.6, 0.1), [maps("mnli.noise", 0.8, 0.7), maps("mnli.noise3", 0.0, 0.3)])
    found = found.set_index(["variant", "layer", "ref_layer"])["value"]
    assert found["across", 1, 1] == pytest.approx(0.6)  # a quarter of the way
    assert found["after", 0, 1] == pytest.approx(0.6)


def test_a_measure_with_a_table_for_each_kind_of_inputs_is_matched_on_those_of_noise():
    tables = {
        "results/cosine/mnli.tsv": table("mnli", {"crop": [0.0, 0.1, 0.5]}),
        "results/cosine_padded/mnli.tsv": table("mnli", {"padded": [0.0, 0.1, 0.2]}),
        "results/cosine/mnli.noise.tsv": table("mnli.noise", {"crop": [0.1, 0.2, 0.3]}),
        "results/cosine/mnli.noise3.tsv": table("mnli.noise3", {"crop": [0.5, 0.6, 0.7]}),
    }
    *_, found = with_matched(tables).values()
    assert set(found["model"]) == {"mnli.matched"} and set(found["variant"]) == {"crop"}
    np.testing.assert_allclose(found["value"], [0.3, 0.4, 0.5])


def test_tables_of_other_sizes_give_way_to_matched_ones_and_all_others_stay():
    tables = {
        "results/js/mnli_vs_base.tsv": table("mnli", {"nats": [0.0, 0.1, 0.5]}),
        "results/js/mnli.noise_vs_base.tsv": table("mnli.noise", {"nats": [0.1, 0.2, 0.3]}),
        "results/js/mnli.noise10_vs_base.tsv": table("mnli.noise10", {"nats": [0.5, 0.6, 0.7]}),
        "results/losses/mnli.tsv": pd.DataFrame({"step": [1]}),
    }
    found = with_matched(tables)
    joined = "results/js/mnli.noise_vs_base.tsv; results/js/mnli.noise10_vs_base.tsv"
    assert list(found) == [*list(tables)[:2], list(tables)[3], joined]
    assert set(found[joined]["model"]) == {"mnli.matched"}
    assert all(found[path] is tables[path] for path in found if path != joined)
