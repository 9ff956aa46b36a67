"""The training loop of all tasks and of pretraining: resumable, and bit for bit the same when
resumed on a CPU."""

import json
import math
import signal
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from bertshift.errors import UserError
from bertshift.running import checkpoint
from bertshift.running.progress import TrainingLines
from bertshift.seeds import seed_from
from bertshift.tasks.batching import Encoded, length_bucketed
from bertshift.training.forward import forward_pass, to_device
from bertshift.training.log import Log
from bertshift.training.norms import LayerNorms
from bertshift.training.optimizers import build_optimizer
from bertshift.training.schedules import SCHEDULE
from bertshift.training.settings import TrainSettings

Collate = Callable[[Sequence[Encoded]], dict]
CHECKPOINT = ".checkpoint"  # in a run's folder
# The attributes of Training that a checkpoint saves.
POSITION = ("step", "epoch", "batch", "part")


def train(
    model: nn.Module,
    examples: Sequence[Encoded],
    collate: Collate,
    loss: Callable[[nn.Module, dict], Tensor],
    settings: TrainSettings,
    seed: int,
    run_dir: Path,
    *,
    new_epoch: Callable[[int], Sequence[Encoded]] | None = None,
    snapshots: Mapping[int, Path] | None = None,
) -> None:
    """Train `model` in place on the GPU if there is one; afterwards it is in evaluation mode on
    that device.

    Batches depend on `seed` and the epoch alone, dropout on `seed` and the step.

    examples: read in epoch 0, and in all others unless `new_epoch` is given
    collate: makes a batch of examples, a dict of CPU tensors and other values
    loss: loss(model, batch) is the batch's scalar mean loss; loss(model, part, batch) is the
        contribution to it of a part of the batch, which `collate` made of some of its examples
    new_epoch: e -> the examples of epoch e > 0
    snapshots: files by numbers of steps; the weights after each number are written to its file
        (`checkpoint.weights` reads them), and training ends with the last, by the schedule of the
        full training

    Writes run_dir/steps.tsv (step from 1, loss, learning_rate) and run_dir/layers.tsv (step,
    layer, and the L2 norms gradient_norm before clipping, update_norm, distance_from_start). A run
    that was killed resumes from run_dir/.checkpoint and ends with the same weights and files as
    one that was not (bit for bit on the CPU); a checkpoint of other settings, code, data or
    starting weights is ignored with a message. It stays until `remove_checkpoint` is called. On
    SIGTERM the run writes a checkpoint and exits with status 143. A batch that does not fit in
    memory is split into parts, with the same gradient, as are all later batches; a message says
    so.

    UserError for an empty training set, a model without trainable parameters, a loss that is NaN
    or infinite, and a single example that does not fit in memory.
    """
    run_dir = Path(run_dir)
    snapshots = snapshots or {}
    if not len(examples):
        raise UserError(
            f"the training set of {run_dir} is empty; check that its data file has rows of split"
            " train."
        )
    if not any(weight.requires_grad for weight in model.parameters()):
        raise UserError(
            f"every parameter of the model for {run_dir} is frozen; freeze fewer layers."
        )

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    autocast_to = autocast_dtype(settings.precision, device)
    model.to(device).train()
    total = settings.total_steps(math.ceil(len(examples) / settings.batch_size))
    fingerprint = _fingerprint(model, examples, settings, seed, total, device, autocast_to)
    with (
        _own_random_state(device),
        _catch_sigterm() as sigterm_received,
        forward_pass(model, loss, autocast_to) as compute,
    ):
        torch.manual_seed(seed_from(seed, "dropout"))
        training = Training(model, compute, collate, settings, seed, total, run_dir, fingerprint)
        training.begin(snapshots)
        last = max(snapshots, default=total)
        progress = TrainingLines(training.title, training.step, last)
        for members in training.batches(examples, new_epoch, last):
            training.make_step(members)
            training.keep_snapshot(snapshots)
            progress.add(len(members))
            if progress.is_due():
                last_loss = training.log.read()[-1]
                progress.tell_step(training.step, last_loss)
            if sigterm_received():
                training.save()
                print(
                    f"{training.title}: told to stop, saved step {training.step} of {total}",
                    file=sys.stderr,
                )
                raise SystemExit(128 + signal.SIGTERM)
            training.save_if_due()
    model.eval()
    training.log.write(training.norms.layers if training.norms else [])


