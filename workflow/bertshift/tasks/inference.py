from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from bertshift.errors import UserError
from bertshift.training.batching import Encoded, pad

TOKENS_PER_BATCH = 8192


def best_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def token_batches(lengths: Sequence[int], budget: int = TOKENS_PER_BATCH) -> Iterator[list[int]]:
    """Indices in batches of about `budget` padded tokens, longest first: what fits in memory shows at once."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def check_lengths(examples: Sequence[Encoded], model: nn.Module) -> None:
    """UserError if an input has more pieces than the encoder has positions."""
    positions = model.bert.config.max_position_embeddings
    longest = max((len(example) for example in examples), default=0)
    if longest > positions:
        raise UserError(
            f"An input has {longest} pieces, but the encoder has {positions} positions; "
            f"write max_length {positions} or less for this task."
        )


@torch.inference_mode()
def predict_logits(model: nn.Module, examples: Sequence[Encoded], pad_id: int) -> list[Tensor]:
    """The model's logits for each example, in order, in float32 on the CPU; rows of padding are cut off.

    Shape [outputs] for a classifier of sequences, [tokens, outputs] for one of tokens.
    """
    check_lengths(examples, model)
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    logits: list[Tensor | None] = [None] * len(examples)
    for batch in token_batches([len(example) for example in examples]):
        inputs = pad([examples[i] for i in batch], pad_id)
        moved = {key: None if value is None else value.to(device) for key, value in inputs.items()}
        for i, row in zip(batch, model(**moved).float().cpu(), strict=True):
            logits[i] = row if row.dim() == 1 else row[: len(examples[i])].clone()
    model.train(was_training)
    return logits
