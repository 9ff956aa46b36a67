"""Structural probes (Hewitt and Manning 2019; Merchant et al. 2020, section 4.1, figure 1).

A probe is a matrix B [d, r], z = h B for the vector h of a word, by which |z_i|^2 should be the
depth of word i in the dependency tree, or |z_i - z_j|^2 the length of the path between i and j.
The loss of a sentence of n words is the mean absolute error over words (depth, sum / n) or pairs
of words (distance, sum / n^2). The loss of a batch is the mean over its sentences.

No [n, n, r] differences are needed: with the Gram matrix G = Z Z',

    |z_i - z_j|^2 = G_ii + G_jj - 2 G_ij

and the gradient of the distance loss follows from the signs S of prediction - gold, a symmetric
matrix:

    dL/dZ = 4 (diag(S 1) - S) Z / n^2,     dL/dB = H' dL/dZ
"""

import math
import sys
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
from bertshift.rows.blocks import outside, padded
from bertshift.rows.table import Table
from bertshift.running.parts import Part, PartCache, made
from bertshift.running.progress import Lines
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
WORDS = 1 << 11  # words of a batch where nothing is trained
IMPROVEMENT = 1e-4  # least decrease of the dev loss that resets patience


@dataclass(frozen=True)
class SentenceBatch:
    """Concatenated sentences: vectors [W, layers + 1, d] of their words, and each sentence's
    number of words and gold."""

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
        self.vectors = vectors
        self.device = device
        self.lengths = np.array([len(row["heads"]) for row in rows])
        self.is_word = [np.array(row["upos"]) != "PUNCT" for row in rows]
        self.gold = {
            "depth": _move_arrays([trees.depths(row["heads"]) for row in rows], device),
            "distance": _move_arrays([trees.distances(row["heads"]) for row in rows], device),
        }
        self._by_sentence = vectors.split(self.lengths.tolist())

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, members: Sequence[int]) -> SentenceBatch:
        """Concatenate these sentences, in this order."""
        vectors = torch.cat([self._by_sentence[i] for i in members])
        dtype = torch.promote_types(vectors.dtype, torch.float32)
        gold = {kind: [arrays[i] for i in members] for kind, arrays in self.gold.items()}
        return SentenceBatch(vectors.to(self.device, dtype), self.lengths[members].tolist(), gold)


def _move_arrays(arrays: list[np.ndarray], device: torch.device) -> list[Tensor]:
    """Move all arrays to the device in one transfer."""
    flat = np.concatenate([array.ravel() for array in arrays]).astype(np.float32)
    parts = torch.from_numpy(flat).to(device).split([array.size for array in arrays])
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


def squared_lengths(z: Tensor) -> Tensor:
    """Square the lengths of vectors: [..., n, r] -> [..., n]."""
    return z.square().sum(-1)


def squared_distances(z: Tensor) -> Tensor:
    """Square the distances between vectors: [..., n, r] -> [..., n, n], exactly 0 on the
    diagonal."""
    gram = z @ z.mT
    squares = gram.diagonal(dim1=-2, dim2=-1)
    return (squares[..., :, None] + squares[..., None, :] - 2 * gram).clamp_(min=0)


def depth_loss(z: Tensor, batch: SentenceBatch) -> tuple[Tensor, Tensor]:
    """Calculate the losses [k] of k depth probes, given z [k, W, r], and the gradient of each loss
    in the shape of z."""
    golds = batch.gold["depth"]
    shares = [torch.full_like(gold, 1 / (len(gold) * len(golds))) for gold in golds]
    share = torch.cat(shares)
    error = squared_lengths(z) - torch.cat(golds)
    losses = (error.abs() * share).sum(-1)
    gradient = 2 * (error.sign() * share)[..., None] * z
    return losses, gradient


def distance_loss(z: Tensor, batch: SentenceBatch) -> tuple[Tensor, Tensor]:
    """Calculate the losses [k] of k distance probes, given z [k, W, r], and the gradient of each
    loss in the shape of z."""
    losses = 0.0
    gradient = torch.empty_like(z)
    z_parts = z.split(batch.lengths, dim=1)
    gradient_parts = gradient.split(batch.lengths, dim=1)
    golds = batch.gold["distance"]
    for part, out, gold in zip(z_parts, gradient_parts, golds, strict=True):
        share = 1 / (gold.numel() * len(golds))
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


