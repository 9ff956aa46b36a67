"""Every family of models through fine-tuning, its predictions, its activations and its ablations."""

import os
import signal

import numpy as np
import pytest
import torch
from disabling import disabled
from fine_tuning import finetune
from made_encoders import FAMILIES, LAYERS, model_of, tokenizer_of
from made_sidecars import sidecar
from safetensors.torch import load_file

from bertshift.ablation.predictions import predictions, under_every_ablation
from bertshift.activations.extract import extract
from bertshift.activations.rerun import Rerun
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics.attention_norms import value_norms
from bertshift.models.ablate import NOTHING, averaging, every_ablation
from bertshift.models.attention import Record, editing
from bertshift.models.family import family_of, layers_of, output_columns, run
from bertshift.models.heads import load_task_model
from bertshift.models.loading import save_model
from bertshift.models.restore import every_restoration
from bertshift.tasks.loading import load_task
from bertshift.tasks.text_classification import TextClassification
from bertshift.training.settings import TrainSettings

families = pytest.mark.parametrize("kind", FAMILIES)
TWO_TYPES = ("bert", "electra", "albert", "nomic_bert")
WORDS = [
    "the",
    "old",
    "house",
    "stood",
    "near",
    "river",
    "and",
    "nobody",
    "had",
    "lived",
    "there",
    "for",
    "many",
    "years",
    "didn't",
    "café",
]
RNG = np.random.default_rng(0)


def text(least=2, most=9):
    return " ".join(RNG.choice(WORDS, RNG.integers(least, most)))


def sentence(i):
    words = text().split()
    return {"id": str(i), "words": words, "upos": ["XY"[len(word) % 2] for word in words], "xpos": words,
            "heads": list(range(len(words))), "deprels": ["root", *["obj"] * (len(words) - 1)]}  # fmt: skip


def question(i):
    context = text(4, 20)
    start = context.index(context.split()[2])
    return {"id": str(i), "question": text(), "context": context, "impossible": False,
            "answers": [{"text": context.split()[2], "start": start}]}  # fmt: skip


PAIRS = [{"id": str(i), "text_a": text(), "text_b": text(), "label": ["no", "yes"][i % 2]} for i in range(8)]
ROWS = {
    "classification": PAIRS,
    "regression": [{"id": str(i), "text_a": text(), "label": i / 4} for i in range(8)],
    "spans": [question(i) for i in range(8)],
    "tags": [sentence(i) for i in range(8)],
    "dependencies": [sentence(i) for i in range(8)],
}
METRIC = dict(zip(ROWS, ("accuracy", "pearson", "f1", "accuracy", "las_ud"), strict=True))
NEEDS_ENCODER = {"spans": "answering questions", "tags": "tagging words", "dependencies": "parsing"}
SETTINGS = TrainSettings(learning_rate=1e-3, batch_size=4, steps=3, norms_every=1, checkpoint_minutes=0)


def settings_of(task):
    more = {"max_query_length": 8, "doc_stride": 8} if task == "spans" else {}
    return {"name": task, "dataset": "toys", "kind": task, "metrics": [METRIC[task]], "max_length": 40} | more


def run_of(task, start, folder):
    bank = {"kind": "treebank"} if task in ("tags", "dependencies") else {}
    rows = {"train": ROWS[task], "dev": ROWS[task]}
    return finetune(settings_of(task), rows, sidecar(train=8, dev=8) | bank, start, folder, SETTINGS, 1)


@pytest.fixture
def start(kind, tmp_path):
    save_model(tmp_path / "start", model_of(kind), tokenizer_of(kind))
    return tmp_path / "start"


@families
def test_every_task_is_learned_from_or_says_why_not(kind, start, tmp_path):
    causal = family_of(model_of(kind)).causal
    for task in ROWS:
        run = tmp_path / task
        if causal and task in NEEDS_ENCODER:
            with pytest.raises(
                UserError, match=f"{NEEDS_ENCODER[task]}.* needs an encoder: in a {kind} model"
            ):
                run_of(task, start, run)
            continue
        scores = run_of(task, start, run)
        assert np.isfinite(scores["loss"]) and METRIC[task] in scores["scores"]
        model = load_task_model(run)
        before, after = load_file(start / "model.safetensors"), model.encoder.state_dict()
        moved = {name for name in after if not torch.equal(before[name], after[name])}
        parts = {family_of(model.encoder).group(name) for name in moved}
        assert {"embeddings", *map(str, range(1, 1 + len({*layers_of(model.encoder)})))} <= parts


