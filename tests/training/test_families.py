"""Unlike families of models through fine-tuning and its ablations."""

import numpy as np
import pytest
import torch
from disabling import disabled
from fine_tuning import finetune
from made_encoders import LAYERS, TEXTS, model_of, tokenizer_of
from made_sidecars import sidecar
from safetensors.torch import load_file

from bertshift.ablation.predictions import under_every_ablation
from bertshift.models.ablate import NOTHING, averaging, every_ablation
from bertshift.models.family import family_of, layers_of
from bertshift.models.heads import load_task_model
from bertshift.models.loading import save_model
from bertshift.tasks.loading import load_task
from bertshift.training.settings import TrainSettings

# With a pair's types, one layer, hooks, one projection, a mask of the past, no row.
KINDS = ("roberta", "albert", "deberta-v2", "modernbert", "gpt2", "nomic_bert")


def row_for_any_task(i):
    words = TEXTS[i % len(TEXTS)].split()[: 5 + i]
    text = " ".join(words)
    answer = {"text": words[2], "start": text.index(f" {words[2]}") + 1}
    return {
        "id": str(i), "text_a": text, "text_b": " ".join(words[::-1]), "label": i / 4,
        "words": words,
        "upos": [["NOUN", "VERB"][len(word) % 2] for word in words], "xpos": words,
        "heads": [*range(len(words))],
        "deprels": ["root", *["obj"] * (len(words) - 1)], "question": text, "context": text,
        "impossible": False, "answers": [answer],
    }  # fmt: skip


ROWS = [row_for_any_task(i) for i in range(8)]
CLASSES = [row | {"label": ["no", "yes"][i % 2]} for i, row in enumerate(ROWS)]
METRIC = {"classification": "accuracy", "regression": "pearson", "spans": "f1"}
METRIC |= {"tags": "accuracy", "dependencies": "las_ud"}


def settings_of(task):
    settings = {"name": task, "dataset": "toys", "kind": task, "metrics": [METRIC[task]]}
    windows = {"max_query_length": 8, "doc_stride": 8} if task == "spans" else {}
    return settings | windows | {"max_length": 40}


CASES = [(kind, "classification") for kind in KINDS]
CASES += [("deberta-v2", task) for task in [*METRIC][1:]]


@pytest.mark.parametrize(("kind", "task"), CASES)
def test_every_part_of_a_model_learns_from_every_task(kind, task, tmp_path):
    start, run = tmp_path / "start", tmp_path / "run"
    save_model(start, model_of(kind), tokenizer_of(kind))
    treebank = {"kind": "treebank"} if task in ("tags", "dependencies") else {}
    data = dict.fromkeys(("train", "dev"), CLASSES if task == "classification" else ROWS)
    settings = TrainSettings(learning_rate=1e-3, batch_size=4, steps=3)
    described = sidecar(train=8, dev=8, **treebank)
    scores = finetune(settings_of(task), data, described, start, run, settings, 1)
    assert np.isfinite(scores["loss"]) and METRIC[task] in scores["scores"]
    encoder, before = load_task_model(run).encoder, load_file(start / "model.safetensors")
    after, group = encoder.state_dict(), family_of(encoder).group
    moved = {group(name) for name in after if not torch.equal(before[name], after[name])}
    layers = map(str, range(1, 1 + len({*layers_of(encoder)})))
    assert {"embeddings", *layers} <= moved


# X-MOD has BERT's names, and adapters where BERT has none.
@pytest.mark.parametrize("kind", [*KINDS, "xmod"])
@torch.inference_mode()
def test_all_ablations_predict_what_changed_models_predict(kind):
    tokenizer = tokenizer_of(kind)
    task = load_task(settings_of("regression"), sidecar(train=8, dev=8), ROWS)
    model = task.model(model_of(kind), seed=1).eval()
    predictions = under_every_ablation(task, model, ROWS, tokenizer)
    with averaging(model.encoder) as means:
        plain = task.predict(model, ROWS, tokenizer)
    np.testing.assert_allclose(predictions[NOTHING], plain, rtol=1e-4, atol=1e-5)
    for ablation in every_ablation(model.encoder):
        if ablation.layer in (2, LAYERS) and ablation.head in (0, 3):
            with disabled(model.encoder, ablation, means):
                expected = task.predict(model, ROWS, tokenizer)
            effect = np.abs(expected - plain).max()
            assert effect > 1e-5
            assert np.abs(predictions[ablation] - expected).max() < 0.01 * effect
