"""A GPU's memory: the number of processes that fit, and smaller batches where it runs out."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import TypeVar

import torch

from bertshift.errors import UserError

Members = TypeVar("Members", bound=Sequence)
Result = TypeVar("Result")

# The share of the free memory that stays free, and the bytes that a process takes before it
# computes: CUDA's kernels and libraries.
MARGIN, OVERHEAD = 0.1, 1e9

_inside = ContextVar("_inside", default=False)


def free_bytes() -> int:
    """Measure the GPU's free memory in bytes, with what torch keeps for later; 0 without a GPU."""
    torch.cuda.empty_cache()
    return torch.cuda.mem_get_info()[0] if torch.cuda.is_available() else 0


def how_many_fit(free: float, each: float, most: int) -> int:
    """Count the processes of `each` bytes that `free` bytes hold side by side: at least 1, at most
    `most`."""
    number = int((1 - MARGIN) * free / (each + OVERHEAD))
    return max(1, min(most, number))


def in_parts(
    batches: Iterable[Members], compute: Callable[[Members], Result], title: str
) -> Iterator[tuple[Members, Result]]:
    """Yield each batch with the result of `compute`; once memory runs out, parts of each batch,
    half as large each time.

    `compute` may be called again for members it has failed on. Inside it, other calls of this
    function divide nothing: a batch that runs out of memory there is divided by the outer call.
    UserError where a single member is too much.
    """
    if _inside.get():
        yield from ((batch, compute(batch)) for batch in batches)
        return
    parts = 1
    for batch in batches:
        done = 0
        while done < len(batch):
            part = batch[done : done + math.ceil(len(batch) / parts)]
            fits, result = _try_to_compute(compute, part)
            if fits:
                yield part, result
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
    """Move `values` to the device, or leave them where they are if a GPU would have less than
    MARGIN of its free memory left to compute with: then the caller moves parts as needed."""
    if device.type != "cuda" or values.nbytes <= (1 - MARGIN) * free_bytes():
        return values.to(device)
    gb = values.nbytes / 1e9
    print(
        f"{title}: {gb:.1f} GB do not fit into the GPU's memory: each batch is copied there",
        file=sys.stderr,
    )
    return values


def _try_to_compute(
    compute: Callable[[Members], Result], part: Members
) -> tuple[bool, Result | None]:
    """Return (True, result), or (False, None) where memory runs out. The memory of a failed call
    is free only after this function has returned."""
    token = _inside.set(True)
    try:
        return True, compute(part)
    except torch.cuda.OutOfMemoryError:
        return False, None
    finally:
        _inside.reset(token)
