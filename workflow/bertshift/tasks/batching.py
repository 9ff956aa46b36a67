from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

IGNORED = -100


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example as the encoder reads it: real tokens only, special ones included, no padding."""

    input_ids: list[int]
    token_type_ids: list[int]
    target: Any = None

    def __len__(self) -> int:
        return len(self.input_ids)


def length_bucketed(
    lengths: Sequence[int], batch_size: int, generator: np.random.Generator, pool: int = 1024
) -> list[list[int]]:
    """Group the indices of `lengths` into batches of examples about equally long, in random order.

    A random draw of `pool` batches is sorted by length (ties in random order) and cut; every index
    occurs once. Data that fit one pool are sorted as one. Only one batch can be smaller than
    `batch_size`.
    """
    lengths = np.asarray(lengths)
    order = generator.permutation(len(lengths))
    pool_size = pool * batch_size
    batches = []
    for pool_start in range(0, len(order), pool_size):
        members = order[pool_start : pool_start + pool_size]
        members = members[np.argsort(lengths[members], kind="stable")]
        # Cut from the shortest up: the incomplete batch gets the longest examples, whose lengths
        # are sparsest.
        for start in range(0, len(members), batch_size):
            batches.append(members[start : start + batch_size].tolist())
    return [batches[index] for index in generator.permutation(len(batches))]


def pad(encoded: Sequence[Encoded], pad_id: int) -> dict[str, Tensor | None]:
    """Pad inputs for an encoder: input_ids, token_type_ids and attention_mask, each
    [batch, longest] int64.

    attention_mask is None where nothing is padded, because attention runs on its fastest kernels
    without a mask.
    """
    lengths = [len(example) for example in encoded]
    longest = max(lengths)
    mask = None
    if min(lengths) < longest:
        mask = torch.tensor([[1] * length + [0] * (longest - length) for length in lengths])
    input_ids, token_type_ids = [], []
    for example in encoded:
        padding = longest - len(example)
        input_ids.append(example.input_ids + [pad_id] * padding)
        token_type_ids.append(example.token_type_ids + [0] * padding)
    return {
        "input_ids": torch.tensor(input_ids),
        "token_type_ids": torch.tensor(token_type_ids),
        "attention_mask": mask,
    }


def cross_entropy(logits: Tensor, targets: Tensor, all_targets: Tensor | None = None) -> Tensor:
    """Average the cross-entropy over the targets that are not IGNORED.

    If `targets` are a part of `all_targets`, divide the sum by the number of all targets that are
    not IGNORED. So the values of the parts add up to the mean.
    """
    if all_targets is None:
        return F.cross_entropy(logits, targets)
    total = F.cross_entropy(logits, targets, reduction="sum")
    return total / (all_targets != IGNORED).sum().item()


def scale_to_batch(loss: Tensor, targets: Tensor, full_batch: dict | None) -> Tensor:
    """Scale the mean loss of a part of `full_batch`, if there is one, so that the values of the
    parts add up to the mean."""
    if full_batch is None:
        return loss
    return loss * (len(targets) / len(full_batch["targets"]))
