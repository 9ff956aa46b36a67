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
    occurs once. Data that fit one pool are sorted whole. Only one batch can be smaller than
    `batch_size`.
    """
    lengths = np.asarray(lengths)
    order = generator.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), pool * batch_size):
        members = order[start : start + pool * batch_size]
        members = members[np.argsort(lengths[members], kind="stable")]
        # Cut from the shortest up: the incomplete batch falls on the longest examples, whose
        # lengths are sparsest.
        batches += [
            members[i : i + batch_size].tolist() for i in range(0, len(members), batch_size)
        ]
    return [batches[i] for i in generator.permutation(len(batches))]


def pad(encoded: Sequence[Encoded], pad_id: int) -> dict[str, Tensor | None]:
    """Pad inputs for an encoder: input_ids, token_type_ids and attention_mask, each [batch,
    longest] int64.

    attention_mask is None where nothing is padded, because attention runs on its fastest kernels
    without a mask.
    """
    longest = max(map(len, encoded))
    gaps = [longest - len(example) for example in encoded]
    if not any(gaps):
        return {
            "input_ids": torch.tensor([example.input_ids for example in encoded]),
            "token_type_ids": torch.tensor([example.token_type_ids for example in encoded]),
            "attention_mask": None,
        }
    pairs = list(zip(encoded, gaps, strict=True))
    return {
        "input_ids": torch.tensor([example.input_ids + [pad_id] * gap for example, gap in pairs]),
        "token_type_ids": torch.tensor(
            [example.token_type_ids + [0] * gap for example, gap in pairs]
        ),
        "attention_mask": torch.tensor([[1] * (longest - gap) + [0] * gap for gap in gaps]),
    }


def cross_entropy(logits: Tensor, targets: Tensor, whole: Tensor | None = None) -> Tensor:
    """Average the cross-entropy over the targets that are not IGNORED.

    If `targets` are a part of `whole`, divide the sum by the number of targets in `whole` that are
    not IGNORED. So the parts add up to the mean.
    """
    if whole is None:
        return F.cross_entropy(logits, targets)
    return F.cross_entropy(logits, targets, reduction="sum") / (whole != IGNORED).sum().item()
