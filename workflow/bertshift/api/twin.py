"""A second encoder in memory, which reads the texts in place of a model that is being trained: its
weights are copied, and no file is written."""

import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.activations.extract import extract
from bertshift.api.given import check_computes, encoder_in
from bertshift.api.models import called, name_of
from bertshift.models.adapters import has_adapters
from bertshift.models.loading import check_numbers, load_encoder
from bertshift.models.tokenizer import load_tokenizer


class Twin:
    """An encoder for the weights of a loaded model.

    encoder: with tensors of the same names and shapes; a pooler may be missing in the model
    """

    def __init__(self, encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase):
        self._encoder, self._tokenizer = encoder, tokenizer

    @classmethod
    def of(cls, model: nn.Module, folder: Path) -> Self | None:
        """Make the twin of a loaded model from the model folder that was written for it; None for
        one with adapters, whose weights have other names."""
        if has_adapters(model):
            return None
        encoder = load_encoder(folder)
        given = encoder_in(model).state_dict()
        fits = all(
            given[name].shape == own.shape if name in given else name.startswith("pooler.")
            for name, own in encoder.state_dict().items()
        )
        return cls(encoder, load_tokenizer(folder)) if fits else None

    def extract(self, model: nn.Module, rows: Sequence[dict], file: Path, length: int) -> None:
        """Write the activations of a loaded model as it is now. UserError for weights that are not
        finite, and where the model computes something else than they say."""
        name = name_of(model)
        self._copy_weights(encoder_in(model).state_dict(), name)
        check_computes(model, self._encoder, name)
        with redirect_stderr(io.StringIO()), called({str(file): name}):
            extract(self._encoder, self._tokenizer, rows, file, length, attention=True)
        self._encoder.to("cpu")  # a training needs its device

    @torch.no_grad()
    def _copy_weights(self, given: dict[str, Tensor], name: str) -> None:
        for key, own in self._encoder.state_dict().items():
            if key in given:
                own.copy_(given[key])
                if own.is_floating_point():
                    check_numbers(Path(name), key, own)
