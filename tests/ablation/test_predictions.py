import numpy as np
import pytest
from disabling import disabled
from made_encoders import changed, copied
from made_toys import CASES, TOKENIZER, model_of

from bertshift.ablation import predictions
from bertshift.ablation.predictions import under_every_ablation
from bertshift.models.ablate import NOTHING, averaging, every_ablation


def assert_close(answers, expected):
    if isinstance(expected, np.ndarray):
        assert answers.dtype == expected.dtype and answers == pytest.approx(expected, abs=1e-5)
    else:
        assert [answer.text for answer in answers] == [answer.text for answer in expected]
        margins = [answer.margin for answer in expected]
        assert [answer.margin for answer in answers] == pytest.approx(margins, abs=1e-4)


@pytest.mark.parametrize(("kind", "characters"), [("classification", 10**6), ("spans", 30)])
def test_every_ablation_predicts_what_the_changed_model_predicts(monkeypatch, kind, characters):
    monkeypatch.setattr(predictions, "CHARACTERS", {"cpu": characters})  # of a chunk
    task, rows = CASES[kind]
    model, rows = model_of(task), rows[:4]
    encoder, before = model.encoder, copied(model)
    by_ablation = under_every_ablation(task, model, rows, TOKENIZER)
    assert model.encoder is encoder and not changed(before, model)

    with averaging(model.encoder) as means:
        plain = task.predict(model, rows, TOKENIZER)
    assert list(by_ablation) == [NOTHING, *every_ablation(model.encoder)]
    assert np.array_equal(by_ablation[NOTHING], plain)
    for ablation, answers in by_ablation.items():
        with disabled(model.encoder, ablation, means):
            assert_close(answers, task.predict(model, rows, TOKENIZER))
    assert sum(not np.array_equal(answers, plain) for answers in by_ablation.values()) > 20