def remove_checkpoint(run_dir: Path) -> None:
    """Remove the checkpoint of a training once all that is made of its model is written: a job
    that is killed before that, as while the model is scored, does not train again from step 0."""
    checkpoint.remove(Path(run_dir) / CHECKPOINT)


@dataclass(eq=False)
class Training:
    """A model in training and its position: the number `step` of updates, the next `batch` of
    `epoch`, and the number `part` of examples in a forward pass.

    compute: `forward_pass` of the model's loss
    total: steps of the schedule
    fingerprint: a checkpoint has to match it
    """

    model: nn.Module
    compute: Callable[..., Tensor]
    collate: Collate
    settings: TrainSettings
    seed: int
    total: int
    run_dir: Path
    fingerprint: str

    def __post_init__(self):
        self.step = self.epoch = self.batch = 0
        self.part = self.settings.batch_size
        self.title = "/".join(self.run_dir.parts[-2:])
        self.saved_at = self.run_dir / CHECKPOINT
        self.device = next(self.model.parameters()).device
        self.norms = LayerNorms(self.model) if self.settings.norms_every else None
        self.optimizer = build_optimizer(self.model, self.settings)
        groups = self.optimizer.param_groups
        self.trainable = [weight for group in groups for weight in group["params"]]
        self.log = Log(self.run_dir, self.total)
        self.last_save = time.monotonic()

    def begin(self, snapshots: Mapping[int, Path]) -> None:
        """Resume from a checkpoint if there is one, with all snapshots up to it; else start."""
        state = checkpoint.load(self.saved_at, self.fingerprint)
        if state:
            written = [file for step, file in snapshots.items() if step <= state["step"]]
            if all(checkpoint.load(file, self.fingerprint) for file in written):
                self.resume(state)
                print(
                    f"{self.title}: resuming after step {self.step} of {self.total}",
                    file=sys.stderr,
                )
                return
        self.keep_snapshot(snapshots)

    def save(self) -> None:
        on_gpu = self.device.type == "cuda"
        state = {
            **{name: getattr(self, name) for name in POSITION},
            **self.log.state(),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state(self.device) if on_gpu else None,
        }
        checkpoint.save(self.saved_at, self.fingerprint, state)
        self.last_save = time.monotonic()

    def save_if_due(self) -> None:
        interval = self.settings.checkpoint_minutes * 60
        since_last_save = time.monotonic() - self.last_save
        if 0 < interval <= since_last_save and self.step < self.total:
            self.save()

    def resume(self, state: dict) -> None:
        for name in POSITION:
            setattr(self, name, state.get(name, getattr(self, name)))
        self.log.resume(state, self.device)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(state["random_cuda"], self.device)

    def keep_snapshot(self, snapshots: Mapping[int, Path]) -> None:
        if self.step in snapshots:
            weights = {"model": self.model.state_dict()}
            checkpoint.save(snapshots[self.step], self.fingerprint, weights)

    def batches(
        self,
        examples: Sequence[Encoded],
        new_epoch: Callable[[int], Sequence[Encoded]] | None,
        last: int,
    ) -> Iterator[list[Encoded]]:
        """Yield batches, epoch by epoch, up to step `last` or a plateau of the loss."""
        while self.step < last:
            if self.epoch and new_epoch is not None:
                examples = new_epoch(self.epoch)
            lengths = [len(example) for example in examples]
            generator = np.random.default_rng(seed_from(self.seed, "batches", self.epoch))
            batches = length_bucketed(lengths, self.settings.batch_size, generator)
            for members in batches[self.batch : self.batch + last - self.step]:
                yield [examples[i] for i in members]
            self.epoch += 1
            self.batch = 0
            plateau = self.settings.plateau
            if not plateau or self.step >= self.total:
                continue
            if on_plateau(self.log.read(), len(batches), plateau):
                return

    def make_step(self, members: list[Encoded]) -> None:
        """Update the weights once, by the gradient of these examples' loss."""
        settings = self.settings
        schedule = SCHEDULE[settings.schedule]
        rate = settings.learning_rate * schedule(self.step, self.total, settings.warmup)
        self.log.add(self.learn_from(members), rate)
        self.step += 1
        self.batch += 1
        norms = self.norms if self._norms_are_due() else None
        before = norms.before_update() if norms else None
        if settings.max_grad_norm:
            nn.utils.clip_grad_norm_(self.trainable, settings.max_grad_norm, foreach=True)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if norms:
            self.log.norms.append(norms.after_update(self.step, before))

    def _norms_are_due(self) -> bool:
        every = self.settings.norms_every
        return bool(every) and (self.step % every == 0 or self.step in (1, self.total))

    def learn_from(self, members: list[Encoded]) -> Tensor:
        """Accumulate the gradient of these examples' loss in the parameters, in smaller parts
        where memory runs out. Return the loss."""
        while (value := self._loss_by_parts(members)) is None:
            size = min(self.part, len(members))
            if size == 1:
                raise UserError(
                    f"one example of {self.run_dir} is more than the GPU's memory holds; write a"
                    " smaller max_length, set precision to bfloat16, or leave the GPU to this job"
                    " alone (sweeps.runs_at_once 1)."
                )
            self.part = math.ceil(size / 2)
            self.optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            # The failed attempt has drawn some dropout masks.
            torch.manual_seed(seed_from(self.seed, "dropout", self.step, self.part))
            print(
                f"{self.title}: out of memory at batches of {size}: going on with "
                f"{math.ceil(self.settings.batch_size / self.part)} x {self.part}",
                file=sys.stderr,
            )
        return value

    def _loss_by_parts(self, members: list[Encoded]) -> Tensor | None:
        """Calculate the loss of these examples, part by part. None where memory runs out. It is a
        method of its own, so that its tensors are freed when it returns."""
        batch = self.collate(members)
        try:
            if len(members) <= self.part:
                return self._loss(batch)
            starts = range(0, len(members), self.part)
            parts = (members[start : start + self.part] for start in starts)
            return sum(self._loss(self.collate(part), batch) for part in parts)
        except torch.cuda.OutOfMemoryError:
            return None

    def _loss(self, batch: dict, *full_batch: dict) -> Tensor:
        """Calculate a batch's loss, and accumulate its gradient in the parameters."""
        loss = self.compute(to_device(batch, self.device), *full_batch)
        loss.backward()
        return loss.detach()


