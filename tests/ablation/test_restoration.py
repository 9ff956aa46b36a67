from copy import deepcopy
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from made_encoders import changed, copied
from made_tables import in_columns
from made_toys import CASES, SETTINGS, SIDECAR, TOKENIZER, model_of

from bertshift.ablation.restoration import movement, restore, scores
from bertshift.activations.extract import encode
from bertshift.errors import UserError
from bertshift.files import write_json
from bertshift.metrics.svcca import svcca
from bertshift.models.loading import save_model
from bertshift.models.restore import every_restoration
from bertshift.rows.blocks import block_of
from bertshift.rows.provenance import restored_table

TASK, ROWS = CASES["classification"]


def fine_tuned_from(model, amount=0.1):
    """A copy in which every weight has moved."""
    torch.manual_seed(2)
    moved = deepcopy(model)
    for weight in moved.parameters():
        weight.data += amount * torch.randn_like(weight)
    return moved


def edited(model, parent, layer):
    """A copy with the parent's sixteen tensors of one layer."""
    copy, prefix = deepcopy(model), f"encoder.layer.{layer - 1}."
    weights = {
        key: value for key, value in parent.encoder.state_dict().items() if key.startswith(prefix)
    }
    assert len(weights) == 16
    copy.encoder.load_state_dict(copy.encoder.state_dict() | weights)
    return copy


@torch.inference_mode()
def last_states(bert, index):
    """Those of every input by itself, without padding."""
    states = []
    for bounds in pairwise(index["example_offsets"]):
        tokens = slice(*bounds)
        ids, types = torch.tensor(
            np.stack([index["token_ids"], index["segment"]])[:, None, tokens]
        )
        states.append(bert(ids, token_type_ids=types).last_hidden_state[0].numpy())
    return states


def test_restored_layers_are_those_of_an_edited_state_dict():
    parent = model_of(TASK)
    model = fine_tuned_from(parent)
    before, index = copied(model), encode(TOKENIZER, ROWS, 16)
    restorations = every_restoration(model.encoder, parent.encoder)
    changes, scored = (
        pd.DataFrame(rows).set_index(["layer", "variant"])
        for rows in (
            movement(model.encoder, restorations, index, None, "toys"),
            scores(TASK, model, restorations, ROWS, TOKENIZER),
        )
    )
    assert not changed(before, model)

    sizes = ["k_model", "k_reference"]
    every_row, without_block_1 = np.arange(len(ROWS)), np.flatnonzero(block_of(len(ROWS)) > 0)
    restored_models = [model, *(edited(model, parent, layer) for layer in (1, 2, 3))]
    unchanged = last_states(model.encoder, index)
    for layer, restored in enumerate(restored_models):
        moved = last_states(restored.encoder, index)
        for used in (every_row, without_block_1):
            rows, complete = [ROWS[i] for i in used], used is every_row
            table = scored.loc[layer]
            values = table["value"] if complete else table["jackknife"].str[0]
            expected = TASK.score(rows, TASK.predict(restored, rows, TOKENIZER))
            assert values.to_dict() == pytest.approx(expected)
            if not layer:
                continue
            states = [np.concatenate([each[i] for i in used]) for each in (unchanged, moved)]
            expected = pd.DataFrame(svcca(*states)).T
            if complete:
                values = changes.loc[layer, ["value", *sizes]].loc[expected.index]
                assert values.to_numpy(float) == pytest.approx(
                    expected[["value", *sizes]].to_numpy(float), abs=1e-4
                )
                assert expected["value"]["svcca99"] > 0.01
            headline = changes.loc[layer, "svcca99"]
            assert list(headline[sizes]) == list(expected.loc["svcca99", sizes])
            value = headline["value"] if complete else headline["jackknife"][0]
            assert value == pytest.approx(expected["value"]["svcca99"], abs=1e-4)
    assert scored["value"].groupby("variant").nunique().max() > 1


def test_a_parent_of_another_shape_is_refused():
    with pytest.raises(UserError, match="of the same shape"):
        every_restoration(model_of(TASK).encoder, model_of(TASK, layers=2).encoder)
    assert len(every_restoration(model_of(TASK, layers=2).encoder, model_of(TASK).encoder)) == 2
    with pytest.raises(UserError, match=r"tasks\.dep: layers are restored in models of"):
        restore({"name": "dep", "kind": "dependencies"}, [], [], {}, [], None, 16)


def test_all_replicates_of_a_saved_model(tmp_path):
    parent = model_of(TASK)
    save_model(tmp_path / "parent", parent.encoder, TOKENIZER)
    runs, outcomes = [], [tmp_path / "1.json", tmp_path / "2.json"]
    for seed, path, score in zip((1, 2), outcomes, (0.5, 0.8), strict=True):
        folder = tmp_path / f"seed{seed}"
        save_model(folder, fine_tuned_from(parent, 0.1 * (seed - 1)), TOKENIZER)
        runs.append({"folder": folder, "parent": tmp_path / "parent", "init": 1, "seed": seed,
                     "ref_init": 1,
                     "ref_seed": 0})  # fmt: skip
        write_json(path,
                   {"metric": "accuracy", "scores": {"accuracy": score},
                    "majority": {"accuracy": 0.5},
                          "data": {"train": "toys train 9 of 9 (generated)"}})  # fmt: skip
    rows = [row | {"split": "dev"} for row in ROWS]
    table = in_columns(restore(SETTINGS, runs, rows, SIDECAR, rows, 150, 16, max_dev=30))
    assert (table.groupby(["seed", "metric"]).size().unstack() == [3 * 5, 4 * 2]).all(axis=None)
    unmoved = table[(table["seed"] == 1) & (table["metric"] == "restored") & table["headline"]]
    assert unmoved["value"].abs().max() < 1e-6
    assert set(table.loc[table["metric"] == "restored_score", "n"]) == {30}

    write_json(tmp_path / "stimuli.json", {"data": "toys dev 40 of 40 (generated)"})
    write_json(tmp_path / "dataset.json", SIDECAR)
    files = {"outcomes": outcomes, "scores": outcomes[:1],
             "description": tmp_path / "stimuli.json",
             "sidecar": tmp_path / "dataset.json"}  # fmt: skip
    names = {"model": "toy@large", "reference": "large", "stimuli": "toy", "scale": "demo",
             "checkpoints": {"1": {"label": "one"}},
             "trained": [["toy@large", 1, 1], ["toy@large", 1, 2]]}  # fmt: skip
    table = restored_table(table, names, files)
    assert table["failed"].equals(table["seed"] == 1) and not table["ref_failed"].any()
    data = "toys dev {} of 40 (generated); trained on toys train 9 of 9 (generated)"
    assert set(table["data"]) == {data.format(n) for n in (30, 40)}
