from itertools import compress

import numpy as np
import pytest
import torch
from made_tables import WITHOUT, in_columns
from probes.edge_world import LAYERS, WIDTH, make
from torch.optim.lr_scheduler import ReduceLROnPlateau

from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.files import write_jsonl
from bertshift.probes import structural
from bertshift.probes.structural import (
    Sentences,
    StructuralProbe,
    StructuralSettings,
    evaluate,
    fit,
    word_vectors,
)
from bertshift.rows.blocks import BLOCKS, block_of
from bertshift.seeds import seed_from

CPU = torch.device("cpu")


def random_heads(rng, n):
    """A random tree over shuffled words, so that edges cross."""
    order = rng.permutation(n)
    heads = np.zeros(n, int)
    for position in range(1, n):
        heads[order[position]] = order[rng.integers(position)] + 1
    return heads.tolist()


def row(heads, split="train"):
    upos = ["NOUN"] * (len(heads) - 1) + ["PUNCT"]
    return {"words": ["x"] * len(heads), "upos": upos, "heads": heads, "split": split}


def random_states(rng, sizes, layers, width):
    """(states, rows) of sentences with random trees."""
    rows = [row(random_heads(rng, size)) for size in sizes]
    return torch.from_numpy(rng.normal(size=(sum(sizes), layers, width))), rows


def alone(probe, train, dev, settings):
    """The weights of one probe trained by itself, and its epochs: differences of vectors,
    autograd."""
    weight = probe.weight.clone().requires_grad_()
    optimizer = torch.optim.Adam([weight], settings.learning_rate)
    schedule = ReduceLROnPlateau(optimizer, mode="min", factor=0.1, patience=0)
    best, lowest, best_epoch = None, np.inf, 0

    def loss(sentences, members):
        batch, total = sentences.batch(members), 0.0
        states = batch.vectors[:, probe.layer].split(batch.lengths)
        for h, gold in zip(states, batch.gold[probe.kind], strict=True):
            z = h @ weight
            differences = z[:, None] - z if probe.kind == "distance" else z
            total = total + (differences.pow(2).sum(-1) - gold).abs().sum() / gold.numel()
        return total / len(members)

    for epoch in range(1, settings.epochs + 1):
        seed = seed_from("structural probe", "batches", epoch)
        order = np.random.default_rng(seed).permutation(len(train))
        for first in range(0, len(order), settings.batch_size):
            optimizer.zero_grad()
            loss(train, order[first : first + settings.batch_size]).backward()
            optimizer.step()
        dev_loss = loss(dev, range(len(dev))).item()
        schedule.step(dev_loss)
        if dev_loss < lowest - 1e-4:
            best, lowest, best_epoch = weight.detach().clone(), dev_loss, epoch
        elif epoch - best_epoch >= settings.patience:
            break
    return best, epoch


def test_each_probe_of_a_batch_is_the_one_trained_alone():
    rng = np.random.default_rng(0)
    settings = StructuralSettings(
        rank=5, epochs=12, batch_size=7, learning_rate=0.02, patience=3, probe_seeds=2
    )
    sets = []
    for count in (40, 15):
        states, rows = random_states(rng, rng.integers(1, 9, count), 3, 10)
        sets.append(Sentences(states * torch.tensor([[0.3], [1], [3]]), rows, CPU))
    probes = [
        StructuralProbe(kind, layer, seed, settings, sets[0].vectors)
        for kind in ("depth", "distance") for layer in range(3) for seed in (1, 2)
    ]  # fmt: skip
    expected = [alone(probe, *sets, settings) for probe in probes]
    fit(probes, *sets, settings)
    for probe, (best, _) in zip(probes, expected, strict=True):
        torch.testing.assert_close(probe.best, best, atol=1e-6, rtol=1e-6)
    assert len({epochs for _, epochs in expected}) > 2
    single = StructuralProbe("distance", 1, 2, settings, sets[0].vectors)
    fit([single], *sets, settings)
    assert torch.equal(single.best, probes[9].best)


