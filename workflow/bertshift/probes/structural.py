"""Structural probes (Hewitt and Manning 2019; Merchant et al. 2020, section 4.1, figure 1).

A probe is a matrix B [d, r], z = h B for the vector h of a word, by which |z_i|^2 should be the
depth of word i in the dependency tree, or |z_i - z_j|^2 the length of the path between i and j.
The loss of a sentence of n words is the mean absolute error over words (depth, sum / n) or pairs
of words (distance, sum / n^2), that of a batch the mean over its sentences.

No [n, n, r] differences are needed: with the Gram matrix G = Z Z', |z_i - z_j|^2 = G_ii + G_jj - 2
G_ij, and the gradient of the distance loss follows from the signs S of prediction - gold, a
symmetric matrix:

    dL/dZ = 4 (diag(S 1) - S) Z / n^2,     dL/dB = H' dL/dZ
"""

import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.optim.lr_scheduler import ReduceLROnPlateau

from bertshift.activations.source import Source
from bertshift.activations.store import Activations
from bertshift.data.examples import sample
from bertshift.errors import UserError
from bertshift.files import read_jsonl
from bertshift.probes import trees
from bertshift.probes.settings import StructuralSettings
from bertshift.rows.blocks import block_of, in_columns
from bertshift.running.parts import Part, PartCache, made
from bertshift.seeds import seed_from
from bertshift.tasks.inference import best_device

COLUMNS = [
    "metric",
    "model",
    "kind",
    "layer",
    "split",
    "measure",
    "rank",
    "init",
    "seed",
    "probe_seed",
    "value",
    "n",
]
PROGRESS_SECONDS = 5
WORDS = 1 << 11  # handled at a time where nothing is trained
IMPROVEMENT = 1e-4  # of the dev loss, to count as one


@dataclass(frozen=True)
class Batch:
    """Sentences one after the other: vectors [W, layers + 1, d] of their words, each one's number
    of words and gold."""

    vectors: Tensor
    lengths: list[int]
    gold: dict[str, list[Tensor]]  # depth [n], distance [n, n] of each sentence


class Sentences:
    """Word vectors [W, layers + 1, d] of some sentences, and their trees (rows of words, upos,
    heads).

    The vectors stay in main memory as they are; a batch of them moves to `device`, as float32
    where they are float16.
    """

    def __init__(self, vectors: Tensor, rows: Sequence[Mapping], device: torch.device):
        self.vectors, self.device = vectors, device
        self.lengths = np.array([len(row["heads"]) for row in rows])
        self.kept = [np.array(row["upos"]) != "PUNCT" for row in rows]
        self.gold = {
            kind: _on_device([of(row["heads"]) for row in rows], device)
            for kind, of in (("depth", trees.depths), ("distance", trees.distances))
        }
        self._starts = np.append(0, np.cumsum(self.lengths))

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, members: Sequence[int]) -> Batch:
        vectors = torch.cat([self.vectors[self._starts[i] : self._starts[i + 1]] for i in members])
        return Batch(
            vectors.to(self.device, torch.promote_types(vectors.dtype, torch.float32)),
            self.lengths[members].tolist(),
            {kind: [gold[i] for i in members] for kind, gold in self.gold.items()},
        )


def _on_device(arrays: list[np.ndarray], device: torch.device) -> list[Tensor]:
    """Move all arrays to the device in one transfer."""
    flat = torch.from_numpy(
        np.concatenate([array.ravel() for array in arrays]).astype(np.float32)
    ).to(device)
    parts = flat.split([array.size for array in arrays])
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


def squared_lengths(z: Tensor) -> Tensor:
    """Square the lengths of vectors: [..., n, r] -> [..., n]."""
    return z.square().sum(-1)


def squared_distances(z: Tensor) -> Tensor:
    """Square the distances between vectors: [..., n, r] -> [..., n, n], exactly 0 on the
    diagonal."""
    gram = z @ z.mT
    own = gram.diagonal(dim1=-2, dim2=-1)
    return (own[..., :, None] + own[..., None, :] - 2 * gram).clamp_(min=0)


