from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import torch
from made_toys import CASES, SETTINGS, SIDECAR, TOKENIZER, model_of

from bertshift.ablation.restoration import movement, restore, scores
from bertshift.activations.extract import encode
from bertshift.errors import UserError
from bertshift.files import write_json
from bertshift.metrics.svcca import svcca
from bertshift.models.loading import save_model
from bertshift.models.restore import every_restoration
from bertshift.rows.blocks import block_of
from bertshift.rows.tables import restored_table

torch.set_num_threads(1)
TASK, ROWS = CASES["classification"]


def fine_tuned_from(model, amount=0.1):
    """A copy of which every weight has moved."""
    torch.manual_seed(2)
    moved = deepcopy(model)
    with torch.no_grad():
        for weight in moved.parameters():
            weight += amount * torch.randn_like(weight)
    return moved


def edited(model, parent, layer):
    """The state dict itself, changed at the sixteen tensors of one layer."""
    copy, prefix = deepcopy(model), f"encoder.layer.{layer - 1}."
    theirs = {key: value for key, value in parent.encoder.state_dict().items() if key.startswith(prefix)}
    assert len(theirs) == 16
    copy.encoder.load_state_dict(copy.encoder.state_dict() | theirs)
    return copy


@torch.inference_mode()
def last_states(bert, index):
    """Every input by itself, without padding."""
    columns = [torch.from_numpy(index[name].astype(np.int64)) for name in ("token_ids", "segment")]
    bounds = zip(index["example_offsets"], index["example_offsets"][1:])
    inputs = [[column[None, first:last] for column in columns] for first, last in bounds]
    return torch.cat(
        [bert(ids, token_type_ids=segment).last_hidden_state[0] for ids, segment in inputs]
    ).numpy()


def test_restored_layers_are_those_of_an_edited_state_dict():
    parent = model_of(TASK)
    model = fine_tuned_from(parent)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    index = encode(TOKENIZER, ROWS, 16)
    restorations = every_restoration(model.encoder, parent.encoder)
    moved = list(movement(model.encoder, restorations, index, None, "toys"))
    scored = list(scores(TASK, model, restorations, ROWS, TOKENIZER))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())

    whole = last_states(model.encoder, index)
    some = np.flatnonzero(block_of(len(ROWS)) > 0)  # without the first block
    example = np.repeat(np.arange(len(ROWS)), np.diff(index["example_offsets"]))
    distances = []
    for layer in (1, 2, 3):
        by_hand = edited(model, parent, layer)
        expected = svcca(whole, last_states(by_hand.encoder, index))
        found = {row["variant"]: row for row in moved if row["layer"] == layer}
        assert {name: (row["value"], row["k_model"], row["k_reference"]) for name, row in found.items()} == {
            name: (pytest.approx(value, abs=1e-4), *sizes) for name, (value, *sizes) in expected.items()
        }
        assert found["svcca99"]["n"] == len(whole)
        distances.append(found["svcca99"]["value"])
        rest = np.isin(example, some)
        without = svcca(whole[rest], last_states(by_hand.encoder, index)[rest])["svcca99"]
        assert without[1:] == (found["svcca99"]["k_model"], found["svcca99"]["k_reference"])
        assert found["svcca99"]["without"][0] == pytest.approx(without[0], abs=1e-4)
        kept = [ROWS[i] for i in some]
        left = {row["variant"]: row["without"][0] for row in scored if row["layer"] == layer}
        assert left == pytest.approx(TASK.score(kept, TASK.predict(by_hand, kept, TOKENIZER)))
        expected = TASK.score(ROWS, TASK.predict(by_hand, ROWS, TOKENIZER))
        assert {row["variant"]: row["value"] for row in scored if row["layer"] == layer} == expected
    assert min(distances) > 0.01
    baseline = TASK.score(ROWS, TASK.predict(model, ROWS, TOKENIZER))
    assert {row["variant"]: row["value"] for row in scored if row["layer"] == 0} == baseline
    assert any(row["value"] != baseline[row["variant"]] for row in scored)  # so that equality says something


