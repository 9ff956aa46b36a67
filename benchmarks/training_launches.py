"""What a training step asks of a GPU: operations, waits for an answer, and copies to it; and all
steps of a scale.

    python benchmarks/training_launches.py [--scale paper] [--precision bfloat16]

Both loops train the same models on the same batches. "Trainer" is the step of transformers.Trainer
with its defaults: autocast, dynamic padding, clipping, fused AdamW, a scheduler, and its look for
losses that are not numbers. Counted are the operations that torch dispatches on the CPU and that
compute something (views do not), of one step, at a narrow width, on which they do not depend;
dropout, which a GPU has one kernel for, counts as one each way, and attention's is part of its
kernel. A GPU splits an operation on a list of tensors into a few kernels; here it is one. Waits
are questions that need the GPU's answer, as `if mask.all()`. Steps are those of `snakemake
figures/all` that fine-tune or sweep, from a dry run; nothing is trained for them.
"""

import argparse
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import BertConfig, BertModel

from bertshift import naming
from bertshift.config import read_yaml
from bertshift.models.heads import (
    DependencyParser,
    SequenceClassifier,
    SpanClassifier,
    TokenClassifier,
)
from bertshift.models.shapes import shape_of_model
from bertshift.models.variants import apply_variants
from bertshift.planning import CostEstimate, dry_run, parse_options
from bertshift.requests import finetuning, sweeps
from bertshift.tasks.batching import Encoded
from bertshift.tasks.dependency_parsing import NONE, DependencyParsing
from bertshift.tasks.question_answering import AnswerSpans
from bertshift.tasks.tagging import Tagging
from bertshift.tasks.text_classification import TextClassification
from bertshift.training import log, loop
from bertshift.training.settings import TrainSettings

BATCH, STEPS, LABELS = 4, 4, ["a", "b", "c"]


def tag_words(tokens: int) -> list[tuple]:
    return [(word, word % 3) for word in range(1, tokens - 1)]


def attach_words(tokens: int) -> list[tuple]:
    """Make each word the dependent of the token before it."""
    return [(0, NONE, NONE), *((word, word - 1, word % 3) for word in range(1, tokens - 1))]


class Kind(NamedTuple):
    """A kind of task: its task, its model, and a function from an input's number of tokens to its
    target."""

    task: type
    build: Callable[[BertModel], nn.Module]
    target: Callable[[int], object]


KINDS = {
    "classification": Kind(
        TextClassification, partial(SequenceClassifier, outputs=3), lambda tokens: tokens % 3
    ),
    "regression": Kind(TextClassification, partial(SequenceClassifier, outputs=1), float),
    "spans": Kind(AnswerSpans, SpanClassifier, lambda tokens: (1, tokens - 2)),
    "tags": Kind(Tagging, partial(TokenClassifier, labels=LABELS), tag_words),
    "dependencies": Kind(
        DependencyParsing, partial(DependencyParser, labels=LABELS), attach_words
    ),
}
# Neither launches a kernel: views and empty memory. The last are what the CPU makes of a dropout
# besides one product.
FREE = {
    "view", "_unsafe_view", "t", "transpose", "permute", "expand", "slice", "select", "unsqueeze",
    "squeeze", "alias", "detach", "as_strided", "split", "split_with_sizes", "unbind",
    "lift_fresh", "empty", "empty_like", "new_empty", "_record_function_enter_new",
    "_record_function_exit", "bernoulli_", "div_",
}  # fmt: skip
WAITS = {
    "item",
    "tolist",
    "numpy",
    "cpu",
    "__bool__",
    "__float__",
    "__int__",
    "nonzero",
    "masked_select",
}


def count_tensors(batch: dict) -> int:
    return sum(isinstance(value, torch.Tensor) for value in batch.values())


def count_types(batch: dict) -> int:
    return len({value.dtype for value in batch.values() if isinstance(value, torch.Tensor)})


class Waits(TorchFunctionMode):
    def __init__(self, counts: Counter):
        super().__init__()
        self.counts = counts

    def __torch_function__(self, function, types, arguments=(), named=None):
        self.counts["waits"] += getattr(function, "__name__", "") in WAITS
        return function(*arguments, **(named or {}))


class Operations(TorchDispatchMode):
    def __init__(self, counts: Counter):
        super().__init__()
        self.counts = counts

    def __torch_dispatch__(self, operation, types, arguments=(), named=None):
        name = operation.overloadpacket.__name__
        # What transformers asks for in C++ terms shows here alone.
        self.counts["operations"] += name not in FREE and name != "_local_scalar_dense"
        return operation(*arguments, **(named or {}))


def ours(model, examples, collate, loss, precision: str, counts: Counter) -> list[Counter]:
    """Return the counts at the beginning of each step's forward pass."""
    marks = []

    def marking_loss(model, batch):
        marks.append(counts.copy())
        counts["copies"] += count_types(batch)  # `to_device` copies all tensors of a type at once
        return loss(model, batch)

    settings = TrainSettings(
        learning_rate=1e-5,
        batch_size=BATCH,
        steps=STEPS,
        precision=precision,
        norms_every=STEPS - 1,
        checkpoint_minutes=0,
    )
    log.STEPS_BETWEEN_READS = {"cpu": 1000}
    with tempfile.TemporaryDirectory() as folder, Waits(counts), Operations(counts):
        loop.train(model, examples, collate, marking_loss, settings, 0, Path(folder))
    return marks