def on_plateau(losses: Sequence[float], epoch: int, improvement: float) -> bool:
    """Test whether the mean of the last `epoch` losses is less than `improvement` (a share) below
    the mean of two epochs before."""
    means = np.reshape(losses, (-1, epoch)).mean(1)
    return len(means) > 2 and bool(means[-1] > (1 - improvement) * means[-3])


def autocast_dtype(precision: str, device: torch.device) -> torch.dtype | None:
    """Choose bfloat16 for that precision, or for "auto" where the GPU computes in it; None is
    float32 throughout."""
    if precision == "float32" or (precision == "auto" and device.type == "cpu"):
        return None
    if device.type == "cpu" or torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    if precision == "bfloat16":
        raise UserError(
            "precision is bfloat16, but this GPU does not compute in it; write auto or float32"
            " instead."
        )
    return None


def _fingerprint(
    model: nn.Module,
    examples: Sequence[Encoded],
    settings: TrainSettings,
    seed: int,
    total: int,
    device: torch.device,
    autocast_to: torch.dtype | None,
) -> str:
    """Digest all that a run's result depends on, which a checkpoint has to match."""
    data = blake2b(digest_size=16)
    for example in examples:
        data.update(array("q", example.input_ids).tobytes())
        data.update(array("q", example.token_type_ids).tobytes())
        data.update(repr(example.target).encode())
    return json.dumps(
        {
            "settings": settings.result_settings(),
            "seed": seed,
            "total": total,
            "device": device.type,
            "autocast": str(autocast_to),
            "weights": checkpoint.weights_digest(model),
            "data": data.hexdigest(),
        },
        sort_keys=True,
    )


@contextmanager
def _own_random_state(device: torch.device) -> Iterator[None]:
    gpus = [torch.cuda.current_device()] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        yield


@contextmanager
def _catch_sigterm() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether SIGTERM was received (cluster schedulers send it
    before they kill)."""
    received = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield received.is_set  # only the main thread may set handlers
        return
    previous = signal.signal(signal.SIGTERM, lambda *_: received.set())
    try:
        yield received.is_set
    finally:
        signal.signal(signal.SIGTERM, previous)
