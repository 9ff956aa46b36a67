import json
import math
import signal
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.files import write_tsv
from bertshift.models.family import groups
from bertshift.running import checkpoint
from bertshift.seeds import seed_from
from bertshift.tasks.batching import Encoded, length_bucketed
from bertshift.training.forward import copies_of, forward_pass, to_device
from bertshift.training.optimizers import build_optimizer
from bertshift.training.schedules import SCHEDULE
from bertshift.training.settings import TrainSettings

PROGRESS_SECONDS = 5.0
# Reading a loss waits for the GPU to catch up, so on a GPU that is done for many steps at once.
STEPS_BETWEEN_READS = {"cpu": 1, "cuda": 100}


def train(
    model: nn.Module,
    examples: Sequence[Encoded],
    collate: Callable[[Sequence[Encoded]], dict],
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

    `collate` makes a batch (a dict of CPU tensors and other values) and `loss(model, batch)` its
    scalar mean loss; `loss(model, part, batch)` is what a batch's part, which `collate` made of
    some of its examples, adds to that. Epoch 0 reads `examples`; epoch e > 0 reads new_epoch(e)
    where that is given, else `examples` again. Batches depend on `seed` and the epoch alone,
    dropout on `seed` and the step.

    Where `snapshots` are given, training ends with the last of these numbers of steps, by the
    schedule of the whole training. The weights after so many steps are written into each number's
    file (`checkpoint.weights` reads them).

    Writes run_dir/steps.tsv (step from 1, loss, learning_rate) and run_dir/layers.tsv (step,
    layer, and the L2 norms gradient_norm before clipping, update_norm, distance_from_start). A run
    that was killed goes on from run_dir/.checkpoint and ends with the same weights and files as
    one that was not (bit for bit on the CPU); a checkpoint of other settings, code, data or
    starting weights is ignored with a message. On SIGTERM the run writes a checkpoint and exits
    with status 143. Where memory does not suffice for a batch, it is learnt from part by part,
    with the same gradient, as are all later ones; the log says so.

    Raises UserError for an empty training set, a model without trainable parameters, a loss that
    is NaN or infinite, and a single example that is too much for the memory.
    """
    run_dir = Path(run_dir)
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
    snapshots = snapshots or {}
    last = max(snapshots, default=total)
    fingerprint = _fingerprint(model, examples, settings, seed, total, device, autocast_to)
    norms = LayerNorms(model) if settings.norms_every else None
    optimizer = build_optimizer(model, settings)
    trainable = [weight for group in optimizer.param_groups for weight in group["params"]]
    factor = SCHEDULE[settings.schedule]

    saved_at = run_dir / ".checkpoint"
    log = _Log(run_dir, total)
    # Updates made; the batch that comes next; how many examples pass through at a time.
    at = SimpleNamespace(step=0, epoch=0, batch=0, part=settings.batch_size)

    def save() -> None:
        state = {
            **vars(at),
            **log.state(),
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
        }
        checkpoint.save(saved_at, fingerprint, state)

    def keep_snapshot() -> None:
        if at.step in snapshots:
            checkpoint.save(snapshots[at.step], fingerprint, {"model": model.state_dict()})

    def resume(state: dict) -> None:
        vars(at).update({key: state.get(key, value) for key, value in vars(at).items()})
        log.resume(state, device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        if device.type == "cuda":
            torch.cuda.set_rng_state(state["random_cuda"], device)

    def loss_of(batch: dict, *whole: dict) -> Tensor:
        """Calculate a batch's loss, and add the gradients up in the parameters."""
        value = compute(to_device(batch, device), *whole)
        value.backward()
        return value.detach()

    def loss_by_parts(members: list[Encoded]) -> Tensor | None:
        """Calculate the loss of these examples, part by part. None where memory runs out; all that
        was allocated is free again when this has returned."""
        batch = collate(members)
        try:
            if len(members) <= at.part:
                return loss_of(batch)
            starts = range(0, len(members), at.part)
            return sum(
                loss_of(collate(members[start : start + at.part]), batch) for start in starts
            )
        except torch.cuda.OutOfMemoryError:
            return None

    def learn_from(members: list[Encoded]) -> Tensor:
        while (value := loss_by_parts(members)) is None:
            size = min(at.part, len(members))
            if size == 1:
                raise UserError(
                    f"one example of {run_dir} is more than the GPU's memory holds; write a"
                    " smaller max_length, set precision to bfloat16, or leave the GPU to this job"
                    " alone (sweeps.runs_at_once 1)."
                )
            at.part = math.ceil(size / 2)
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            # Some of it was drawn in vain.
            torch.manual_seed(seed_from(seed, "dropout", at.step, at.part))
            print(
                f"{_title(run_dir)}: out of memory at batches of {size}: going on with "
                f"{math.ceil(settings.batch_size / at.part)} x {at.part}",
                file=sys.stderr,
            )
        return value

    with (
        _own_random_state(device),
        _told_to_stop() as told_to_stop,
        forward_pass(model, loss, autocast_to) as compute,
    ):
        torch.manual_seed(seed_from(seed, "dropout"))
        state = checkpoint.load(saved_at, fingerprint)
        if state is not None and all(
            checkpoint.load(file, fingerprint)
            for step, file in snapshots.items()
            if step <= state["step"]
        ):
            resume(state)
            print(f"{_title(run_dir)}: resuming after step {at.step} of {total}", file=sys.stderr)
        else:
            keep_snapshot()
        del state
        progress = _Progress(_title(run_dir), at.step, last)
        saved = time.monotonic()

        while at.step < last:
            if at.epoch and new_epoch is not None:
                examples = new_epoch(at.epoch)
            generator = np.random.default_rng(seed_from(seed, "batches", at.epoch))
            batches = length_bucketed(
                [len(example) for example in examples], settings.batch_size, generator
            )
            for members in batches[at.batch : at.batch + last - at.step]:
                rate = settings.learning_rate * factor(at.step, total, settings.warmup)
                log.add(learn_from([examples[i] for i in members]), rate)
                at.step += 1
                at.batch += 1
                with_norms = norms and (
                    at.step % settings.norms_every == 0 or at.step in (1, total)
                )
                before = norms.before_update() if with_norms else None
                if settings.max_grad_norm:
                    nn.utils.clip_grad_norm_(trainable, settings.max_grad_norm, foreach=True)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                if with_norms:
                    log.norms.append(norms.after_update(at.step, before))
                keep_snapshot()

                if progress.is_due(len(members)):
                    progress.show(at.step, log.last_loss())
                if told_to_stop():
                    save()
                    print(
                        f"{_title(run_dir)}: told to stop, saved step {at.step} of {total}",
                        file=sys.stderr,
                    )
                    raise SystemExit(128 + signal.SIGTERM)
                if (
                    0 < settings.checkpoint_minutes * 60 <= time.monotonic() - saved
                    and at.step < total
                ):
                    save()
                    saved = time.monotonic()
            at.epoch, at.batch = at.epoch + 1, 0
            if (
                settings.plateau
                and at.step < total
                and on_plateau(log.read(), len(batches), settings.plateau)
            ):
                break

    model.eval()
    log.write(norms.layers if norms else [])
    checkpoint.remove(saved_at)


def on_plateau(losses: Sequence[float], epoch: int, improvement: float) -> bool:
    """Test whether the mean of the last `epoch` losses is less than `improvement` (a share) below
    that of two epochs before."""
    means = np.reshape(losses, (-1, epoch)).mean(1)
    return len(means) > 2 and bool(means[-1] > (1 - improvement) * means[-3])


def layer_groups(model: nn.Module) -> dict[str, list[nn.Parameter]]:
    """Group the parameters by where they sit: "embeddings", "1" to "L", "pooler" and "head" (all
    others); none is empty."""
    encoder = (
        model.base_model if isinstance(model, PreTrainedModel) else getattr(model, "encoder", None)
    )
    found = {} if encoder is None else groups(encoder)
    own = {id(weight) for weights in found.values() for weight in weights}
    layers = sorted((key for key in found if key.isdecimal()), key=int)
    rest = [weight for weight in model.parameters() if id(weight) not in own]
    rest += [
        weight
        for key, weights in found.items()
        if key not in ("embeddings", "pooler", *layers)
        for weight in weights
    ]
    parts = {key: found.get(key, []) for key in ("embeddings", *layers, "pooler")} | {"head": rest}
    return {key: weights for key, weights in parts.items() if weights}


def autocast_dtype(precision: str, device: torch.device) -> torch.dtype | None:
    """Choose bfloat16 where asked for, or with "auto" where the GPU computes in it; None is
    float32 throughout."""
    if precision == "float32":
        return None
    able = device.type == "cpu" or torch.cuda.is_bf16_supported(including_emulation=False)
    if precision == "bfloat16" and not able:
        raise UserError(
            "precision is bfloat16, but this GPU does not compute in it; write auto or float32"
            " instead."
        )
    return torch.bfloat16 if able and (precision == "bfloat16" or device.type == "cuda") else None


class LayerNorms:
    """L2 norms per layer of gradient, update and distance from the start, accumulated in float64.

    The parameters at construction are the start. Nothing here waits for the GPU.
    """

    def __init__(self, model: nn.Module):
        groups = layer_groups(model)
        self.layers = list(groups)
        members = [
            (number, weight)
            for number, weights in enumerate(groups.values())
            for weight in weights
            if weight.requires_grad  # a frozen one has norm 0 throughout
        ]
        self.weights = [weight for _, weight in members]
        with torch.no_grad():
            self.start = self._copy()
        device = self.weights[0].device
        self.group_of = torch.tensor([number for number, _ in members], device=device)

    def _copy(self) -> tuple[Tensor, ...]:
        return copies_of(self.weights, [weight.dtype for weight in self.weights])

    def _norms(self, tensors: list[Tensor]) -> Tensor:
        squares = torch.stack(torch._foreach_norm(tensors, 2, dtype=torch.float64)).square()
        zeros = torch.zeros(len(self.layers), dtype=torch.float64, device=squares.device)
        return zeros.index_add_(0, self.group_of, squares).sqrt()

    @torch.no_grad()
    def before_update(self) -> tuple[Tensor, Sequence[Tensor]]:
        gradients = [
            weight.new_zeros(()) if weight.grad is None else weight.grad for weight in self.weights
        ]
        return self._norms(gradients), self._copy()

    @torch.no_grad()
    def after_update(self, step: int, before: tuple[Tensor, Sequence[Tensor]]) -> Tensor:
        gradient, weights = before
        now = [weight.detach() for weight in self.weights]
        update = self._norms(torch._foreach_sub(now, weights))
        distance = self._norms(torch._foreach_sub(now, self.start))
        return torch.cat([gradient.new_full((1,), step), gradient, update, distance])


class _Log:
    """The rows of steps.tsv and layers.tsv, until they are written."""

    def __init__(self, run_dir: Path, total: int):
        self.run_dir, self.total = run_dir, total
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.unread: list[Tensor] = []
        # Each [1 + 3 * layers] float64: the step, then gradient norms, update norms and distances.
        self.norms: list[Tensor] = []

    def add(self, loss: Tensor, rate: float) -> None:
        self.rates.append(rate)
        self.unread.append(loss.float())
        if len(self.unread) >= STEPS_BETWEEN_READS[loss.device.type]:
            self.read()

    def read(self) -> list[float]:
        """Read all losses so far; waits for the GPU."""
        if not self.unread:
            return self.losses
        values = torch.stack(self.unread).tolist()
        self.unread.clear()
        for value in values:
            if not math.isfinite(value):
                raise UserError(
                    f"the loss of {self.run_dir} is {value} at step {len(self.losses) + 1} of"
                    f" {self.total}, at learning rate {self.rates[len(self.losses)]:g}; lower"
                    " learning_rate, raise warmup, or set precision to float32."
                )
            self.losses.append(value)
        return self.losses

    def last_loss(self) -> float:
        return self.read()[-1]

    def state(self) -> dict:
        self.read()
        return {
            "steps": torch.tensor([self.losses, self.rates], dtype=torch.float64),
            "norms": torch.stack(self.norms) if self.norms else None,
        }

    def resume(self, state: dict, device: torch.device) -> None:
        self.losses, self.rates = state["steps"].tolist()
        self.norms = [] if state["norms"] is None else list(state["norms"].to(device).unbind())

    def write(self, layers: list[str]) -> None:
        self.read()
        steps = {
            "step": range(1, len(self.losses) + 1),
            "loss": self.losses,
            "learning_rate": self.rates,
        }
        write_tsv(self.run_dir / "steps.tsv", pd.DataFrame(steps))
        rows = torch.stack(self.norms).cpu().numpy() if self.norms else np.zeros((0, 1))
        norms = rows[:, 1:].reshape(len(rows), 3, len(layers))
        columns = {
            "step": np.repeat(rows[:, 0].astype(int), len(layers)),
            "layer": layers * len(rows),
            "gradient_norm": norms[:, 0].ravel(),
            "update_norm": norms[:, 1].ravel(),
            "distance_from_start": norms[:, 2].ravel(),
        }
        write_tsv(self.run_dir / "layers.tsv", pd.DataFrame(columns))


def _fingerprint(model, examples, settings, seed, total, device, autocast_to) -> str:
    """Digest what a checkpoint has to match: equal exactly for runs that must end alike."""
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
    with torch.random.fork_rng(
        devices=[torch.cuda.current_device()] if device.type == "cuda" else []
    ):
        yield


@contextmanager
def _told_to_stop() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether SIGTERM has come (cluster schedulers send it before they
    kill)."""
    told = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield told.is_set  # only the main thread may set handlers
        return
    previous = signal.signal(signal.SIGTERM, lambda *_: told.set())
    try:
        yield told.is_set
    finally:
        signal.signal(signal.SIGTERM, previous)


def _title(run_dir: Path) -> str:
    return "/".join(run_dir.parts[-2:])


class _Progress:
    """A line on stderr every few seconds."""

    def __init__(self, title: str, step: int, total: int):
        self.title, self.first, self.total = title, step, total
        self.started = self.shown = time.monotonic()
        self.examples = 0

    def is_due(self, examples: int) -> bool:
        self.examples += examples
        return time.monotonic() - self.shown >= PROGRESS_SECONDS

    def show(self, step: int, loss: float) -> None:
        self.shown = time.monotonic()
        seconds = self.shown - self.started
        left = timedelta(seconds=round(seconds / (step - self.first) * (self.total - step)))
        print(
            f"{self.title}: step {step}/{self.total}  loss {loss:.4f}  "
            f"{self.examples / seconds:.0f} examples/s  {left} left",
            file=sys.stderr,
            flush=True,
        )
