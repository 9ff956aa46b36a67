"""Edge probes that share their batches, trained as one stack of weights.

One probe (Tenney et al. 2019; Merchant et al. 2020, section 4.1), for tokens of width d inside the spans of a target:

    x = g * sum_l softmax(a)_l h_l             scalar mix of the encoder's layers        [n, d], dropout
    z = x P + p                                projection, one for each span of a pair   [n, w]
    s = sum_t softmax(z v)_t z_t               self-attentive pooling over the span      [T, w]
    logits = LayerNorm(tanh([s1; s2] A + a)) C + c                                       [T, C], dropout before C

A gather of hidden states, a batch's indices and each kernel's overhead then serve K probes: those of several variants,
seeds and labellings. Nothing else is shared: what a probe becomes does not depend on the others in its bank.
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
from torch.optim.lr_scheduler import ReduceLROnPlateau

from bertshift.activations.store import Activations
from bertshift.memory import in_parts, on_device
from bertshift.probes.settings import ProbeSettings
from bertshift.probes.spans import Side, SpanBatch, SpanTokens
from bertshift.seeds import seed_from
from bertshift.tasks.inference import best_device

PROGRESS_SECONDS = 5
# Records of a forward pass that keeps nothing for a backward pass, in training batches.
EVALUATED_AT_ONCE = 4


@dataclass(frozen=True)
class Probe:
    """One probe of a bank: the layers (rows of Features) that it mixes, the labelling it learns, its seed."""

    layers: tuple[int, ...]
    labelling: int
    seed: int


class Features:
    """Hidden states of some tokens: values [layers + 1, tokens, d], as stored, on the probes' device if they fit there.

    tokens: rows of the activation file, in any order. `word_vectors` [V, d], if given, is looked up by word piece and
    becomes one more row after the last layer.
    """

    def __init__(self, activations: Activations, tokens: np.ndarray, word_vectors: np.ndarray | None = None):
        self._tokens = np.unique(tokens)
        depth = activations.layers + 1
        shape = (depth + (word_vectors is not None), len(self._tokens), activations.width)
        values = np.empty(shape, activations.hidden(0).dtype)
        for layer in range(depth):
            values[layer] = activations.hidden(layer)[self._tokens]
        if word_vectors is not None:
            values[depth] = word_vectors[activations.token_ids[self._tokens]]
        self.values = on_device(torch.from_numpy(values), best_device(), "hidden states")

    def take(self, tokens: np.ndarray) -> Tensor:
        """[layers + 1, n, d] float32 of rows of the activation file."""
        rows = torch.from_numpy(np.searchsorted(self._tokens, tokens)).to(self.values.device)
        return self.values[:, rows].to(best_device()).float()


@dataclass(frozen=True)
class Examples:
    """One split of one task for one model: labels [labellings, T, C] bool, on the probes' device."""

    spans: SpanTokens
    features: Features
    labels: Tensor

    @property
    def records(self) -> np.ndarray:
        """The records that have a target."""
        return np.unique(self.spans.record)


@dataclass(frozen=True)
class Objective:
    """What probes minimise and are chosen by; all for logits and gold labels (0. or 1.) [K, T, C].

    loss: -> [K], a mean over targets; statistics: -> [K, T, m], to be summed over targets; score: sums [K, m] -> [K],
    higher is better.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    statistics: Callable[[Tensor, Tensor], Tensor]
    score: Callable[[Tensor], Tensor]


def as_tensor(indices: np.ndarray) -> Tensor:
    return torch.from_numpy(indices).to(best_device())


def shapes(layers: int, width_in: int, width: int, spans: int, labels: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of one probe's weights; the bias of the pooling's scores would cancel in their softmax."""
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
    """[P] the weights of a probe before its first step: uniform within 1 / sqrt(fan-in), as torch's Linear."""
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


