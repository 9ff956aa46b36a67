"""Edge probes that share their batches, trained as one stack of weights.

One probe (Tenney et al. 2019; Merchant et al. 2020, section 4.1), for tokens of width d inside the
spans of a target:

    x = g * sum_l softmax(a)_l h_l        [n, d]  scalar mix of the encoder's layers, dropout
    z = x P + p                           [n, w]  projection, one for each span of a pair
    s = sum_t softmax(z v)_t z_t          [T, w]  self-attentive pooling over the span
    y = LayerNorm(tanh([s1; s2] A + a))           dropout
    logits = y C + c                      [T, C]

A gather of hidden states, a batch's indices and each kernel's overhead then serve K probes: those
of several variants, seeds and labellings. Nothing else is shared: what a probe becomes does not
depend on the others in its bank.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bertshift.activations.store import Activations
from bertshift.probes.settings import ProbeSettings
from bertshift.probes.spans import SpanTokens
from bertshift.running.memory import in_parts, on_device
from bertshift.seeds import seed_from
from bertshift.tasks.inference import best_device

PROGRESS_SECONDS = 5
# Records of a forward pass that keeps nothing for a backward pass, in training batches.
EVALUATED_AT_ONCE = 4
# Minimum improvement for the learning-rate scheduler.
PLATEAU = 1e-4


@dataclass(frozen=True)
class Probe:
    """One probe of a bank: the layers (rows of Features) that it mixes, the labelling it learns,
    its seed."""

    layers: tuple[int, ...]
    labelling: int
    seed: int


class Features:
    """Hidden states of some tokens: values [layers + 1, tokens, d], as stored, on the probes'
    device if they fit there.

    tokens: rows of the activation file, in any order. `word_vectors` [V, d], if given, is looked
    up by word piece and becomes one more row after the last layer.
    """

    def __init__(
        self, activations: Activations, tokens: np.ndarray, word_vectors: np.ndarray | None = None
    ):
        self._tokens = np.unique(tokens)
        depth = activations.layers + 1
        shape = (depth + (word_vectors is not None), len(self._tokens), activations.width)
        values = np.empty(shape, activations.hidden(0).dtype)
        for layer in range(depth):
            values[layer] = activations.hidden(layer)[self._tokens]
        if word_vectors is not None:
            values[depth] = word_vectors[activations.token_ids[self._tokens]]
        self.values = on_device(torch.from_numpy(values), best_device(), "hidden states")

    def rows(self, tokens: np.ndarray) -> np.ndarray:
        """Find where rows of the activation file are in `values`."""
        return np.searchsorted(self._tokens, tokens)

    def take(self, rows: Tensor) -> Tensor:
        """Take the hidden states at these rows, [layers + 1, n, d] float32."""
        return self.values[:, rows.to(self.values.device)].to(best_device()).float()


@dataclass(frozen=True)
class Examples:
    """One split of one task for one model: labels [labellings, T, C] bool, on the probes'
    device."""

    spans: SpanTokens
    features: Features
    labels: Tensor

    @property
    def records(self) -> np.ndarray:
        """The records that have a target."""
        return np.unique(self.spans.record)

    def batch(self, records: np.ndarray) -> "Batch":
        found = self.spans.batch(records)
        sizes = np.diff(np.append(found.bags, len(found.members)))
        span = np.repeat(np.arange(len(sizes)), sizes)
        own = [tokens for tokens in found.sides if tokens is not None]
        indices = [
            self.features.rows(found.tokens),
            found.targets,
            span,
            found.members,
            found.bags,
            *own,
        ]
        # One copy to the device for all of them.
        flat = torch.from_numpy(np.concatenate(indices)).to(best_device())
        rows, targets, span, members, bags, *own = flat.split([len(each) for each in indices])
        return Batch(found.record, rows, targets, span, members, bags, own or [None])


@dataclass(frozen=True)
class Batch:
    """A batch of records, with the members of SpanBatch. record [T] is where numpy is, all else on
    the probes' device: rows [n] of Features, targets [T], and span [M], that of each of the
    members."""

    record: np.ndarray
    rows: Tensor
    targets: Tensor
    span: Tensor
    members: Tensor
    bags: Tensor
    sides: list[Tensor | None]


@dataclass(frozen=True)
class Objective:
    """The loss that probes minimise, and the score they are chosen by; all for logits and gold
    labels (0. or 1.) [K, T, C].

    loss: -> [K], a mean over targets; statistics: -> [K, T, m], to be summed over targets; score:
    sums [K, m] -> [K], higher is better.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    statistics: Callable[[Tensor, Tensor], Tensor]
    score: Callable[[Tensor], Tensor]


