"""Edge probes that share their batches, trained as one stack of weights.

One probe (Tenney et al. 2019; Merchant et al. 2020, section 4.1), for tokens of width d inside the
spans of a target:

    x = g * sum_l softmax(a)_l h_l        [n, d]  scalar mix of the encoder's layers, dropout
    z = x P + p                           [n, w]  projection, one for each span of a pair
    s = sum_t softmax(z v)_t z_t          [T, w]  self-attentive pooling over the span
    y = LayerNorm(tanh([s1; s2] A + a))           dropout
    logits = y C + c                      [T, C]

K probes, of several variants, seeds and labellings, share the gather of hidden states, a batch's
indices and each kernel's overhead. They share nothing else: the result for a probe does not depend
on the other probes of its bank.
"""

import math
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
from bertshift.running.progress import Lines
from bertshift.seeds import seed_from
from bertshift.tasks.inference import best_device

# Training batches in one batch of an evaluation, which keeps nothing for a backward pass.
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
        rows = depth if word_vectors is None else depth + 1
        shape = (rows, len(self._tokens), activations.width)
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
class TaskSplit:
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
        """Make the batch of these records, in this order."""
        spans = self.spans.batch(records)
        sizes = np.diff(np.append(spans.bags, len(spans.members)))
        indices = [
            self.features.rows(spans.tokens),
            spans.targets,
            np.repeat(np.arange(len(sizes)), sizes),
            spans.members,
            spans.bags,
            *(tokens for tokens in spans.sides if tokens is not None),
        ]
        # All indices move to the device in one copy.
        flat = torch.from_numpy(np.concatenate(indices)).to(best_device())
        rows, targets, span, members, bags, *sides = flat.split(list(map(len, indices)))
        return Batch(spans.record, rows, targets, span, members, bags, sides or [None])


@dataclass(frozen=True)
class Batch:
    """A batch of records, with the members of SpanBatch; tensors are on the probes' device.

    record: [T], a numpy array
    rows: [n], of Features
    targets: [T]
    span: [M], the span of each member
    """

    record: np.ndarray
    rows: Tensor
    targets: Tensor
    span: Tensor
    members: Tensor
    bags: Tensor
    sides: list[Tensor | None]


