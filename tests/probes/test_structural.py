from itertools import compress

import numpy as np
import pytest
import torch
from probes.edge_world import LAYERS, WIDTH, make
from torch.optim.lr_scheduler import ReduceLROnPlateau

from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.files import write_jsonl
from bertshift.probes import structural
from bertshift.probes.structural import (
    Probe,
    Sentences,
    StructuralSettings,
    evaluate,
    fit,
    word_vectors,
)
from bertshift.rows.blocks import BLOCKS, JACKKNIFE_COLUMNS, block_of
from bertshift.seeds import seed_from

CPU = torch.device("cpu")


def random_heads(rng, n):
    """A random tree over shuffled words, so that edges cross."""
    order = rng.permutation(n)
    heads = np.zeros(n, int)
    for place in range(1, n):
        heads[order[place]] = order[rng.integers(place)] + 1
    return heads.tolist()


def row(heads, split="train"):
    upos = ["NOUN"] * (len(heads) - 1) + ["PUNCT"]
    return {"words": ["x"] * len(heads), "upos": upos, "heads": heads, "split": split}


def planted(rng, count, rotation, words=8):
    """Sentences whose words are the sums of one axis for each word above them, among other axes
    full of noise."""
    rows, vectors = [], []
    for _ in range(count):
        heads = random_heads(rng, rng.integers(4, words + 1))
        above = np.zeros((len(heads), words))
        for word, at in enumerate(range(len(heads))):
            while heads[at]:
                above[word, at] = 1
                at = heads[at] - 1
        rows.append(row(heads) | {"upos": ["NOUN"] * len(heads)})
        vectors.append(
            np.hstack([above, rng.normal(size=(len(heads), len(rotation) - words))]) @ rotation
        )
    return torch.from_numpy(np.concatenate(vectors))[:, None].float(), rows


def alone(probe, train, dev, settings):
    """The weights of one probe trained by itself: differences of vectors, autograd, and when its
    training ended."""
    weight = probe.weight.clone().requires_grad_()
    optimizer = torch.optim.Adam([weight], settings.learning_rate)
    schedule = ReduceLROnPlateau(optimizer, mode="min", factor=0.1, patience=0)
    best, lowest, last = None, np.inf, 0

    def loss(sentences, members):
        batch, total = sentences.batch(members), 0.0
        for h, gold in zip(
            batch.vectors[:, probe.layer].split(batch.lengths), batch.gold[probe.kind], strict=True
        ):
            z = h @ weight
            differences = z[:, None] - z if probe.kind == "distance" else z
            total = total + (differences.pow(2).sum(-1) - gold).abs().sum() / gold.numel()
        return total / len(members)

    for epoch in range(1, settings.epochs + 1):
        order = np.random.default_rng(seed_from("structural probe", "batches", epoch)).permutation(
            len(train)
        )
        for first in range(0, len(order), settings.batch_size):
            optimizer.zero_grad()
            loss(train, order[first : first + settings.batch_size]).backward()
            optimizer.step()
        dev_loss = loss(dev, range(len(dev))).item()
        schedule.step(dev_loss)
        if dev_loss < lowest - 1e-4:
            best, lowest, last = weight.detach().clone(), dev_loss, epoch
        elif epoch - last >= settings.patience:
            break
    return best, epoch


def test_each_probe_of_a_batch_is_the_one_trained_alone():
    rng = np.random.default_rng(0)
    settings = StructuralSettings(
        rank=5, epochs=12, batch_size=7, learning_rate=0.02, patience=3, probe_seeds=2
    )
    sets = []
    for count in (40, 15):
        rows = [row(random_heads(rng, n)) for n in rng.integers(1, 9, count)]
        scales = torch.tensor([0.3, 1.0, 3.0]).view(1, 3, 1)
        vectors = scales * torch.from_numpy(
            rng.normal(size=(sum(len(one["heads"]) for one in rows), 3, 10))
        )
        sets.append(Sentences(vectors, rows, CPU))
    probes = [
        Probe(kind, layer, seed, settings, sets[0].vectors)
        for kind in ("depth", "distance") for layer in range(3) for seed in (1, 2)
    ]  # fmt: skip
    expected = [alone(one, *sets, settings) for one in probes]
    fit(probes, *sets, settings)
    for one, (best, _) in zip(probes, expected, strict=True):
        torch.testing.assert_close(one.best, best, atol=1e-6, rtol=1e-6)
    assert len({epochs for _, epochs in expected}) > 2
    single = Probe("distance", 1, 2, settings, sets[0].vectors)
    fit([single], *sets, settings)
    assert torch.equal(single.best, probes[9].best)