def shapes(
    layers: int, width_in: int, width: int, spans: int, labels: int
) -> dict[str, tuple[int, ...]]:
    """Name one probe's weights with their shapes; the bias of the pooling's scores would cancel in
    their softmax."""
    return {
        "mix": (layers,),
        "scale": (1,),
        "project": (spans, width_in, width),
        "project_bias": (spans, width),
        "attend": (spans, width, 1),
        "hidden": (spans, width, width),
        "hidden_bias": (width,),
        "gain": (width,),
        "shift": (width,),
        "output": (width, labels),
        "output_bias": (labels,),
    }


def initial(layout: dict[str, tuple[int, ...]], seed: int) -> Tensor:
    """Draw the weights [P] of a probe before its first step: uniform within 1 / sqrt(fan-in), as
    torch's Linear."""
    generator = torch.Generator().manual_seed(seed)
    constant = {"mix": 0.0, "scale": 1.0, "gain": 1.0, "shift": 0.0}
    spans, width_in, width = layout["project"]
    fan_in = {"project": width_in, "attend": width, "hidden": spans * width, "output": width}
    parts = []
    for name, shape in layout.items():
        if name in constant:
            parts.append(torch.full(shape, constant[name]))
        else:
            bound = 1 / math.sqrt(fan_in[name.removesuffix("_bias")])
            parts.append(torch.empty(shape).uniform_(-bound, bound, generator=generator))
    return torch.cat([part.flatten() for part in parts])


@dataclass(frozen=True)
class Chosen:
    """Probes `numbers` of a bank, and what a step asks of them, on the probes' device.

    index [k]: the numbers; rank [k, 1]: 0 .. k - 1; outside [k, layers]: layers that a probe does
    not mix; mixes [k, 1]: whether it mixes more than one; labelling [k, 1]; seed [k]: a row of the
    bank's seeds.
    """

    numbers: list[int]
    index: Tensor
    rank: Tensor
    outside: Tensor
    mixes: Tensor
    labelling: Tensor
    seed: Tensor


class Bank:
    """K probes over the same features: their layout, and the forward pass of any of them."""

    def __init__(
        self, probes: Sequence[Probe], examples: Examples, settings: ProbeSettings, name: str
    ):
        layers, _, width_in = examples.features.values.shape
        self.probes, self.settings, self.name = list(probes), settings, name
        self.layout = shapes(
            layers, width_in, settings.width, examples.spans.sides, examples.labels.shape[2]
        )
        self.seeds = sorted({probe.seed for probe in probes})
        self._layers = layers
        self._sizes = [math.prod(shape) for shape in self.layout.values()]

    def initial(self) -> list[Tensor]:
        return [
            initial(self.layout, seed_from(self.name, "weights", probe.seed)).to(best_device())
            for probe in self.probes
        ]

    def chosen(self, numbers: Sequence[int]) -> Chosen:
        probes, device = [self.probes[number] for number in numbers], best_device()
        outside = torch.ones(len(probes), self._layers, dtype=torch.bool)
        for own, probe in zip(outside, probes, strict=True):
            own[list(probe.layers)] = False
        mixes = [[len(probe.layers) > 1] for probe in probes]
        return Chosen(
            list(numbers),
            torch.tensor(list(numbers), device=device),
            torch.arange(len(probes), device=device)[:, None],
            outside.to(device),
            torch.tensor(mixes, device=device),
            torch.tensor([[probe.labelling] for probe in probes], device=device),
            torch.tensor([self.seeds.index(probe.seed) for probe in probes], device=device),
        )

    def gold(self, which: Chosen, examples: Examples, batch: Batch) -> Tensor:
        """Look up the labels that these probes should give, [k, T, C] 0. or 1."""
        return examples.labels[which.labelling, batch.targets].float()

    def logits(
        self,
        weights: Tensor,
        which: Chosen,
        examples: Examples,
        batch: Batch,
        drop: "Dropout | None" = None,
    ) -> Tensor:
        """Compute the logits of these probes: weights [k, P] -> [k, T, C]."""
        values = weights.split(self._sizes, dim=1)
        w = {name: v.view(-1, *shape) for (name, shape), v in zip(self.layout.items(), values)}
        mix = w["mix"].masked_fill(which.outside, -math.inf).softmax(1)
        # A single layer is taken as it is: only a mix has a scale.
        mix = mix * torch.where(which.mixes, w["scale"], 1.0)
        states = examples.features.take(batch.rows)
        x = (mix @ states.flatten(1)).view(-1, *states.shape[1:])
        if drop:
            x = drop.input(x, which)
        z, scores = [], []
        per_side = (w[name].unbind(1) for name in ("project", "project_bias", "attend"))
        for tokens, project, bias, attend in zip(batch.sides, *per_side, strict=True):
            own = x if tokens is None else x.index_select(1, tokens)
            z.append(torch.baddbmm(bias[:, None], own, project))
            scores.append(torch.bmm(z[-1], attend))
        # The spans of a target side by side.
        pooled = pool(torch.cat(z, 1), torch.cat(scores, 1)[..., 0], batch, which.rank)
        hidden = w["hidden"].flatten(1, 2)
        h = torch.baddbmm(
            w["hidden_bias"][:, None], pooled.view(len(weights), -1, hidden.shape[1]), hidden
        )
        h = F.layer_norm(h.tanh(), h.shape[-1:])
        h = torch.addcmul(w["shift"][:, None], h, w["gain"][:, None])
        if drop:
            h = drop.hidden(h, which)
        return torch.baddbmm(w["output_bias"][:, None], h, w["output"])