@dataclass(frozen=True)
class ProbeObjective:
    """The loss that probes minimise, and the score that selects their best weights.

    loss: of logits and gold labels (0. or 1.), both [K, T, C], -> [K], a mean over targets
    statistics: of the same -> [K, T, m], to be summed over targets
    score: of the sums [K, m] -> [K]; higher is better
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    statistics: Callable[[Tensor, Tensor], Tensor]
    score: Callable[[Tensor], Tensor]


def shapes(
    layers: int, width_in: int, width: int, spans: int, labels: int
) -> dict[str, tuple[int, ...]]:
    """Name one probe's weights with their shapes. The attention scores have no bias: it would
    cancel in their softmax."""
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
    weights = []
    for name, shape in layout.items():
        if name in constant:
            weight = torch.full(shape, constant[name])
        else:
            bound = 1 / math.sqrt(fan_in[name.removesuffix("_bias")])
            weight = torch.empty(shape).uniform_(-bound, bound, generator=generator)
        weights.append(weight.flatten())
    return torch.cat(weights)


@dataclass(frozen=True)
class Subset:
    """Probes `numbers` of a bank, with tensors on the probes' device that a step needs.

    index: [k], the numbers
    rank: [k, 1], from 0 to k - 1
    unmixed: [k, layers], layers that a probe does not mix
    mixes: [k, 1], whether it mixes more than one
    labelling: [k, 1]
    seed: [k], the position of the probe's seed among the bank's seeds
    """

    numbers: list[int]
    index: Tensor
    rank: Tensor
    unmixed: Tensor
    mixes: Tensor
    labelling: Tensor
    seed: Tensor


class Bank:
    """K probes over the same features: their layout, and the forward pass of any of them."""

    def __init__(
        self, probes: Sequence[Probe], examples: TaskSplit, settings: ProbeSettings, name: str
    ):
        layers, _, width_in = examples.features.values.shape
        labels = examples.labels.shape[2]
        self.probes = list(probes)
        self.settings = settings
        self.name = name
        self.layout = shapes(layers, width_in, settings.width, examples.spans.sides, labels)
        self.seeds = sorted({probe.seed for probe in probes})
        self._layers = layers
        self._sizes = [math.prod(shape) for shape in self.layout.values()]

    def initial(self) -> list[Tensor]:
        """Draw the weights of every probe before its first step."""
        return [
            initial(self.layout, seed_from(self.name, "weights", probe.seed)).to(best_device())
            for probe in self.probes
        ]

    def subset(self, numbers: Sequence[int]) -> Subset:
        """Select the probes with these numbers."""
        probes = [self.probes[number] for number in numbers]
        device = best_device()
        unmixed = torch.ones(len(probes), self._layers, dtype=torch.bool)
        for row, probe in enumerate(probes):
            unmixed[row, list(probe.layers)] = False
        return Subset(
            numbers=list(numbers),
            index=torch.tensor(list(numbers), device=device),
            rank=torch.arange(len(probes), device=device)[:, None],
            unmixed=unmixed.to(device),
            mixes=torch.tensor([[len(probe.layers) > 1] for probe in probes], device=device),
            labelling=torch.tensor([[probe.labelling] for probe in probes], device=device),
            seed=torch.tensor([self.seeds.index(probe.seed) for probe in probes], device=device),
        )

    def gold(self, subset: Subset, examples: TaskSplit, batch: Batch) -> Tensor:
        """Look up the labels that these probes should give, [k, T, C] 0. or 1."""
        return examples.labels[subset.labelling, batch.targets].float()

    def logits(
        self,
        weights: Tensor,
        subset: Subset,
        examples: TaskSplit,
        batch: Batch,
        dropout: "Dropout | None" = None,
    ) -> Tensor:
        """Compute the logits of these probes: weights [k, P] -> [k, T, C]."""
        w = {}
        for (name, shape), flat in zip(self.layout.items(), weights.split(self._sizes, dim=1)):
            w[name] = flat.view(-1, *shape)
        mix = w["mix"].masked_fill(subset.unmixed, -math.inf).softmax(1)
        # Only a mix has a scale; a single layer enters unscaled.
        mix = mix * torch.where(subset.mixes, w["scale"], 1.0)
        states = examples.features.take(batch.rows)
        x = (mix @ states.flatten(1)).view(-1, *states.shape[1:])
        if dropout:
            x = dropout.input(x, subset)
        project = w["project"].unbind(1)
        bias = w["project_bias"].unbind(1)
        attend = w["attend"].unbind(1)
        z, scores = [], []
        for side, tokens in enumerate(batch.sides):
            x_side = x if tokens is None else x.index_select(1, tokens)
            z_side = torch.baddbmm(bias[side][:, None], x_side, project[side])
            z.append(z_side)
            scores.append(torch.bmm(z_side, attend[side]))
        attention = torch.cat(scores, 1)[..., 0]
        pooled = pool(torch.cat(z, 1), attention, batch, subset.rank)
        hidden = w["hidden"].flatten(1, 2)
        # The spans of a target are concatenated.
        pooled = pooled.view(len(weights), -1, hidden.shape[1])
        h = torch.baddbmm(w["hidden_bias"][:, None], pooled, hidden)
        h = F.layer_norm(h.tanh(), h.shape[-1:])
        h = torch.addcmul(w["shift"][:, None], h, w["gain"][:, None])
        if dropout:
            h = dropout.hidden(h, subset)
        return torch.baddbmm(w["output_bias"][:, None], h, w["output"])


def pool(z: Tensor, scores: Tensor, batch: Batch, rank: Tensor) -> Tensor:
    """Sum over a batch's spans with softmax weights: [k, T * S, w].

    z: [k, n, w]
    scores: [k, n]
    rank: [k, 1]
    """
    k, n, width = z.shape
    spans, members = len(batch.bags), len(batch.members)
    scores = scores.index_select(1, batch.members)
    largest = scores.new_full((k, spans), -math.inf)
    largest.scatter_reduce_(1, batch.span.expand(k, -1), scores.detach(), "amax")
    powers = (scores - largest.index_select(1, batch.span)).exp()
    sums = powers.new_zeros(k, spans).index_add(1, batch.span, powers)
    softmax = powers / sums.index_select(1, batch.span)
    # The tokens of all probes are one embedding table, which avoids an array [k, members, w].
    pooled = F.embedding_bag(
        (batch.members + rank * n).flatten(),
        z.reshape(k * n, width),
        (batch.bags + rank * members).flatten(),
        mode="sum",
        per_sample_weights=softmax.flatten(),
    )
    return pooled.view(k, spans, width)


class Dropout:
    """Dropout masks that depend only on a probe's seed and the step, so that probes of one seed
    share them."""

    def __init__(self, bank: Bank):
        self._settings = bank.settings
        self._generators = [
            torch.Generator(best_device()).manual_seed(seed_from(bank.name, "dropout", seed))
            for seed in bank.seeds
        ]

    def input(self, x: Tensor, subset: Subset) -> Tensor:
        return self._apply(x, subset, self._settings.input_dropout)

    def hidden(self, h: Tensor, subset: Subset) -> Tensor:
        return self._apply(h, subset, self._settings.hidden_dropout)

    def _apply(self, x: Tensor, subset: Subset, rate: float) -> Tensor:
        if not rate:
            return x
        masks = x.new_empty(len(self._generators), *x.shape[1:])
        for mask, generator in zip(masks, self._generators):
            mask.bernoulli_(1 - rate, generator=generator)
        masks.div_(1 - rate)
        if len(masks) > 1:
            masks = masks[subset.seed]
        return x * masks


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
        self._plateau_score = -math.inf
        self._plateau_length = 0

    def validated(self, score: float, step: int) -> bool:
        """Record a development score, and return whether training goes on."""
        settings = self.settings
        self._plateau_length += 1
        if score > self._plateau_score + PLATEAU:
            self._plateau_score = score
            self._plateau_length = 0
        elif self._plateau_length > settings.decay_patience:
            self.rate *= settings.decay
            self._plateau_length = 0
        self.waited += 1
        if score > self.score:
            self.score = score
            self.steps = step
            self.waited = 0
            self.best.copy_(self.weights)
        return self.waited < settings.patience and self.rate >= settings.min_learning_rate


class Optimizer:
    """Adam with AMSGrad for all probes of a bank, with one parameter group for each learning
    rate."""

    def __init__(self, probes: Sequence[Progress]):
        weights = [probe.weights for probe in probes]
        self._adam = torch.optim.Adam(weights, amsgrad=True, fused=True)
        self.set_probes(probes)

    def set_probes(self, probes: Sequence[Progress]) -> None:
        """Train only these probes from now on, at their present learning rates."""
        self._probes = list(probes)
        options = self._adam.param_groups[0]
        groups = []
        for rate in sorted({probe.rate for probe in probes}):
            weights = [probe.weights for probe in probes if probe.rate == rate]
            groups.append(options | {"lr": rate, "params": weights})
        self._adam.param_groups = groups

    def step(self, gradients: Tensor) -> None:
        """Update the probes' weights by gradients [k, P]."""
        for probe, gradient in zip(self._probes, gradients, strict=True):
            probe.weights.grad = gradient
        self._adam.step()