class Bank:
    """K probes over the same features: their layout, and the forward pass of any of them."""

    def __init__(self, probes: Sequence[Probe], examples: Examples, settings: ProbeSettings, name: str):
        layers, _, width_in = examples.features.values.shape
        self.probes, self.settings, self.name = list(probes), settings, name
        self.layout = shapes(layers, width_in, settings.width, examples.spans.sides, examples.labels.shape[2])
        self._sizes = [math.prod(shape) for shape in self.layout.values()]
        self._outside = torch.ones(len(probes), layers, dtype=torch.bool, device=best_device())
        for number, probe in enumerate(probes):
            self._outside[number, list(probe.layers)] = False
        self._labelling = torch.tensor([probe.labelling for probe in probes], device=best_device())

    def initial(self) -> list[Tensor]:
        return [
            initial(self.layout, seed_from(self.name, "weights", probe.seed)).to(best_device())
            for probe in self.probes
        ]

    def gold(self, which: list[int], examples: Examples, batch: SpanBatch) -> Tensor:
        """[k, T, C] 0. or 1., the labels that probe numbers `which` should give."""
        return examples.labels[:, as_tensor(batch.targets)][self._labelling[which]].float()

    def logits(
        self,
        weights: Tensor,
        which: list[int],
        examples: Examples,
        batch: SpanBatch,
        drop: "Dropout | None" = None,
    ) -> Tensor:
        """weights [k, P] of the probes numbered `which` -> [k, T, C]."""
        values = weights.split(self._sizes, dim=1)
        w = {name: v.view(-1, *shape) for (name, shape), v in zip(self.layout.items(), values)}
        outside = self._outside[which]
        mix = w["mix"].masked_fill(outside, -math.inf).softmax(1)
        # A single layer is taken as it is: only a mix has a scale.
        mix = mix * torch.where(outside.shape[1] - outside.sum(1, keepdim=True) > 1, w["scale"], 1.0)
        states = examples.features.take(batch.tokens)
        x = (mix @ states.flatten(1)).view(-1, *states.shape[1:])
        if drop:
            x = drop.input(x, which)
        h = w["hidden_bias"][:, None]
        per_side = (w[name].unbind(1) for name in ("project", "project_bias", "attend", "hidden"))
        for side, project, bias, attend, hidden in zip(batch.sides, *per_side, strict=True):
            own = x if side.tokens is None else x.index_select(1, as_tensor(side.tokens))
            z = torch.baddbmm(bias[:, None], own, project)
            h = torch.baddbmm(h, pool(z, torch.bmm(z, attend)[..., 0], side), hidden)
        h = F.layer_norm(h.tanh(), h.shape[-1:])
        h = torch.addcmul(w["shift"][:, None], h, w["gain"][:, None])
        if drop:
            h = drop.hidden(h, which)
        return torch.baddbmm(w["output_bias"][:, None], h, w["output"])


def pool(z: Tensor, scores: Tensor, side: Side) -> Tensor:
    """Softmax-weighted sums over spans: z [k, n, w], scores [k, n] -> [k, T, w]."""
    k, n, width = z.shape
    spans, members = len(side.bags), len(side.members)
    lengths = np.diff(np.append(side.bags, members))
    span = as_tensor(np.repeat(np.arange(spans), lengths))
    inside = as_tensor(side.members)
    scores = scores[:, inside]
    largest = scores.new_full((k, spans), -math.inf)
    largest.scatter_reduce_(1, span.expand(k, -1), scores.detach(), "amax")
    powers = (scores - largest[:, span]).exp()
    shares = powers / powers.new_zeros(k, spans).index_add(1, span, powers)[:, span]
    # One table of all probes' tokens: no [k, members, w] array comes to be.
    probe = torch.arange(k, device=z.device)[:, None]
    return F.embedding_bag(
        (inside + probe * n).flatten(),
        z.reshape(k * n, width),
        (as_tensor(side.bags) + probe * members).flatten(),
        mode="sum",
        per_sample_weights=shares.flatten(),
    ).view(k, spans, width)


class Dropout:
    """Masks that depend on a probe's seed and the step alone, so that probes of one seed share them."""

    def __init__(self, bank: Bank):
        self._settings = bank.settings
        self._seed = [probe.seed for probe in bank.probes]
        self._generators = {
            seed: torch.Generator(best_device()).manual_seed(seed_from(bank.name, "dropout", seed))
            for seed in set(self._seed)
        }

    def input(self, x: Tensor, which: list[int]) -> Tensor:
        return self._apply(x, which, self._settings.input_dropout)

    def hidden(self, h: Tensor, which: list[int]) -> Tensor:
        return self._apply(h, which, self._settings.hidden_dropout)

    def _apply(self, x: Tensor, which: list[int], rate: float) -> Tensor:
        if not rate:
            return x
        seeds = [self._seed[number] for number in which]
        masks = {
            seed: x.new_empty(x.shape[1:])
            .bernoulli_(1 - rate, generator=self._generators[seed])
            .div_(1 - rate)
            for seed in sorted(set(seeds))
        }
        return x * (masks[seeds[0]] if len(masks) == 1 else torch.stack([masks[seed] for seed in seeds]))