def depth_loss(z: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Calculate the losses [k] of k depth probes, given z [k, W, r], and the gradient of each loss
    in the shape of z."""
    golds, sentences = batch.gold["depth"], len(batch.lengths)
    share = torch.cat([torch.full_like(gold, 1 / (len(gold) * sentences)) for gold in golds])
    error = squared_lengths(z) - torch.cat(golds)
    return (error.abs() * share).sum(-1), 2 * (error.sign() * share)[..., None] * z


def distance_loss(z: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Calculate the losses [k] of k distance probes, given z [k, W, r], and the gradient of each
    loss in the shape of z."""
    losses, gradient = 0.0, torch.empty_like(z)
    parts = (whole.split(batch.lengths, dim=1) for whole in (z, gradient))
    for part, out, gold in zip(*parts, batch.gold["distance"], strict=True):
        share = 1 / (gold.numel() * len(batch.lengths))
        error = squared_distances(part) - gold
        losses = losses + share * error.abs().sum((-2, -1))
        signs = error.sign_()
        torch.baddbmm(signs.sum(-1, keepdim=True) * part, signs, part, alpha=-1, out=out)
        out *= 4 * share
    return losses, gradient


LOSS = {"depth": depth_loss, "distance": distance_loss}
PREDICT = {"depth": squared_lengths, "distance": squared_distances}
RECOVERED = {
    "depth": ("root_accuracy", trees.root_found),
    "distance": ("uuas", trees.attachments_found),
}


class Probe:
    """One probe of the `kind` depth or distance, with an optimiser and a schedule of its own."""

    def __init__(
        self, kind: str, layer: int, seed: int, settings: StructuralSettings, like: Tensor
    ):
        """Give the probe the width, type and device of the vectors `like` [..., d]."""
        width = like.shape[-1]
        self.kind, self.layer, self.seed, self.rank = kind, layer, seed, settings.rank or width
        generator = torch.Generator().manual_seed(seed_from("structural probe", kind, layer, seed))
        weight = torch.empty(width, self.rank).uniform_(-0.05, 0.05, generator=generator)
        self.weight = weight.to(like.device, like.dtype)
        self.best, self._lowest, self._waited = self.weight, math.inf, 0
        self._patience = settings.patience
        self._optimizer = torch.optim.Adam([self.weight], settings.learning_rate, fused=True)
        self._schedule = ReduceLROnPlateau(self._optimizer, factor=0.1, patience=0)

    def learn(self, gradient: Tensor) -> None:
        self.weight.grad = gradient
        self._optimizer.step()

    def validated(self, loss: float) -> bool:
        """Take note of an epoch's dev loss, and say whether to go on. Raises UserError for a loss
        that is not finite."""
        if not math.isfinite(loss):
            raise UserError(
                f"The {self.kind} probe's loss on layer {self.layer} is {loss}: check the model."
            )
        self._schedule.step(loss)
        if loss < self._lowest - IMPROVEMENT:
            self.best, self._lowest, self._waited = self.weight.clone(), loss, 0
        else:
            self._waited += 1
        return self._waited < self._patience


def of_kind(kind: str, probes: Sequence[Probe]) -> list[Probe]:
    return [probe for probe in probes if probe.kind == kind]


def projected(batch: Batch, probes: Sequence[Probe], weights: Sequence[Tensor]) -> Tensor:
    """Project the words of a batch into the space of each of k probes, [k, W, r]."""
    return torch.stack(
        [batch.vectors[:, one.layer] @ weight for one, weight in zip(probes, weights, strict=True)]
    )


def losses_and_gradients(
    batch: Batch, probes: Sequence[Probe]
) -> Iterator[tuple[Probe, Tensor, Tensor]]:
    """Calculate for each probe its mean loss over the batch, and that loss's gradient by z [W,
    r]."""
    for kind, loss in LOSS.items():
        if own := of_kind(kind, probes):
            yield from zip(
                own, *loss(projected(batch, own, [one.weight for one in own]), batch), strict=True
            )


def step(probes: Sequence[Probe], batch: Batch) -> None:
    """Update every probe once."""
    for probe, _, gradient in losses_and_gradients(batch, probes):
        probe.learn(batch.vectors[:, probe.layer].T @ gradient)


def mean_losses(probes: Sequence[Probe], sentences: Sentences) -> dict[Probe, float]:
    total = dict.fromkeys(probes, 0.0)
    for members in np.array_split(
        np.arange(len(sentences)), math.ceil(sentences.lengths.sum() / WORDS)
    ):
        for probe, loss, _ in losses_and_gradients(sentences.batch(members), probes):
            total[probe] += loss.item() * len(members) / len(sentences)
    return total


def fit(
    probes: Sequence[Probe], train: Sentences, dev: Sentences, settings: StructuralSettings
) -> None:
    """Train all probes on the same batches, each until its own end; their `best` weights are the
    result.

    A probe becomes what it would become alone. The batches are the same for every model and probe
    seed.
    """
    running, shown = list(probes), time.monotonic()
    for epoch in range(1, settings.epochs + 1):
        order = np.random.default_rng(seed_from("structural probe", "batches", epoch)).permutation(
            len(train)
        )
        for first in range(0, len(order), settings.batch_size):
            step(running, train.batch(order[first : first + settings.batch_size]))
            if time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                print(
                    f"structural_probe: epoch {epoch} of at most {settings.epochs}, sentence"
                    f" {first} of {len(train)}, {len(running)} of {len(probes)} probes still"
                    " learn",
                    file=sys.stderr,
                    flush=True,
                )
        running = [
            probe for probe, loss in mean_losses(running, dev).items() if probe.validated(loss)
        ]
        if not running:
            break


def evaluate(
    probes: Sequence[Probe], sentences: Sentences
) -> Iterator[tuple[Probe, str, float, int, list[float]]]:
    """Measure each probe at its best weights: its measures, what they are means over, and the
    measures without each block of sentences (NaN where nothing is left).

    Spearman's correlation, over sentences of 5 to 50 words; of distances, the mean over rows, a
    word's distance to itself among them. Root accuracy over sentences and UUAS over edges, both
    among words that are not punctuation.
    """
    for kind, predict in PREDICT.items():
        own = of_kind(kind, probes)
        measure, recovered = RECOVERED[kind]
        correlation, found = np.zeros((2, len(own), len(sentences)))
        possible = np.zeros(len(sentences), int)
        for members in _of_one_length(sentences.lengths):
            batch = sentences.batch(members)
            z = projected(batch, own, [probe.best for probe in own]).unflatten(
                1, (len(members), -1)
            )
            predicted = predict(z).double().cpu().numpy()
            gold = torch.stack(batch.gold[kind]).cpu().numpy()
            rows = trees.spearman(predicted, gold)
            correlation[:, members] = rows.reshape(*rows.shape[:2], -1).mean(axis=-1)
            for i, member in enumerate(members):
                if (kept := sentences.kept[member]).any():
                    found[:, member], possible[member] = recovered(predicted[:, i], gold[i], kept)
        mean, counted = trees.mean_over_lengths(correlation, sentences.lengths)
        means, shares = [mean], [found.sum(axis=1) / (possible.sum() or math.nan)]
        for rest in outside_blocks(len(sentences)):
            mean = np.full(len(own), np.nan)
            with suppress(UserError):
                mean, _ = trees.mean_over_lengths(correlation[:, rest], sentences.lengths[rest])
            means.append(mean)
            shares.append(found[:, rest].sum(axis=1) / (possible[rest].sum() or math.nan))
        of = {
            "spearman": (np.transpose(means), counted),
            measure: (np.transpose(shares), int(possible.sum())),
        }
        for number, probe in enumerate(own):
            for name, (values, n) in of.items():
                value, *without = values[number].tolist()
                yield probe, name, value, n, without


def outside_blocks(sentences: int) -> list[np.ndarray]:
    """Tell for each block which sentences are outside it, [sentences] bool."""
    block = block_of(sentences)
    return [block != number for number in range(block[-1] + 1)]


def _of_one_length(lengths: np.ndarray) -> Iterator[np.ndarray]:
    for length in np.unique(lengths):
        same = np.flatnonzero(lengths == length)
        yield from np.array_split(same, math.ceil(len(same) * length / WORDS))


def word_vectors(activations: Activations, examples: Sequence[int]) -> np.ndarray:
    """Average each word's pieces, for all words of `examples`, [W, layers + 1, d], in the type
    that the file has."""
    ranges = [np.arange(*activations.word_offsets[i : i + 2]) for i in examples]
    words = np.concatenate(ranges)
    starts = np.repeat(activations.offsets[examples], [len(one) for one in ranges])
    first, last = starts + activations.word_first[words], starts + activations.word_last[words]
    layers = range(activations.layers + 1)
    vectors = np.empty((len(words), len(layers), activations.width), activations.hidden(0).dtype)
    for layer in layers:
        hidden = activations.hidden(layer)
        for start in range(0, len(words), WORDS):
            part = slice(start, start + WORDS)
            vectors[part, layer] = _means(hidden, first[part], last[part])
    return vectors


def _means(hidden: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    total, pieces = hidden[first].astype(np.float32), last - first + 1
    for piece in range(1, pieces.max()):
        longer = pieces > piece
        total[longer] += hidden[first[longer] + piece]
    return total / pieces[:, None]


def read_splits(
    activations: Activations, rows: Sequence[Mapping], settings: StructuralSettings
) -> dict[str, Sentences]:
    """Read word vectors and trees of train, dev and test, without sentences that the window has
    cut; prints their number.

    Raises UserError where rows and examples differ, where a split is empty, and where the rank is
    above the width.
    """
    path, device = activations.path, best_device()
    if [len(row["words"]) for row in rows] != np.diff(activations.word_offsets).tolist():
        raise UserError(
            f"{path} holds other sentences than the treebank's rows; delete it and run its rule"
            " again."
        )
    if (settings.rank or 1) > activations.width:
        raise UserError(
            f"structural probe setting rank is {settings.rank}, but vectors in {path} have"
            f" {activations.width} dimensions; write that number or less."
        )
    whole = np.minimum.reduceat(activations.word_first, activations.word_offsets[:-1]) >= 0
    splits = {}
    for split in ("train", "dev", "test"):
        members = [number for number, row in enumerate(rows) if row["split"] == split]
        if split == "train":
            members = sample(members, settings.max_train, "the treebank", split)
        kept = [number for number in members if whole[number]]
        print(
            f"structural_probe: {path}: {len(kept)} sentences of {split},"
            f" {len(members) - len(kept)} too long for the window",
            file=sys.stderr,
            flush=True,
        )
        if not kept:
            raise UserError(
                f"{path} has no whole sentence of split {split}; extract it with a larger"
                " max_length."
            )
        vectors = torch.from_numpy(word_vectors(activations, kept))
        splits[split] = Sentences(vectors, [rows[number] for number in kept], device)
    return splits


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute in whole float32 inside the block. The ten bits of TF32, which some installations
    make the default, lose differences of large numbers."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def probe(
    model: str,
    sources: Mapping[tuple[int, int], Source],
    sentences: Path,
    settings: StructuralSettings,
    kept: PartCache,
) -> pd.DataFrame:
    """Train depth and distance probes on all layers of every replicate's activations, and test
    them on dev and test.

    sources: (init, seed) -> what the activations of `sentences` (words, upos, heads, split) come
    from. A replicate's probes are a part of the work. Returns a table of COLUMNS and
    blocks.JACKKNIFE_COLUMNS; layer 0 is the embedding output. Word vectors are held in memory, one
    replicate's at a time: 2.1 GB a 100,000 words for a BERT-base in float16. Raises UserError as
    `read_splits` does.
    """
    rows = list(read_jsonl(sentences))

    def learn(source: Source, seeds: list[int]) -> dict:
        activations = source.written(kept.folder / "states.npz")
        splits = read_splits(activations, rows, settings)
        return {"rows": list(_of_replicate(splits, settings, seeds))}

    parts = {
        (init, seed): Part(
            f"init{init}_seed{seed}",
            {"code": kept.code, "settings": asdict(settings), "states": source.recipe()},
            partial(learn, source, settings.seeds_of(seed)),
        )
        for (init, seed), source in sources.items()
    }
    table, rests = [], []
    for replicate, found in made(parts, kept.folder, "structural_probes").items():
        for *row, probe_seed, value, n, without in found["rows"]:
            table.append(("structural_probe", model, *row, *replicate, probe_seed, value, n))
            rests.append(without)
    return pd.concat([pd.DataFrame(table, columns=COLUMNS), in_columns(rests)], axis=1)


def _of_replicate(
    splits: Mapping[str, Sentences], settings: StructuralSettings, seeds: Sequence[int]
) -> Iterator[tuple]:
    """Probe one replicate: rows of kind, layer, split, measure, rank, probe seed, value, n and
    values without each block of sentences."""
    like = splits["train"].batch([0]).vectors
    probes = [
        Probe(kind, layer, probe_seed, settings, like)
        for kind in LOSS
        for layer in range(like.shape[1])
        for probe_seed in seeds
    ]
    with full_precision():
        fit(probes, splits["train"], splits["dev"], settings)
        for split in ("dev", "test"):
            for one, measure, *numbers in evaluate(probes, splits[split]):
                yield one.kind, one.layer, split, measure, one.rank, one.seed, *numbers
