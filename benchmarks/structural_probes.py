"""A training step of the structural probes of all layers, against one probe after the other from
its definition.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/structural_probes.py
        [--mirror DATA] [--rank 128 768]

The other route is the published description of Hewitt and Manning (2019) in plain torch: words
[B, T, d], padded, times the probe's matrix; differences of all pairs [B, T, T, r]; squares,
summed; the L1 loss by squared length. Both routes do forward, backward and Adam for every layer,
one after the other on each of the same random batches, because a shared machine is not equally
fast all the time; the table has means over the batches, which is what an epoch costs (the other
route's grows with the square of a batch's longest sentence). Without a mirror of EWT its lengths
are made up: the same mean and spread.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))

import numpy as np
import torch
from timing import timed
from torch.nn.utils.rnn import pad_sequence

from bertshift.data import conllu
from bertshift.probes import structural
from bertshift.probes.structural import Sentences, StructuralProbe, StructuralSettings


def read_heads(mirror):
    rows, _ = conllu.read(mirror / "UD_English-EWT" / "en_ewt-ud-train.conllu", {})
    return [row["heads"] for row in rows]


def draw_heads(rng, sentences=2000):
    # EWT's mean and deviation: 16.3 and 12.4
    lengths = np.clip(rng.gamma(1.73, 9.4, sentences).round().astype(int), 2, 159)
    return [[draw_head(rng, word) for word in range(length)] for length in lengths]


def draw_head(rng, word):
    """Draw one of the four words before; the first word is the root."""
    return int(rng.integers(max(0, word - 4), word)) if word else 0


class Definition:
    """The other route: [B, T, T, r] differences, autograd, one probe at a time."""

    def __init__(self, kind, weights):
        self.kind = kind
        self.weights = [torch.nn.Parameter(weight.clone()) for weight in weights]
        self.optimizers = [torch.optim.Adam([weight], lr=1e-3) for weight in self.weights]

    def prepare(self, sentences, members):
        """Return what its data loader would give: padded vectors of each layer, gold padded with
        -1, lengths."""
        batch = sentences.batch(members)
        sentence_vectors = [part.transpose(0, 1) for part in batch.vectors.split(batch.lengths)]
        layers = [
            pad_sequence(list(layer), batch_first=True)
            for layer in zip(*sentence_vectors, strict=True)
        ]
        longest = max(batch.lengths)
        sentence_gold = batch.gold[self.kind]
        gold = torch.full((len(members), *[longest] * sentence_gold[0].dim()), -1.0)
        for padded, values in zip(gold, sentence_gold, strict=True):
            padded[tuple(slice(size) for size in values.shape)] = values
        return layers, gold, torch.tensor(batch.lengths, dtype=torch.float32)

    def step(self, layers, gold, lengths):
        for vectors, weight, optimizer in zip(layers, self.weights, self.optimizers, strict=True):
            optimizer.zero_grad()
            self.loss(vectors @ weight, gold, lengths).backward()
            optimizer.step()

    def loss(self, z, gold, lengths):
        if self.kind == "depth":
            predicted, size, axes = z.square().sum(-1), lengths, 1
        else:
            differences = z[:, :, None] - z[:, None]
            predicted, size, axes = differences.square().sum(-1), lengths**2, (1, 2)
        mask = (gold != -1).float()
        return ((predicted * mask - gold * mask).abs().sum(axes) / size).mean()


def gradient_difference(probes, definition, sentences, members):
    """Largest relative difference between the two routes' gradients, in the norm of a layer's
    gradient."""
    batch = sentences.batch(members)
    layers, gold, lengths = definition.prepare(sentences, members)
    worst = 0.0
    gradients = structural.losses_and_gradients(batch, probes)
    for (probe, _, gradient), vectors, weight in zip(
        gradients, layers, definition.weights, strict=True
    ):
        ours = batch.vectors[:, probe.layer].T @ gradient
        (theirs,) = torch.autograd.grad(definition.loss(vectors @ weight, gold, lengths), weight)
        worst = max(worst, float((ours - theirs).norm() / theirs.norm()))
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--rank", type=int, nargs="+", default=[128, 768])
    parser.add_argument("--layers", type=int, default=13)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--kinds", nargs="+", default=["distance"], choices=list(structural.LOSS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    heads = read_heads(arguments.mirror) if arguments.mirror else draw_heads(rng)
    chosen = rng.choice(len(heads), arguments.batches * arguments.batch, replace=False)
    heads = [heads[i] for i in chosen]
    words = sum(map(len, heads))
    vectors = rng.normal(size=(words, arguments.layers, arguments.width)).astype(np.float32)
    vectors = torch.from_numpy(vectors)
    rows = [{"heads": tree, "upos": ["NOUN"] * len(tree)} for tree in heads]
    sentences = Sentences(vectors, rows, torch.device("cpu"))
    batches = np.arange(len(heads)).reshape(arguments.batches, arguments.batch)
    print(
        f"{arguments.layers} layers, width {arguments.width}, {arguments.batches} batches of"
        f" {arguments.batch} sentences, {words / len(heads):.1f} words a sentence, longest"
        f" {max(map(len, heads))}; mean CPU ms a step"
    )
    print(f"{'probe':18}{'ours':>9}{'definition':>12}{'ratio':>8}  difference of gradients")
    for kind in arguments.kinds:
        for rank in arguments.rank:
            settings = StructuralSettings(rank=rank)
            probes = [
                StructuralProbe(kind, layer, 1, settings, vectors)
                for layer in range(arguments.layers)
            ]
            definition = Definition(kind, [probe.weight for probe in probes])
            difference = gradient_difference(probes, definition, sentences, batches[0])
            # Neither route's first step is timed.
            structural.step(probes, sentences.batch(batches[0]))
            definition.step(*definition.prepare(sentences, batches[0]))
            ours = theirs = 0.0
            for members in batches:
                batch, prepared = sentences.batch(members), definition.prepare(sentences, members)
                theirs += timed(definition.step, *prepared)[0]
                ours += timed(structural.step, probes, batch)[0]
            milliseconds = 1e3 * ours / len(batches), 1e3 * theirs / len(batches)
            name = f"{kind}, rank {rank}"
            print(
                f"{name:18}{milliseconds[0]:9.1f}{milliseconds[1]:12.1f}{theirs / ours:8.1f}"
                f"  {difference:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