@pytest.mark.parametrize("kind", CASES)
def test_restored_from_itself_nothing_moves(kind):
    task, rows = CASES[kind]
    model = model_of(task)
    restorations = every_restoration(model.encoder, deepcopy(model).encoder)
    index = encode(TOKENIZER, CASES["classification"][1], 16)
    distances = [
        row["value"] for row in movement(model.encoder, restorations, index, 150, "toys") if row["headline"]
    ]
    assert distances == pytest.approx([0] * 3, abs=1e-6)
    table = pd.DataFrame(scores(task, model, restorations, rows, TOKENIZER))
    assert table.groupby("variant")["value"].apply(np.ptp).max() < 1e-6 and set(table["layer"]) == {
        0,
        1,
        2,
        3,
    }


def test_a_parent_of_another_shape_is_refused():
    with pytest.raises(UserError, match="of the same shape"):
        every_restoration(model_of(TASK).encoder, model_of(TASK, layers=2).encoder)
    assert len(every_restoration(model_of(TASK, layers=2).encoder, model_of(TASK).encoder)) == 2
    with pytest.raises(UserError, match=r"tasks\.dep: layers are restored in models of classification"):
        restore({"name": "dep", "kind": "dependencies"}, [], [], {}, [], None, 16)


def test_all_replicates_of_a_saved_model(tmp_path):
    rows = [row | {"split": "dev"} for row in ROWS]
    parent = model_of(TASK)
    save_model(tmp_path / "parent", parent.encoder, TOKENIZER)
    runs = []
    for seed, amount in ((1, 0.0), (2, 0.1)):
        save_model(tmp_path / f"seed{seed}", fine_tuned_from(parent, amount), TOKENIZER)
        runs.append({"folder": tmp_path / f"seed{seed}", "parent": tmp_path / "parent", "init": 1, "seed": seed,
                     "ref_init": 1, "ref_seed": 0})  # fmt: skip
        outcome = {
            "metric": "accuracy",
            "scores": {"accuracy": 0.5 + 0.3 * (seed == 2)},
            "majority": {"accuracy": 0.5},
        }
        write_json(tmp_path / f"{seed}.json", outcome | {"data": {"train": "toys train 9 of 9 (generated)"}})
    table = restore(SETTINGS, runs, rows, SIDECAR, rows, 150, 16, max_dev=30)
    assert (table.groupby(["seed", "metric"]).size().unstack() == [3 * 5, 4 * 2]).all(axis=None)
    still = table[(table["seed"] == 1) & (table["metric"] == "restored") & table["headline"]]
    assert still["value"].abs().max() < 1e-6
    assert set(table.loc[table["metric"] == "restored_score", "n"]) == {30}

    write_json(tmp_path / "stimuli.json", {"data": "toys dev 40 of 40 (generated)"})
    write_json(tmp_path / "dataset.json", SIDECAR)
    files = {"outcomes": [tmp_path / "1.json", tmp_path / "2.json"], "scores": [tmp_path / "1.json"],
             "description": tmp_path / "stimuli.json", "sidecar": tmp_path / "dataset.json"}  # fmt: skip
    names = {"model": "toy@large", "reference": "large", "stimuli": "toy", "scale": "demo",
             "checkpoints": {"1": {"label": "one"}}, "trained": [["toy@large", 1, 1], ["toy@large", 1, 2]]}  # fmt: skip
    whole = restored_table(table, names, files)
    assert dict(zip(whole["seed"], whole["failed"])) == {1: True, 2: False} and not whole["ref_failed"].any()
    assert set(whole.groupby("metric")["data"].first()) == {
        f"toys dev {n} of 40 (generated); trained on toys train 9 of 9 (generated)" for n in (30, 40)
    }
