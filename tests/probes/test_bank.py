import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from probes.edge_world import LAYERS, make, random_sentences, record

from bertshift.activations.store import Activations
from bertshift.probes.bank import Bank, Probe, Progress, shapes, train
from bertshift.probes.edge import MICRO_F1, load_examples, read_rows, read_task
from bertshift.probes.settings import ProbeSettings

MIX = tuple(range(LAYERS + 1))
SETTINGS = ProbeSettings(width=8, learning_rate=0.02, batch_records=4, max_steps=12,
                         validate_every=3, patience=2,
                         max_grad_norm=0.05)  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A pair task whose spans overlap, repeat and nest, with up to 4 targets a record."""
    rng = np.random.default_rng(1)
    sentences, records = random_sentences(24), []
    for words in sentences:
        starts = rng.integers(len(words), size=4)
        ends = rng.integers(starts + 1, len(words) + 1)
        first, *spans = zip(starts.tolist(), ends.tolist(), strict=True)
        pairs = [(first, first), (first, spans[0]), (first, spans[1]), (spans[1], spans[2])]
        targets = [("abc"[rng.integers(3)], *pair) for pair in pairs[: rng.integers(1, 5)]]
        records.append(record(words, *targets))
    world = make(tmp_path_factory.mktemp("bank"), sentences)
    splits = {"train": records[:14], "dev": records[14:19], "test": records[19:]}
    folder = world.edges("srl", 2, splits)
    task = read_task("srl", folder, read_rows(world.sentences), SETTINGS, controls=[1])
    activations = Activations(world.activations)
    return load_examples(task, activations), activations, records[:14]


def logits_of_formulas(w, layers, hidden, spans):
    """One target's logits, from the hidden states [layers + 1, length, d] of its sentence."""
    mixed = torch.einsum("l,lnd->nd", w["mix"][list(layers)].softmax(0), hidden[list(layers)])
    mixed = mixed * (w["scale"] if len(layers) > 1 else 1)
    pooled = []
    for side, (start, end) in enumerate(spans):
        z = (mixed @ w["project"][side] + w["project_bias"][side])[start:end]
        pooled.append((z @ w["attend"][side])[:, 0].softmax(0) @ z)
    h = torch.cat(pooled) @ torch.cat([*w["hidden"]]) + w["hidden_bias"]
    h = F.layer_norm(h.tanh(), h.shape, w["gain"], w["shift"])
    return h @ w["output"] + w["output_bias"]


def test_logits_are_those_of_one_probe_on_whole_sentences(world):
    examples, activations, records = world
    train_set = examples["train"]
    probes = [Probe(MIX, 0, 1), Probe((1,), 0, 2)]
    bank = Bank(probes, train_set, SETTINGS, "x")
    generator = torch.Generator().manual_seed(0)
    weights = torch.stack(
        [w + 0.3 * torch.randn(w.shape, generator=generator) for w in bank.initial()]
    )
    batch = np.array([5, 0, 9])
    targets = train_set.batch(batch)
    assert targets.record.tolist() == [i for i in batch for _ in records[i]["targets"]]
    logits = bank.logits(weights, bank.subset([0, 1]), train_set, targets)
    for number, probe in enumerate(probes):
        parts = weights[number].split([math.prod(shape) for shape in bank.layout.values()])
        named = {name: w.view(shape) for (name, shape), w in zip(bank.layout.items(), parts)}
        expected = []
        for example in batch:
            tokens = slice(*activations.offsets[example : example + 2])
            word = activations.word_offsets[example]
            hidden = torch.tensor(np.stack([activations.hidden(layer)[tokens] for layer in MIX]))
            for target in records[example]["targets"]:
                spans = [
                    (activations.word_first[word + s], activations.word_last[word + e - 1] + 1)
                    for s, e in (target["span1"], target["span2"])
                ]
                expected.append(logits_of_formulas(named, probe.layers, hidden, spans))
        torch.testing.assert_close(logits[number], torch.stack(expected), atol=1e-5, rtol=0)


def test_size_of_the_published_probe():
    count = sum(math.prod(shape) for shape in shapes(13, 768, 256, 1, 48).values())
    assert count == 275_775 - 1  # the bias of the pooling's scores is not there


def test_a_bank_trains_each_probe_as_if_alone(world):
    examples, *_ = world
    probes = [Probe(*parts) for parts in product((MIX, (LAYERS,)), (0, 1), (1, 2))]

    def trained(probes):
        bank = Bank(probes, examples["train"], SETTINGS, "x")
        return train(bank, examples["train"], examples["train"].records, examples["dev"], MICRO_F1)

    together = trained(probes)
    for probe, progress in zip(probes, together):
        [alone] = trained([probe])
        for name in ("weights", "best"):
            torch.testing.assert_close(
                getattr(progress, name), getattr(alone, name), atol=1e-5, rtol=0
            )
        assert (progress.steps, progress.score) == (alone.steps, pytest.approx(alone.score))
    assert len({progress.steps for progress in together}) > 1  # some stopped before others


def test_the_schedule_halves_the_rate_and_stops():
    settings = replace(SETTINGS, learning_rate=1.0, decay_patience=2, patience=7)
    progress = Progress(torch.zeros(3), settings)
    rates, continues = [], []
    for step, score in enumerate([0.5, 0.6, 0.6, 0.5, 0.5, 0.6, 0.6, 0.5, 0.5], 1):
        progress.weights.data.fill_(step)
        continues.append(progress.validated(score, step))
        rates.append(progress.rate)
    assert rates == [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]
    assert continues == [True] * 8 + [False]
    assert progress.steps == 2 and progress.best.tolist() == [2, 2, 2]
