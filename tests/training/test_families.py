"""Unlike families of models through fine-tuning and its ablations."""

import numpy as np
import pytest
import torch
from disabling import disabled
from fine_tuning import finetune
from made_encoders import LAYERS, model_of, tokenizer_of
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
WORDS = [
    "the",
    "old",
    "house",
    "stood",
    "near",
    "the",
    "river",
    "and",
    "nobody",
    "had",
    "lived",
    "there",
    "for",
    "years",
    "didn't",
    "café",
]
RNG = np.random.default_rng(0)


def words(least=2, most=9):
    return RNG.choice(WORDS, RNG.integers(least, most)).tolist()


def pair(i):
    return {"text_a": " ".join(words()), "text_b": " ".join(words()), "label": ["no", "yes"][i % 2]}


def sentence(_):
    found = words()
    deprels = ["root", *["obj"] * (len(found) - 1)]
    tags = ["XY"[len(word) % 2] for word in found]
    return {"words": found, "upos": tags, "xpos": found, "heads": [*range(len(found))], "deprels": deprels}


def question(_):
    context = " ".join(words(4, 20))
    answer = context.split()[2]
    answers = [{"text": answer, "start": context.index(answer)}]
    return {"question": " ".join(words()), "context": context, "impossible": False, "answers": answers}


def rows(made):
    return [{"id": str(i)} | made(i) for i in range(8)]


PAIRS = rows(pair)
ROWS = {
    "classification": (PAIRS, "accuracy"),
    "regression": ([row | {"label": i / 4} for i, row in enumerate(PAIRS)], "pearson"),
    "spans": (rows(question), "f1"),
    "tags": (rows(sentence), "accuracy"),
    "dependencies": (rows(sentence), "las_ud"),
}


def settings_of(task):
    settings = {"name": task, "dataset": "toys", "kind": task, "metrics": [ROWS[task][1]], "max_length": 40}
    return settings | {"max_query_length": 8, "doc_stride": 8} if task == "spans" else settings


CASES = [(kind, "classification") for kind in KINDS] + [("deberta-v2", task) for task in list(ROWS)[1:]]


@pytest.mark.parametrize(("kind", "task"), CASES)
def test_every_part_of_a_model_learns_from_every_task(kind, task, tmp_path):
    save_model(tmp_path / "start", model_of(kind), tokenizer_of(kind))
    bank = {"kind": "treebank"} if task in ("tags", "dependencies") else {}
    data, metric = ROWS[task]
    settings = TrainSettings(learning_rate=1e-3, batch_size=4, steps=3)
    scores = finetune(
        settings_of(task), {"train": data, "dev": data}, sidecar(train=8, dev=8) | bank,
        tmp_path / "start", tmp_path / "run", settings, 1,
    )  # fmt: skip
    assert np.isfinite(scores["loss"]) and metric in scores["scores"]
    encoder = load_task_model(tmp_path / "run").encoder
    before, after = load_file(tmp_path / "start/model.safetensors"), encoder.state_dict()
    moved = {name for name in after if not torch.equal(before[name], after[name])}
    layers = map(str, range(1, 1 + len({*layers_of(encoder)})))
    assert {"embeddings", *layers} <= {family_of(encoder).group(name) for name in moved}


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_all_ablations_predict_what_changed_models_predict(kind):
    data, tokenizer = ROWS["regression"][0], tokenizer_of(kind)
    task = load_task(settings_of("regression"), sidecar(train=8, dev=8), data)
    model = task.model(model_of(kind), seed=1).eval()
    found = under_every_ablation(task, model, data, tokenizer)
    with averaging(model.encoder) as means:
        plain = task.predict(model, data, tokenizer)
    np.testing.assert_allclose(found[NOTHING], plain, rtol=1e-4, atol=1e-5)
    for one in every_ablation(model.encoder):
        if one.layer in (2, LAYERS) and one.head in (0, 3):
            with disabled(model.encoder, one, means):
                expected = task.predict(model, data, tokenizer)
            effect = np.abs(expected - plain).max()
            assert effect > 1e-5 and np.abs(found[one] - expected).max() < 0.01 * effect