@pytest.mark.parametrize("kind", ["gpt2", "deberta-v2"])
def test_a_run_that_is_interrupted_leaves_the_same_bytes(kind, start, tmp_path, monkeypatch):
    run_of("classification", start, tmp_path / "whole")
    collate, batches = TextClassification.collate, []

    def killed_at_2(examples, pad_id):
        batches.append(examples)
        if len(batches) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return collate(examples, pad_id)

    monkeypatch.setattr("bertshift.tasks.text_classification.TextClassification.collate", staticmethod(killed_at_2))
    with pytest.raises(SystemExit):
        run_of("classification", start, tmp_path / "killed")
    assert (tmp_path / "killed" / ".checkpoint").is_file()
    run_of("classification", start, tmp_path / "killed")
    assert len(batches) == SETTINGS.steps
    files = {path.name for path in (tmp_path / "whole").iterdir()}
    assert (
        files == {path.name for path in (tmp_path / "killed").iterdir()} > {"model.safetensors", "layers.tsv"}
    )
    for name in files:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def task_of(task):
    return load_task(settings_of(task), sidecar(train=8, dev=8), ROWS[task])


def assert_moved_alike(ours, expected, plain):
    effect = np.abs(expected - plain).max()
    assert effect > 1e-5 and np.abs(ours - expected).max() < 0.01 * effect


@families
@torch.inference_mode()
def test_all_ablations_predict_what_changed_models_predict(kind):
    task, rows, tokenizer = task_of("regression"), ROWS["regression"], tokenizer_of(kind)
    model = task.model(model_of(kind), seed=1).eval()
    found = under_every_ablation(task, model, rows, tokenizer)
    ablations = [
        one for one in every_ablation(model.encoder) if one.layer in (2, LAYERS) and one.head in (0, 3)
    ]
    with averaging(model.encoder) as means:
        plain = task.predict(model, rows, tokenizer)
    np.testing.assert_allclose(found[NOTHING], plain, rtol=1e-4, atol=1e-5)
    for ablation in ablations:
        with disabled(model.encoder, ablation, means):
            expected = task.predict(model, rows, tokenizer)
        assert_moved_alike(found[ablation], expected, plain)


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind != "albert"])
@torch.inference_mode()
def test_restored_layers_predict_what_the_parents_weights_predict(kind):
    task, rows, tokenizer = task_of("regression"), ROWS["regression"], tokenizer_of(kind)
    model, parent = task.model(model_of(kind), seed=1).eval(), model_of(kind, seed=1)
    restored = every_restoration(model.encoder, parent)
    found = predictions(task, model, rows, tokenizer, restored)
    plain = task.predict(model, rows, tokenizer)
    for one in restored:
        ours = layers_of(model.encoder)[one.layer - 1]
        own = {name: value.clone() for name, value in ours.state_dict().items()}
        ours.load_state_dict(one.module.state_dict())
        expected = task.predict(model, rows, tokenizer)
        ours.load_state_dict(own)
        assert_moved_alike(found[one], expected, plain)


@families
@torch.no_grad()
def test_activations_are_those_of_the_tokenizers_own_inputs(kind, tmp_path):
    model, tokenizer = model_of(kind), tokenizer_of(kind)
    extract(model, tokenizer, PAIRS, tmp_path / "a.npz", max_length=60, attention=True)
    found = Activations(tmp_path / "a.npz")
    model.config.tie_last_hidden_states = False
    rerun = Rerun(model, found)
    lengths = value_norms(rerun, 2, found.hidden(1))
    again = {}
    for batch, _, maps in rerun(2, found.hidden(1), "maps"):
        again |= dict(zip(batch, maps, strict=True))
    columns = [output_columns(model, 2, head, "it") for head in (1, 2, 3, 4)]
    for number, (row, first) in enumerate(zip(PAIRS, found.offsets)):
        inputs = tokenizer(row["text_a"], row["text_b"], return_tensors="pt", return_token_type_ids=True)
        if kind not in TWO_TYPES:
            del inputs["token_type_ids"]
        theirs = model(**inputs, output_hidden_states=True, output_attentions=True)
        here = slice(first, first + inputs["input_ids"].shape[1])
        assert found.token_ids[here].tolist() == inputs["input_ids"][0].tolist()
        for layer in range(LAYERS + 1):
            torch.testing.assert_close(
                torch.from_numpy(found.hidden(layer)[here].copy()),
                theirs.hidden_states[layer][0],
                rtol=1e-4,
                atol=1e-4,
            )
        for layer in range(1, LAYERS + 1):
            maps = torch.from_numpy(found.attention(layer)[number].copy())
            torch.testing.assert_close(maps, theirs.attentions[layer - 1][0], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(again[number], theirs.attentions[1][0], rtol=1e-4, atol=1e-4)
        record = Record("values")
        with editing(model, record):
            run(model, **inputs)
        moved = [
            values @ column.T for values, column in zip(record.kept["values"][1][0], columns, strict=True)
        ]
        np.testing.assert_allclose(lengths[:, here], torch.stack(moved).norm(dim=-1), rtol=1e-3)