def test_measures_without_a_block_are_those_of_the_other_sentences():
    rng = np.random.default_rng(0)
    lengths = rng.integers(4, 9, 45)
    states, rows = random_states(rng, lengths, 1, 16)
    states = states.float()
    probes = [
        StructuralProbe(kind, 0, 1, StructuralSettings(), torch.empty(16))
        for kind in ("depth", "distance")
    ]
    measures = list(evaluate(probes, Sentences(states, rows, CPU)))
    for block in (0, 11):
        rest = block_of(45) != block
        others = Sentences(states[np.repeat(rest, lengths)], list(compress(rows, rest)), CPU)
        for (*_, jackknife), (*_, value, _, _) in zip(
            measures, evaluate(probes, others), strict=True
        ):
            assert len(jackknife) == BLOCKS
            assert jackknife[block] == pytest.approx(value, abs=1e-6)


@pytest.fixture
def stored(tmp_path):
    """24 sentences of words of one to three pieces; the window has cut a word of the first, which
    is in dev."""
    rng = np.random.default_rng(0)
    splits = ["dev", "train", "test"] * 8
    rows = [row(random_heads(rng, 5 + i % 3), split) for i, split in enumerate(splits)]
    words = [[f"w{word}" for word in rng.integers(40, size=len(tree["words"]))] for tree in rows]
    world = make(tmp_path, words, dtype="float16", cut=4)
    write_jsonl(world.sentences, rows)
    return rows, world


def test_words_are_the_means_of_their_pieces(stored):
    activations = Activations(stored[1].activations)
    vectors = word_vectors(activations, [3, 1])
    assert (vectors.dtype, len(vectors)) == (np.float16, 11)
    word, start = activations.word_offsets[1], activations.offsets[1]
    pieces = slice(start + activations.word_first[word], start + activations.word_last[word] + 1)
    means = [activations.hidden(n)[pieces].astype(float).mean(axis=0) for n in range(LAYERS + 1)]
    # The five words of example 3 come before the first of example 1.
    np.testing.assert_allclose(vectors[5], means, atol=2e-3)


def test_from_a_file_to_the_table(stored, capsys):
    rows, world = stored
    settings = StructuralSettings(epochs=2, max_train=6, probe_seeds=2)

    def run(settings):
        sources = {(1, 2): world.source}
        return in_columns(structural.probe("rte", sources, world.sentences, settings, world.parts))

    table = run(settings)
    assert set(table["layer"]) == {0, 1, 2} and set(table["rank"]) == {WIDTH}
    assert set(table["probe_seed"]) == {1, 2}
    assert table.groupby(["kind", "measure"]).size().to_dict() == {
        ("depth", "spearman"): 12,
        ("depth", "root_accuracy"): 12,
        ("distance", "spearman"): 12,
        ("distance", "uuas"): 12,
    }
    sentences = table["split"].map({"dev": 7, "test": 8})  # fewer than blocks
    assert table[WITHOUT].notna().sum(axis=1).equals(sentences)
    n = table.groupby(["split", "measure"])["n"].unique()
    edges = sum(len(tree["words"]) - 2 for tree in rows if tree["split"] == "test")
    assert n["dev", "spearman"] == [7] and n["test", "root_accuracy"] == [8]
    assert n["test", "uuas"] == [edges]
    assert "7 sentences of dev, 1 too long" in capsys.readouterr().err

    table = run(StructuralSettings(epochs=1, max_train=6, parent_seeds=3))
    assert set(table["probe_seed"]) == {2}  # that of the fine-tuning seed

    with pytest.raises(UserError, match="rank is 13, but .* 12 dimensions"):
        run(StructuralSettings(rank=13))
    write_jsonl(world.sentences, rows[1:])
    world.parts.remove()
    with pytest.raises(UserError, match="other sentences"):
        run(settings)