def pool(z: Tensor, scores: Tensor, batch: Batch, rank: Tensor) -> Tensor:
    """Sum over a batch's spans with softmax weights: z [k, n, w], scores [k, n], rank [k, 1] ->
    [k, T * S, w]."""
    k, n, width = z.shape
    spans, members = len(batch.bags), len(batch.members)
    scores = scores.index_select(1, batch.members)
    largest = scores.new_full((k, spans), -math.inf)
    largest.scatter_reduce_(1, batch.span.expand(k, -1), scores.detach(), "amax")
    powers = (scores - largest.index_select(1, batch.span)).exp()
    sums = powers.new_zeros(k, spans).index_add(1, batch.span, powers)
    # One table of all probes' tokens: no [k, members, w] array comes to be.
    return F.embedding_bag(
        (batch.members + rank * n).flatten(),
        z.reshape(k * n, width),
        (batch.bags + rank * members).flatten(),
        mode="sum",
        per_sample_weights=(powers / sums.index_select(1, batch.span)).flatten(),
    ).view(k, spans, width)


class Dropout:
    """Masks that depend on a probe's seed and the step alone, so that probes of one seed share
    them."""

    def __init__(self, bank: Bank):
        self._settings = bank.settings
        self._generators = [
            torch.Generator(best_device()).manual_seed(seed_from(bank.name, "dropout", seed))
            for seed in bank.seeds
        ]

    def input(self, x: Tensor, which: Chosen) -> Tensor:
        return self._apply(x, which, self._settings.input_dropout)

    def hidden(self, h: Tensor, which: Chosen) -> Tensor:
        return self._apply(h, which, self._settings.hidden_dropout)

    def _apply(self, x: Tensor, which: Chosen, rate: float) -> Tensor:
        if not rate:
            return x
        masks = x.new_empty(len(self._generators), *x.shape[1:])
        for mask, generator in zip(masks, self._generators):
            mask.bernoulli_(1 - rate, generator=generator)
        masks.div_(1 - rate)
        return x * (masks if len(masks) == 1 else masks[which.seed])


@dataclass
class Progress:
    """One probe's weights [P], learning rate and best score so far."""

    weights: Tensor
    settings: ProbeSettings
    score: float = -math.inf
    steps: int = 0
    waited: int = 0

    def __post_init__(self):
        self.best = self.weights.clone()
        self.rate = self.settings.learning_rate
        self._level, self._flat = -math.inf, 0

    def validated(self, score: float, step: int) -> bool:
        """Take note of a development score, and say whether to go on."""
        self._flat += 1
        if score > self._level + PLATEAU:
            self._level, self._flat = score, 0
        elif self._flat > self.settings.decay_patience:
            self.rate, self._flat = self.rate * self.settings.decay, 0
        self.waited += 1
        if score > self.score:
            self.score, self.steps, self.waited = score, step, 0
            self.best.copy_(self.weights)
        return (
            self.waited < self.settings.patience and self.rate >= self.settings.min_learning_rate
        )