class StructuralProbe:
    """One probe of the `kind` depth or distance, with its own optimiser and schedule."""

    def __init__(
        self, kind: str, layer: int, seed: int, settings: StructuralSettings, like: Tensor
    ):
        """Give the probe the width, type and device of the vectors `like` [..., d]."""
        width = like.shape[-1]
        self.kind = kind
        self.layer = layer
        self.seed = seed
        self.rank = settings.rank or width
        generator = torch.Generator().manual_seed(seed_from("structural probe", kind, layer, seed))
        weight = torch.empty(width, self.rank).uniform_(-0.05, 0.05, generator=generator)
        self.weight = weight.to(like.device, like.dtype)
        self.best = self.weight
        self._lowest = math.inf
        self._waited = 0
        self._patience = settings.patience
        self._optimizer = torch.optim.Adam([self.weight], settings.learning_rate, fused=True)
        self._schedule = ReduceLROnPlateau(self._optimizer, factor=0.1, patience=0)

    def learn(self, gradient: Tensor) -> None:
        self.weight.grad = gradient
        self._optimizer.step()

    def validated(self, loss: float) -> bool:
        """Record an epoch's dev loss, and return whether training goes on. UserError for a loss
        that is not finite."""
        if not math.isfinite(loss):
            raise UserError(
                f"The {self.kind} probe's loss on layer {self.layer} is {loss}: check the model."
            )
        self._schedule.step(loss)
        if loss < self._lowest - IMPROVEMENT:
            self.best = self.weight.clone()
            self._lowest = loss
            self._waited = 0
        else:
            self._waited += 1
        return self._waited < self._patience


def of_kind(kind: str, probes: Sequence[StructuralProbe]) -> list[StructuralProbe]:
    return [probe for probe in probes if probe.kind == kind]


def _project(
    batch: SentenceBatch, probes: Sequence[StructuralProbe], weights: Sequence[Tensor]
) -> Tensor:
    """Project the batch's words by each probe: [probes, W, r]."""
    layers = [batch.vectors[:, probe.layer] for probe in probes]
    return torch.stack([vectors @ weight for vectors, weight in zip(layers, weights, strict=True)])


def losses_and_gradients(
    batch: SentenceBatch, probes: Sequence[StructuralProbe]
) -> Iterator[tuple[StructuralProbe, Tensor, Tensor]]:
    """Calculate for each probe its mean loss over the batch, and that loss's gradient by
    z [W, r]."""
    for kind, loss in LOSS.items():
        probes_of_kind = of_kind(kind, probes)
        if probes_of_kind:
            weights = [probe.weight for probe in probes_of_kind]
            losses, gradients = loss(_project(batch, probes_of_kind, weights), batch)
            yield from zip(probes_of_kind, losses, gradients, strict=True)


def step(probes: Sequence[StructuralProbe], batch: SentenceBatch) -> None:
    """Update every probe once."""
    for probe, _, gradient in losses_and_gradients(batch, probes):
        probe.learn(batch.vectors[:, probe.layer].T @ gradient)


def mean_losses(
    probes: Sequence[StructuralProbe], sentences: Sentences
) -> dict[StructuralProbe, float]:
    """Calculate the mean loss of each probe over all sentences."""
    means = dict.fromkeys(probes, 0.0)
    batches = math.ceil(sentences.lengths.sum() / WORDS)
    for members in np.array_split(np.arange(len(sentences)), batches):
        for probe, loss, _ in losses_and_gradients(sentences.batch(members), probes):
            means[probe] += loss.item() * len(members) / len(sentences)
    return means