def trainer(model, examples, collate, loss, precision: str, counts: Counter) -> list[Counter]:
    model.train()
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    matrices = [weight for weight in weights if weight.dim() > 1]
    vectors = [weight for weight in weights if weight.dim() == 1]
    groups = [
        {"params": matrices, "weight_decay": 0.01},
        {"params": vectors, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-5, fused=True)
    scheduler = LambdaLR(optimizer, lambda step: 1 - step / STEPS)
    total, marks = torch.zeros(()), []
    with Waits(counts), Operations(counts):
        for start in range(0, STEPS * BATCH, BATCH):
            batch = collate(examples[start : start + BATCH])
            marks.append(counts.copy())
            counts["copies"] += count_tensors(batch)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bfloat16"):
                value = loss(model, batch)
            value.backward()
            value = value.detach()
            # TrainingArguments.logging_nan_inf_filter
            if not (torch.isnan(value) or torch.isinf(value)):
                total += value
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    return marks


LOOPS = {"Trainer": trainer, "bertshift": ours}


def make_encoder(layers: int, variant: str) -> BertModel:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=100,
        hidden_size=24,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=48,
        attention_probs_dropout_prob=0.0,
    )
    encoder = BertModel(config)
    if variant:
        apply_variants(encoder, [naming.parse_variant(variant)], seed=0)
    return encoder


@cache
def count_step(
    route: str, kind: str, layers: int, variant: str, precision: str, norms_every: int
) -> Counter:
    """Count operations, waits and copies of a step on a padded batch, and of the norms that ours
    takes now and then."""
    task, build, target = KINDS[kind]
    encoder = make_encoder(layers, variant)
    lengths = [5, 7, 9, 6] * STEPS + [12]
    *examples, longest = [
        Encoded(list(range(5, 5 + length)), [0] * length, target(length)) for length in lengths
    ]

    def collate(members):
        return task.collate([*members[:-1], longest], pad_id=0)  # so that every batch is padded

    marks = LOOPS[route](build(encoder), examples, collate, task.loss, precision, Counter())
    plain = marks[2] - marks[1]
    if route != "bertshift" or not norms_every:
        return plain
    with_norms = marks[1] - marks[0]  # the first step has norms
    counts = Counter()
    for key in plain:
        counts[key] = plain[key] + (with_norms[key] - plain[key]) / norms_every
    return counts


class Training(NamedTuple):
    """What the counts of a step depend on."""

    kind: str
    layers: int
    variant: str
    norms_every: int


def count_trainings(scale: str) -> Counter:
    """Count the steps of all fine-tunings and sweeps of a dry run of figures/all."""
    os.chdir(ROOT)
    options = ["--config", f"scale={scale}"]
    jobs = dry_run("figures/all", "--cores", "1", *options)
    config, _ = parse_options(options)
    estimate = CostEstimate(config, read_yaml(ROOT / "config/costs.yaml"), has_gpu=True)
    steps = Counter()
    for job in jobs.values():
        runs = []
        if job.rule == "finetune":
            run = finetuning.trained_run(config, **job.wildcards)
            runs = [finetuning.settings_of_run(run, config)]
        if job.rule == "sweep":
            row = sweeps.row(config, **job.wildcards)
            runs = sweeps.settings_of_runs(config, row).values()
        for run in runs:
            settings = run["training"]
            rows, _ = estimate.split(run["task"], "train")
            partial_variants = [v for v in run["variants"] if v.startswith(("keep", "freeze"))]
            training = Training(
                run["task"]["kind"],
                shape_of_model(job.wildcards["model"], config, run["variants"]).layers,
                partial_variants[0] if partial_variants else "",
                settings["norms_every"],
            )
            steps[training] += math.ceil(rows / settings["batch_size"]) * settings["epochs"]
    return steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--precision", default="bfloat16", choices=["bfloat16", "float32"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    print(f"One step, 12 layers, {arguments.precision}")
    print(f"{'kind':16}{'loop':12}{'operations':>12}{'waits':>8}{'copies':>8}")
    for kind in KINDS:
        for route in LOOPS:
            counts = count_step(route, kind, 12, "", arguments.precision, 10)
            print(
                f"{kind:16}{route:12}{counts['operations']:12.0f}{counts['waits']:8.0f}"
                f"{counts['copies']:8.0f}"
            )

    steps = count_trainings(arguments.scale)
    print(f"\nAll {sum(steps.values()):,.0f} steps of training at scale {arguments.scale}")
    for route in LOOPS:
        total: Counter = Counter()
        for (kind, layers, variant, norms_every), number in steps.items():
            counts = count_step(route, kind, layers, variant, arguments.precision, norms_every)
            total += Counter({key: count * number for key, count in counts.items()})
        print(
            f"{route:12} operations {total['operations']:.3g}  waits {total['waits']:.3g}"
            f"  copies {total['copies']:.3g}"
        )


if __name__ == "__main__":
    main()