@dataclass
class Progress:
    """One probe's weights [P], optimiser, schedule and best score so far."""

    weights: Tensor
    settings: ProbeSettings
    score: float = -math.inf
    steps: int = 0
    waited: int = 0

    def __post_init__(self):
        settings = self.settings
        self.weights.requires_grad_()
        self.best = self.weights.detach().clone()
        self._optimizer = torch.optim.Adam([self.weights], settings.learning_rate, amsgrad=True, fused=True)
        self._schedule = ReduceLROnPlateau(
            self._optimizer,
            "max",
            settings.decay,
            settings.decay_patience,
            threshold=1e-4,
            threshold_mode="abs",
        )

    def step(self, gradient: Tensor) -> None:
        self.weights.grad = gradient
        self._optimizer.step()

    def validated(self, score: float, step: int) -> bool:
        """Take note of a development score; whether to go on."""
        self._schedule.step(score)
        self.waited += 1
        if score > self.score:
            self.score, self.steps, self.waited = score, step, 0
            self.best.copy_(self.weights.detach())
        return (
            self.waited < self.settings.patience
            and self._optimizer.param_groups[0]["lr"] >= self.settings.min_learning_rate
        )


def train(
    bank: Bank, examples: Examples, records: np.ndarray, dev: Examples, objective: Objective
) -> list[Progress]:
    """Train all probes of a bank on `records` of `examples`; choose their weights on the first records of `dev`.

    Adam with AMSGrad, gradients clipped probe by probe. The order of records depends on the bank's name alone.
    """
    settings = bank.settings
    probes = [Progress(weights, settings) for weights in bank.initial()]
    active = list(range(len(probes)))
    drop, stream = Dropout(bank), _batches(records, settings.batch_records, seed_from(bank.name, "order"))
    held_out, shown = dev.records, time.monotonic()
    for step in range(1, settings.max_steps + 1):
        batch = examples.spans.batch(next(stream))
        weights = torch.stack([probes[number].weights.detach() for number in active]).requires_grad_()
        logits = bank.logits(weights, active, examples, batch, drop)
        objective.loss(logits, bank.gold(active, examples, batch)).sum().backward()
        norms = weights.grad.norm(dim=1, keepdim=True)
        clipped = weights.grad * (settings.max_grad_norm / (norms + 1e-6)).clamp(max=1)
        for number, gradient in zip(active, clipped):
            probes[number].step(gradient)
        if step % settings.validate_every == 0 or step == settings.max_steps:
            current = [probes[number].weights.detach() for number in active]
            sums = evaluate(bank, current, active, dev, held_out, objective.statistics)
            scores = objective.score(sums[:, 0]).tolist()
            active = [n for n, score in zip(active, scores) if probes[n].validated(score, step)]
        if not active:
            break
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            print(f"{bank.name}: step {step}, {len(active)} probes", file=sys.stderr, flush=True)
    return probes


def _batches(records: np.ndarray, size: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(records)
        for first in range(0, len(order), size):
            yield order[first : first + size]


@torch.no_grad()
def evaluate(
    bank: Bank,
    weights: Sequence[Tensor],
    which: list[int],
    examples: Examples,
    records: np.ndarray,
    statistics: Callable[[Tensor, Tensor], Tensor],
    group: np.ndarray | None = None,
) -> Tensor:
    """Sums of `statistics` over the targets of `records`, for each value of `group` [R] (all in one without it).

    -> [k, groups, m] float64.
    """
    stacked = torch.stack(list(weights))
    groups = 1 if group is None else int(group.max()) + 1
    sums, size = None, EVALUATED_AT_ONCE * bank.settings.batch_records

    def computed(members: np.ndarray) -> tuple[np.ndarray, Tensor]:
        batch = examples.spans.batch(members)
        found = statistics(bank.logits(stacked, which, examples, batch), bank.gold(which, examples, batch))
        where = np.zeros(len(batch.record), np.int64) if group is None else group[batch.record]
        return where, found.double()

    batches = (records[first : first + size] for first in range(0, len(records), size))
    for _, (where, found) in in_parts(batches, computed, bank.name):
        if sums is None:
            sums = found.new_zeros(len(which), groups, found.shape[2])
        sums.index_add_(1, as_tensor(where), found)
    return sums
