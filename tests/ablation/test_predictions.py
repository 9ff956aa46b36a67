import numpy as np
import pytest
import torch
from disabling import disabled
from made_toys import CASES, TOKENIZER, model_of

from bertshift.ablation import predictions
from bertshift.ablation.predictions import under_every_ablation
from bertshift.ablation.resuming import ResumingEncoder, resuming
from bertshift.models.ablate import NOTHING, Ablation, averaging, every_ablation

torch.set_num_threads(1)


def same(ours, theirs):
    if isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and ours == pytest.approx(theirs, abs=1e-5)
    return [tuple(answer) for answer in ours] == [
        (answer.text, pytest.approx(answer.margin, abs=1e-4)) for answer in theirs
    ]


@pytest.mark.parametrize(
    ("kind", "characters"), [("classification", 30), ("regression", 10**6), ("spans", 30)]
)
def test_every_ablation_predicts_what_the_changed_model_predicts(monkeypatch, kind, characters):
    monkeypatch.setattr(predictions, "CHARACTERS", {"cpu": characters})  # of a chunk
    task, rows = CASES[kind]
    model, rows = model_of(task), rows[:6]
    encoder, before = (
        model.encoder,
        {name: value.clone() for name, value in model.state_dict().items()},
    )
    found = under_every_ablation(task, model, rows, TOKENIZER)
    assert model.encoder is encoder
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())

    with averaging(model.encoder) as means:
        plain = task.predict(model, rows, TOKENIZER)
    assert list(found) == [NOTHING, *every_ablation(model.encoder)]
    assert np.array_equal(found[NOTHING], plain) if kind != "spans" else found[NOTHING] == plain
    for ablation, ours in found.items():
        with disabled(model.encoder, ablation, means):
            assert same(ours, task.predict(model, rows, TOKENIZER))
    assert (
        sum(not np.array_equal(ours, plain) for ours in found.values()) > 20
    )  # so that equality says something


def test_an_encoder_refuses_what_it_cannot_resume():
    task, rows = CASES["classification"]
    model = model_of(task)
    with resuming(model) as encoder:
        encoder.ablation = Ablation("zero", 2, 1)
        with pytest.raises(ValueError, match="inputs of layer 1 are kept"):
            task.predict(model, rows, TOKENIZER)
        encoder.forget()
        task.predict(model, rows[:5], TOKENIZER)
        encoder.advance()
        with pytest.raises(ValueError, match="new inputs"):
            task.predict(model, rows[5:], TOKENIZER)
    assert not isinstance(model.encoder, ResumingEncoder)
