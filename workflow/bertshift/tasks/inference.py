from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from bertshift.errors import UserError
from bertshift.models.family import longest_input
from bertshift.running.memory import in_parts
from bertshift.tasks.batching import Encoded, pad

TOKENS_PER_BATCH = 8192

Result = TypeVar("Result")


def best_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def token_batches(lengths: Sequence[int], budget: int = TOKENS_PER_BATCH) -> Iterator[list[int]]:
    """Yield indices in batches of about `budget` padded tokens, longest first: a batch that does
    not fit in memory comes first."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: (-lengths[index], index)):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def check_lengths(examples: Sequence[Encoded], model: nn.Module) -> None:
    """Raise UserError if an input has more pieces than the encoder has positions."""
    positions = longest_input(model.encoder)
    longest = max((len(example) for example in examples), default=0)
    if longest > positions:
        raise UserError(
            f"An input has {longest} pieces, but the encoder has {positions} positions; "
            f"write max_length {positions} or less for this task."
        )


@torch.inference_mode()
def predict_logits(model: nn.Module, examples: Sequence[Encoded], pad_id: int) -> list[Tensor]:
    """Compute the model's logits for each example, in order, in float32 on the CPU; rows of
    padding are cut off.

    Shape [outputs] for a classifier of sequences, [tokens, outputs] for one of tokens.
    """
    logits: list[Tensor | None] = [None] * len(examples)
    compute = lambda inputs: model(**inputs).float().cpu()
    for batch, rows in evaluated(model, examples, partial(pad, pad_id=pad_id), compute):
        for index, row in zip(batch, rows, strict=True):
            if row.dim() > 1:
                row = row[: len(examples[index])].clone()
            logits[index] = row
    return logits


def evaluated(
    model: nn.Module,
    examples: Sequence[Encoded],
    collate: Callable[[Sequence[Encoded]], dict],
    compute: Callable[[dict], Result],
) -> Iterator[tuple[list[int], Result]]:
    """Yield the numbers of each batch's examples, and `compute(collate(examples))`.

    The collated tensors are moved to the device of `model` first. Batches get smaller where memory
    runs out. The model is in evaluation mode until the last batch. UserError for inputs that are
    too long for it.
    """
    check_lengths(examples, model)
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()

    def compute_batch(batch: list[int]) -> Result:
        inputs = collate([examples[index] for index in batch])
        for key, value in inputs.items():
            if value is not None:
                inputs[key] = value.to(device)
        return compute(inputs)

    batches = token_batches([len(example) for example in examples])
    yield from in_parts(batches, compute_batch, "evaluation")
    model.train(was_training)