def train(
    bank: Bank, examples: TaskSplit, records: np.ndarray, dev: TaskSplit, objective: ProbeObjective
) -> list[Progress]:
    """Train all probes of a bank on `records` of `examples`; select their best weights on `dev`.

    Adam with AMSGrad, gradients clipped probe by probe. The order of records depends on the bank's
    name alone.
    """
    settings = bank.settings
    all_weights = torch.stack(bank.initial())
    probes = [Progress(weights, settings) for weights in all_weights]
    optimizer = Optimizer(probes)
    dropout = Dropout(bank)
    subset = bank.subset(range(len(probes)))
    batches = _shuffled_batches(records, settings.batch_records, seed_from(bank.name, "order"))
    dev_records = dev.records
    progress = Lines()
    for step in range(1, settings.max_steps + 1):
        batch = examples.batch(next(batches))
        weights = _select_rows(all_weights, subset).detach().requires_grad_()
        logits = bank.logits(weights, subset, examples, batch, dropout)
        objective.loss(logits, bank.gold(subset, examples, batch)).sum().backward()
        norms = weights.grad.norm(dim=1, keepdim=True)
        clip = (settings.max_grad_norm / (norms + 1e-6)).clamp(max=1)
        optimizer.step(weights.grad * clip)
        if step % settings.validate_every == 0 or step == settings.max_steps:
            weights = _select_rows(all_weights, subset)
            sums = evaluate(bank, weights, subset, dev, dev_records, objective.statistics)
            scores = objective.score(sums[:, 0]).tolist()
            active = [
                number
                for number, score in zip(subset.numbers, scores)
                if probes[number].validated(score, step)
            ]
            if not active:
                break
            subset = bank.subset(active)
            optimizer.set_probes([probes[number] for number in active])
        progress.tell(f"{bank.name}: step {step}, {len(subset.numbers)} probes")
    return probes


def _select_rows(weights: Tensor, subset: Subset) -> Tensor:
    return weights if len(subset.numbers) == len(weights) else weights[subset.index]


def _shuffled_batches(records: np.ndarray, size: int, seed: int) -> Iterator[np.ndarray]:
    """Yield batches without end, from a new order of all records each time they are through."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(records)
        for first in range(0, len(order), size):
            yield order[first : first + size]


@torch.no_grad()
def evaluate(
    bank: Bank,
    weights: Tensor,
    subset: Subset,
    examples: TaskSplit,
    records: np.ndarray,
    statistics: Callable[[Tensor, Tensor], Tensor],
    group: np.ndarray | None = None,
) -> Tensor:
    """Sum `statistics` over the targets of `records`: [k, groups, m] float64.

    weights: [k, P], of the probes `subset`
    group: [R], a number for each record; sums are by its value, or over all records without it
    """
    if group is None:
        group = np.zeros(len(examples.spans.sentence), np.int64)
    groups = int(group.max()) + 1
    size = EVALUATED_AT_ONCE * bank.settings.batch_records
    batches = (records[first : first + size] for first in range(0, len(records), size))

    def compute(members: np.ndarray) -> tuple[np.ndarray, Tensor]:
        batch = examples.batch(members)
        logits = bank.logits(weights, subset, examples, batch)
        values = statistics(logits, bank.gold(subset, examples, batch))
        return batch.record, values.double()

    sums = None
    for _, (record, values) in in_parts(batches, compute, bank.name):
        if sums is None:
            sums = values.new_zeros(len(subset.numbers), groups, values.shape[2])
        target_group = torch.from_numpy(group[record]).to(values.device)
        sums.index_add_(1, target_group, values)
    return sums