def fit(
    probes: Sequence[StructuralProbe],
    train: Sentences,
    dev: Sentences,
    settings: StructuralSettings,
) -> None:
    """Train all probes on the same batches, each until its own end; their `best` weights are the
    result.

    The result for a probe does not depend on the other probes. The batches are the same for every
    model and probe seed.
    """
    running = list(probes)
    progress = Lines()
    for epoch in range(1, settings.epochs + 1):
        rng = np.random.default_rng(seed_from("structural probe", "batches", epoch))
        order = rng.permutation(len(train))
        for first in range(0, len(order), settings.batch_size):
            step(running, train.batch(order[first : first + settings.batch_size]))
            progress.tell(
                f"structural_probe: epoch {epoch} of at most {settings.epochs}, sentence"
                f" {first} of {len(train)}, {len(running)} of {len(probes)} probes still learn"
            )
        running = [
            probe for probe, loss in mean_losses(running, dev).items() if probe.validated(loss)
        ]
        if not running:
            break


def evaluate(
    probes: Sequence[StructuralProbe], sentences: Sentences
) -> Iterator[tuple[StructuralProbe, str, float, int, list[float]]]:
    """Measure each probe at its best weights: the probe, measure, value, n, and the values without
    each block of sentences (NaN where nothing is left).

    Spearman's correlation is a mean over sentences of 5 to 50 words. For distances, a sentence's
    correlation is the mean over rows, which include a word's distance to itself. Root accuracy is
    a mean over sentences and UUAS over edges, both among words that are not punctuation.
    """
    rests = outside(len(sentences))
    for kind, predict in PREDICT.items():
        probes_of_kind = of_kind(kind, probes)
        measure, count_recovered = RECOVERED[kind]
        correlation = np.zeros((len(probes_of_kind), len(sentences)))
        recovered = np.zeros((len(probes_of_kind), len(sentences)))
        possible = np.zeros(len(sentences), int)
        for members in _batches_of_one_length(sentences.lengths):
            batch = sentences.batch(members)
            z = _project(batch, probes_of_kind, [probe.best for probe in probes_of_kind])
            z = z.unflatten(1, (len(members), -1))
            predicted = predict(z).double().cpu().numpy()
            gold = torch.stack(batch.gold[kind]).cpu().numpy()
            by_row = trees.spearman(predicted, gold)
            by_row = by_row.reshape(len(probes_of_kind), len(members), -1)
            correlation[:, members] = by_row.mean(axis=-1)
            for i, member in enumerate(members):
                is_word = sentences.is_word[member]
                if is_word.any():
                    recovered[:, member], possible[member] = count_recovered(
                        predicted[:, i], gold[i], is_word
                    )
        mean, counted = trees.mean_over_lengths(correlation, sentences.lengths)
        means, shares = [mean], [_share(recovered, possible)]
        for rest in rests:
            mean = np.full(len(probes_of_kind), np.nan)
            with suppress(UserError):
                mean, _ = trees.mean_over_lengths(correlation[:, rest], sentences.lengths[rest])
            means.append(mean)
            shares.append(_share(recovered[:, rest], possible[rest]))
        counted_possible = int(possible.sum())
        for number, probe in enumerate(probes_of_kind):
            value, *without = [float(mean[number]) for mean in means]
            yield probe, "spearman", value, counted, without
            value, *without = [float(share[number]) for share in shares]
            yield probe, measure, value, counted_possible, without