def test_measures_without_a_block_are_those_of_the_other_sentences():
    vectors, rows = planted(np.random.default_rng(0), 45, np.eye(16))
    lengths = [len(one["heads"]) for one in rows]
    probes = [
        Probe(kind, 0, 1, StructuralSettings(), torch.empty(16)) for kind in ("depth", "distance")
    ]
    found = list(evaluate(probes, Sentences(vectors, rows, CPU)))
    for block in (0, 11):
        rest = block_of(45) != block
        others = Sentences(vectors[np.repeat(rest, lengths)], list(compress(rows, rest)), CPU)
        for (*_, without), (*_, value, _, _) in zip(found, evaluate(probes, others), strict=True):
            assert without[block] == pytest.approx(value, abs=1e-6) and len(without) == BLOCKS


@pytest.fixture
def stored(tmp_path):
    """24 sentences of words of one to three pieces; the window has cut a word of the first, which
    is in dev."""
    rng = np.random.default_rng(0)
    rows = [
        row(random_heads(rng, 5 + i % 3), split)
        for i, split in enumerate(["dev", "train", "test"] * 8)
    ]
    words = [[f"w{word}" for word in rng.integers(40, size=len(one["words"]))] for one in rows]
    made = make(tmp_path, words, pieces=3, dtype="float16", cut=4)
    write_jsonl(made.sentences, rows)
    return rows, made


def test_words_are_the_means_of_their_pieces(stored):
    activations = Activations(stored[1].activations)
    found = word_vectors(activations, [3, 1])
    assert (found.dtype, len(found)) == (np.float16, 11)
    first, last = (
        int(ends[activations.word_offsets[1]])
        for ends in (activations.word_first, activations.word_last)
    )
    start = activations.offsets[1]
    pieces = [
        activations.hidden(layer)[start + first : start + last + 1].astype(float)
        for layer in range(LAYERS + 1)
    ]
    # Behind the five words of example 3 the first of example 1.
    np.testing.assert_allclose(found[5], [one.mean(axis=0) for one in pieces], atol=2e-3)


def test_from_a_file_to_the_table(stored, capsys):
    rows, made = stored
    trees, kept = made.sentences, made.kept
    settings = StructuralSettings(epochs=2, max_train=6, probe_seeds=2)
    sources = {(1, 2): made.source}
    table = structural.probe("rte", sources, trees, settings, kept)
    assert (
        list(table)[-2 - BLOCKS :] == ["value", "n", *JACKKNIFE_COLUMNS] and len(table) == 3 * 2**4
    )
    assert set(table["layer"]) == {0, 1, 2} and set(table["rank"]) == {WIDTH}
    assert set(table["probe_seed"]) == {1, 2}
    measures = [
        ("depth", "spearman"),
        ("depth", "root_accuracy"),
        ("distance", "spearman"),
        ("distance", "uuas"),
    ]
    assert table.groupby(["kind", "measure"]).size().to_dict() == dict.fromkeys(measures, 12)
    sentences = table["split"].map({"dev": 7, "test": 8})  # fewer than blocks
    assert table[JACKKNIFE_COLUMNS].notna().sum(axis=1).equals(sentences)
    counted = table.groupby(["split", "measure"])["n"].unique()
    edges = sum(len(one["words"]) - 2 for one in rows if one["split"] == "test")
    assert counted["dev", "spearman"] == [7] and counted["test", "root_accuracy"] == [8]
    assert counted["test", "uuas"] == [edges]
    printed = capsys.readouterr().err
    assert (
        "7 sentences of dev, 1 too long" in printed
        and "6 sentences of train, 0 too long" in printed
    )

    own = StructuralSettings(epochs=1, max_train=6, parent_seeds=3)
    table = structural.probe("rte", sources, trees, own, kept)
    assert set(table["probe_seed"]) == {2}  # that of the fine-tuning seed

    with pytest.raises(UserError, match="rank is 13, but .* 12 dimensions"):
        structural.probe("rte", sources, trees, StructuralSettings(rank=13), kept)
    write_jsonl(trees, rows[1:])
    kept.remove()
    with pytest.raises(UserError, match="other sentences"):
        structural.probe("rte", sources, trees, settings, kept)
