"""A GPU's memory: how much fits, and going on where it does not suffice for a batch."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import TypeVar

import torch

from bertshift.errors import UserError

Members = TypeVar("Members", bound=Sequence)
Result = TypeVar("Result")

# Some of the free memory stays so; a process takes this much before it computes: CUDA's kernels
# and libraries.
MARGIN, OVERHEAD = 0.1, 1e9

_inside = ContextVar("_inside", default=False)


def free_bytes() -> int:
    """Measure the GPU's free memory in bytes; 0 without a GPU."""
    return torch.cuda.mem_get_info()[0] if torch.cuda.is_available() else 0


def how_many_fit(free: float, each: float, most: int) -> int:
    """Count the processes of `each` bytes that `free` bytes hold side by side: at least 1, at most
    `most`."""
    return max(1, min(most, int((1 - MARGIN) * free / (each + OVERHEAD))))


def in_parts(
    batches: Iterable[Members], compute: Callable[[Members], Result], title: str
) -> Iterator[tuple[Members, Result]]:
    """Compute each batch, and yield it with what `compute` makes of it; once memory runs out,
    parts of each batch, half as large each time.

    `compute` may be called again for members it has failed on. Inside it, other calls of this
    function divide nothing: what runs out of memory in there is divided out here. UserError where
    a single member is too much.
    """
    if _inside.get():
        yield from ((batch, compute(batch)) for batch in batches)
        return
    parts = 1
    for batch in batches:
        done = 0
        while done < len(batch):
            part = batch[done : done + math.ceil(len(batch) / parts)]
            found = _unless_memory_runs_out(compute, part)
            if found is not None:
                yield part, found[0]
                done += len(part)
            elif len(part) == 1:
                raise UserError(
                    f"{title}: one input is more than the GPU's memory holds; write a smaller"
                    " max_length, or leave the GPU to this job alone."
                )
            else:
                parts *= 2
                torch.cuda.empty_cache()
                print(
                    f"{title}: out of memory at batches of {len(part)}: going on with"
                    f" {math.ceil(len(batch) / parts)}",
                    file=sys.stderr,
                )


def on_device(values: torch.Tensor, device: torch.device, title: str) -> torch.Tensor:
    """Move `values` to the device, or leave them where they are if its memory does not hold them:
    parts are to be moved as needed."""
    try:
        return values.to(device)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        gb = values.nbytes / 1e9
        print(
            f"{title}: {gb:.1f} GB do not fit into the GPU's memory: each batch is copied there",
            file=sys.stderr,
        )
        return values


def _unless_memory_runs_out(
    compute: Callable[[Members], Result], part: Members
) -> tuple[Result] | None:
    # A function of its own: what the failed call had allocated is free when it has returned, and
    # not before.
    token = _inside.set(True)
    try:
        return (compute(part),)
    except torch.cuda.OutOfMemoryError:
        return None
    finally:
        _inside.reset(token)