def _share(recovered: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """Divide the sums over sentences; NaN where nothing is possible."""
    return recovered.sum(axis=1) / (possible.sum() or math.nan)


def _batches_of_one_length(lengths: np.ndarray) -> Iterator[np.ndarray]:
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        yield from np.array_split(members, math.ceil(len(members) * length / WORDS))


def word_vectors(activations: Activations, examples: Sequence[int]) -> np.ndarray:
    """Average each word's pieces, for all words of `examples`, [W, layers + 1, d], in the type
    that the file has."""
    ranges = [np.arange(*activations.word_offsets[i : i + 2]) for i in examples]
    words = np.concatenate(ranges)
    starts = np.repeat(activations.offsets[examples], list(map(len, ranges)))
    first = starts + activations.word_first[words]
    last = starts + activations.word_last[words]
    layers = activations.layers + 1
    vectors = np.empty((len(words), layers, activations.width), activations.hidden(0).dtype)
    for layer in range(layers):
        hidden = activations.hidden(layer)
        for start in range(0, len(words), WORDS):
            part = slice(start, start + WORDS)
            vectors[part, layer] = _average_pieces(hidden, first[part], last[part])
    return vectors


def _average_pieces(hidden: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    pieces = last - first + 1
    total = hidden[first].astype(np.float32)
    for piece in range(1, pieces.max()):
        longer = pieces > piece
        total[longer] += hidden[first[longer] + piece]
    return total / pieces[:, None]


def read_splits(
    activations: Activations, rows: Sequence[Mapping], settings: StructuralSettings
) -> dict[str, Sentences]:
    """Read word vectors and trees of train, dev and test; leave out the sentences that the window
    has cut, and print their number.

    UserError where rows and examples differ, where a split is empty, and where the rank is above
    the width.
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
    is_whole = np.minimum.reduceat(activations.word_first, activations.word_offsets[:-1]) >= 0
    splits = {}
    for split in ("train", "dev", "test"):
        numbers = [number for number, row in enumerate(rows) if row["split"] == split]
        if split == "train":
            numbers = sample(numbers, settings.max_train, "the treebank", split)
        whole = [number for number in numbers if is_whole[number]]
        print(
            f"structural_probe: {path}: {len(whole)} sentences of {split},"
            f" {len(numbers) - len(whole)} too long for the window",
            file=sys.stderr,
            flush=True,
        )
        if not whole:
            raise UserError(
                f"{path} has no whole sentence of split {split}; extract it with a larger"
                " max_length."
            )
        vectors = torch.from_numpy(word_vectors(activations, whole))
        splits[split] = Sentences(vectors, [rows[number] for number in whole], device)
    return splits


@contextmanager
def full_precision() -> Iterator[None]:
    """Multiply matrices in float32 inside the block. TF32, the default of some installations, has
    ten bits, too few for differences of large numbers."""
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision)


def probe(
    model: str,
    sources: Mapping[tuple[int, int], Source],
    sentences: Path,
    settings: StructuralSettings,
    part_cache: PartCache,
) -> Table:
    """Train depth and distance probes on all layers of every replicate's activations, and test
    them on dev and test.

    sources: (init, seed) -> the source of the activations of `sentences` (words, upos, heads,
    split). A replicate's probes are a part of the work. Returns a table of COLUMNS, with values
    without each block of sentences; layer 0 is the embedding output. Word vectors are held in
    memory, one replicate's at a time: 2.1 GB for 100,000 words of a BERT-base in float16.
    UserError as `read_splits` does.
    """
    rows = list(read_jsonl(sentences))

    def learn(source: Source, seeds: list[int]) -> dict:
        activations = source.written(part_cache.folder / "states.npz")
        splits = read_splits(activations, rows, settings)
        return {"rows": list(_probe_replicate(splits, settings, seeds))}

    parts = {}
    for (init, seed), source in sources.items():
        parts[init, seed] = Part(
            f"init{init}_seed{seed}",
            {"code": part_cache.code, "settings": asdict(settings), "states": source.recipe()},
            partial(learn, source, settings.seeds_of(seed)),
        )
    table, jackknife = [], []
    for replicate, result in made(parts, part_cache.folder, "structural_probes").items():
        for *keys, probe_seed, value, n, without in result["rows"]:
            table.append(("structural_probe", model, *keys, *replicate, probe_seed, value, n))
            jackknife.append(without)
    return Table.of(pd.DataFrame(table, columns=COLUMNS), padded(jackknife))


def _probe_replicate(
    splits: Mapping[str, Sentences], settings: StructuralSettings, seeds: Sequence[int]
) -> Iterator[tuple]:
    """Probe one replicate: rows of kind, layer, split, measure, rank, probe seed, value, n and
    values without each block of sentences."""
    like = splits["train"].batch([0]).vectors
    probes = [
        StructuralProbe(kind, layer, probe_seed, settings, like)
        for kind in LOSS
        for layer in range(like.shape[1])
        for probe_seed in seeds
    ]
    with full_precision():
        fit(probes, splits["train"], splits["dev"], settings)
        for split in ("dev", "test"):
            for probe, measure, value, n, without in evaluate(probes, splits[split]):
                keys = (probe.kind, probe.layer, split, measure, probe.rank, probe.seed)
                yield *keys, value, n, without
