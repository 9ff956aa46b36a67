"""The predictions of a fine-tuned model with one head or one layer after the other disabled or
restored."""

import sys
import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from bertshift.ablation.resuming import RememberingTokenizer, resuming
from bertshift.models.ablate import NOTHING, VARIANTS, Ablation, averaging, every_ablation
from bertshift.models.restore import Restored
from bertshift.running.memory import in_parts
from bertshift.tasks.inference import token_batches
from bertshift.tasks.loading import Task

# Inputs that are kept at a time, in characters of text, about a fourth of which are tokens. Small
# enough for the caches of a CPU; a GPU needs more to do.
CHARACTERS = {"cpu": 8_000, "cuda": 60_000}
PROGRESS_SECONDS = 10


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
    return {NOTHING: baseline} | predictions(task, model, rows, tokenizer, ablations, means)


@torch.inference_mode()
def predictions(
    task: Task,
    model: nn.Module,
    rows: Sequence[dict],
    tokenizer: PreTrainedTokenizerBase,
    ablations: Sequence[Ablation | Restored],
    means: Tensor | None = None,
) -> dict[Ablation | Restored, Sequence]:
    """Predict, by `task.predict`, for `rows` under each of `ablations`, which come in the order of
    layers.

    A layer's input is calculated once for all ablations of the layer. Memory is that of about
    CHARACTERS of input, whatever the number of rows, and of the predictions. `means` are for the
    variant `mean`.
    """
    found: dict[Ablation | Restored, list] = {
        ablation: [None] * len(rows) for ablation in ablations
    }
    chunks = list(token_batches(list(map(_characters, rows)), CHARACTERS[_device(model)]))
    done, shown = 0, time.monotonic()
    means = None if means is None else means.to(next(model.parameters()).device)
    with resuming(model, means) as encoder:

        def under_each(chunk: list[int]) -> list[Sequence]:
            members, pieces, results = (
                [rows[i] for i in chunk],
                RememberingTokenizer(tokenizer),
                [],
            )
            encoder.forget()
            for ablation in ablations:
                while encoder.layer < ablation.layer:
                    encoder.advance()
                encoder.ablation = ablation
                results.append(task.predict(model, members, pieces))
            return results

        for chunk, results in in_parts(chunks, under_each, task.name):
            for ablation, predicted in zip(ablations, results, strict=True):
                for i, said in zip(chunk, predicted, strict=True):
                    found[ablation][i] = said
            done += len(chunk)
            if time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                print(
                    f"{task.name}: {len(ablations)} ablations of {done} of {len(rows)} examples",
                    file=sys.stderr,
                )
    as_array = isinstance(predicted, np.ndarray)
    return {key: np.array(said) if as_array else said for key, said in found.items()}


def _characters(row: dict) -> int:
    """Count an example's characters, about proportional to its tokens; only the speed depends on
    it."""
    return sum(len(value) for value in row.values() if isinstance(value, str))


def _device(model: nn.Module) -> str:
    return next(model.parameters()).device.type