class Optimizer:
    """Adam with AMSGrad for all probes of a bank, whose learning rates differ: one call for those
    that share one."""

    def __init__(self, probes: Sequence[Progress]):
        self._adam = torch.optim.Adam([one.weights for one in probes], amsgrad=True, fused=True)
        self.take(probes)

    def take(self, probes: Sequence[Progress]) -> None:
        """Train these probes from now on, at the rates that they have now."""
        options, self._probes = self._adam.param_groups[0], list(probes)
        self._adam.param_groups = [
            options | {"lr": rate, "params": [one.weights for one in probes if one.rate == rate]}
            for rate in sorted({one.rate for one in probes})
        ]

    def step(self, gradients: Tensor) -> None:
        """Update the probes' weights by gradients [k, P]."""
        for one, gradient in zip(self._probes, gradients, strict=True):
            one.weights.grad = gradient
        self._adam.step()


def train(
    bank: Bank, examples: Examples, records: np.ndarray, dev: Examples, objective: Objective
) -> list[Progress]:
    """Train all probes of a bank on `records` of `examples`; choose their weights on the first
    records of `dev`.

    Adam with AMSGrad, gradients clipped probe by probe. The order of records depends on the bank's
    name alone.
    """
    settings = bank.settings
    all_weights = torch.stack(bank.initial())
    probes = [Progress(weights, settings) for weights in all_weights]
    which, optimizer = bank.chosen(range(len(probes))), Optimizer(probes)
    drop, stream = (
        Dropout(bank),
        _batches(records, settings.batch_records, seed_from(bank.name, "order")),
    )
    held_out, shown = dev.records, time.monotonic()
    for step in range(1, settings.max_steps + 1):
        batch = examples.batch(next(stream))
        weights = _rows(all_weights, which).detach().requires_grad_()
        logits = bank.logits(weights, which, examples, batch, drop)
        objective.loss(logits, bank.gold(which, examples, batch)).sum().backward()
        norms = weights.grad.norm(dim=1, keepdim=True)
        optimizer.step(weights.grad * (settings.max_grad_norm / (norms + 1e-6)).clamp(max=1))
        if step % settings.validate_every == 0 or step == settings.max_steps:
            sums = evaluate(
                bank, _rows(all_weights, which), which, dev, held_out, objective.statistics
            )
            scores = objective.score(sums[:, 0]).tolist()
            active = [
                n for n, score in zip(which.numbers, scores) if probes[n].validated(score, step)
            ]
            if not active:
                break
            which = bank.chosen(active)
            optimizer.take([probes[number] for number in active])
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            print(
                f"{bank.name}: step {step}, {len(which.numbers)} probes",
                file=sys.stderr,
                flush=True,
            )
    return probes


def _rows(weights: Tensor, which: Chosen) -> Tensor:
    return weights if len(which.numbers) == len(weights) else weights[which.index]


def _batches(records: np.ndarray, size: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(records)
        for first in range(0, len(order), size):
            yield order[first : first + size]


@torch.no_grad()
def evaluate(
    bank: Bank,
    weights: Tensor,
    which: Chosen,
    examples: Examples,
    records: np.ndarray,
    statistics: Callable[[Tensor, Tensor], Tensor],
    group: np.ndarray | None = None,
) -> Tensor:
    """Sum `statistics` over the targets of `records`, for each value of `group` [R] (all in one
    without it).

    weights [k, P] of the probes `which` -> [k, groups, m] float64.
    """
    groups = 1 if group is None else int(group.max()) + 1
    sums, size = None, EVALUATED_AT_ONCE * bank.settings.batch_records

    def computed(members: np.ndarray) -> tuple[np.ndarray, Tensor]:
        batch = examples.batch(members)
        found = statistics(
            bank.logits(weights, which, examples, batch), bank.gold(which, examples, batch)
        )
        where = np.zeros(len(batch.record), np.int64) if group is None else group[batch.record]
        return where, found.double()

    batches = (records[first : first + size] for first in range(0, len(records), size))
    for _, (where, found) in in_parts(batches, computed, bank.name):
        if sums is None:
            sums = found.new_zeros(len(which.numbers), groups, found.shape[2])
        sums.index_add_(1, torch.from_numpy(where).to(found.device), found)
    return sums
