"""The predictions of a fine-tuned model with one head or one layer after the other disabled or
restored."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from bertshift.ablation.resuming import CachingTokenizer, resuming
from bertshift.models.ablate import NOTHING, VARIANTS, Ablation, averaging, every_ablation
from bertshift.models.restore import Restored
from bertshift.running.memory import in_parts
from bertshift.running.progress import Lines
from bertshift.tasks.inference import token_batches
from bertshift.tasks.loading import Task

# Characters of text in a chunk of inputs, about four for a token. A CPU's chunk fits its caches; a
# GPU needs more work at a time.
CHARACTERS = {"cpu": 8_000, "cuda": 60_000}


@torch.inference_mode()
def under_every_ablation(
    task: Task,
    model: nn.Module,
    rows: Sequence[dict],
    tokenizer: PreTrainedTokenizerBase,
    variants: Sequence[str] = VARIANTS,
) -> dict[Ablation, Sequence]:
    """Predict, by `task.predict`, for `rows` with nothing disabled and for each of
    `every_ablation`.

    The means of the variant `mean` are over `rows`.
    """
    ablations = every_ablation(model.encoder, variants)
    with averaging(model.encoder) as means:
        baseline = task.predict(model, rows, tokenizer)
    return {NOTHING: baseline} | predict_ablations(task, model, rows, tokenizer, ablations, means)


@torch.inference_mode()
def predict_ablations(
    task: Task,
    model: nn.Module,
    rows: Sequence[dict],
    tokenizer: PreTrainedTokenizerBase,
    ablations: Sequence[Ablation | Restored],
    means: Tensor | None = None,
) -> dict[Ablation | Restored, Sequence]:
    """Predict, by `task.predict`, for `rows` under each of `ablations`, which are in the order of
    layers.

    A layer's input is calculated once for all ablations of the layer. Memory holds about
    CHARACTERS of input and the predictions, whatever the number of rows. `means` are for the
    variant `mean`.
    """
    device = next(model.parameters()).device
    means = None if means is None else means.to(device)
    lengths = [_count_characters(row) for row in rows]
    chunks = list(token_batches(lengths, CHARACTERS[device.type]))
    predictions = {ablation: [None] * len(rows) for ablation in ablations}
    done, progress = 0, Lines()
    with resuming(model, means) as encoder:

        def predict_chunk(chunk: list[int]) -> list[Sequence]:
            examples = [rows[i] for i in chunk]
            caching_tokenizer = CachingTokenizer(tokenizer)
            encoder.forget()
            results = []
            for ablation in ablations:
                while encoder.layer < ablation.layer:
                    encoder.advance()
                encoder.ablation = ablation
                results.append(task.predict(model, examples, caching_tokenizer))
            return results

        for chunk, results in in_parts(chunks, predict_chunk, task.name):
            for ablation, result in zip(ablations, results, strict=True):
                for i, prediction in zip(chunk, result, strict=True):
                    predictions[ablation][i] = prediction
            done += len(chunk)
            progress.tell(
                f"{task.name}: {len(ablations)} ablations of {done} of {len(rows)} examples"
            )
    if isinstance(result, np.ndarray):
        return {ablation: np.array(values) for ablation, values in predictions.items()}
    return predictions


def _count_characters(row: dict) -> int:
    """Count an example's characters, about proportional to its tokens; only the speed depends on
    it."""
    return sum(len(value) for value in row.values() if isinstance(value, str))
