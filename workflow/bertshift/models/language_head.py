"""The head of a checkpoint's pretraining, applied to hidden states of any encoder of its width."""

from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

from bertshift.errors import UserError
from bertshift.models.family import family_of
from bertshift.models.headless import no_head
from bertshift.models.loading import WEIGHTS, load_config, quietly_read
from bertshift.models.seal import check_seal


class LanguageHead:
    """transformers' model for masked words or, for a decoder, next words, whose head alone runs.

    The decoding matrix is the checkpoint's, also where it is tied to the checkpoint's embeddings.
    """

    def __init__(self, model: PreTrainedModel):
        self.model = model.eval()
        self._states: list[Tensor] = []
        model.base_model.forward = lambda *_, **__: BaseModelOutputWithPastAndCrossAttentions(
            self._states.pop()
        )

    def __call__(self, states: Tensor) -> Tensor:
        """Compute logits [positions, vocabulary] from the states [positions, width] at the end of
        the base model.

        UserError for a model whose head does not read its base model's output.
        """
        self._states[:] = [states[None]]
        ids = torch.zeros(1, len(states), dtype=torch.long, device=states.device)
        logits = self.model(input_ids=ids).logits[0]
        if self._states:
            raise UserError(
                f"the head of a {self.model.config.model_type} model cannot be run alone; leave"
                " its models out of figures.beyond.forgetting."
            )
        return logits


def load_language_model(folder: Path, encoder: PreTrainedModel) -> PreTrainedModel:
    """Load transformers' model with a head for words from `folder`, in float32 and eval mode.

    `encoder` is its bare model. UserError where transformers knows no such head for the family, or
    the weights have none.
    """
    if family_of(encoder).causal:
        predicted, kind = "next", AutoModelForCausalLM
    else:
        predicted, kind = "masked", AutoModelForMaskedLM
    config = load_config(folder)
    if type(config) not in kind._model_mapping:
        raise UserError(
            f"{folder}: transformers has no head for {predicted} words of {config.model_type}"
            " models; leave its models out of figures.beyond.forgetting."
        )
    check_seal(Path(folder) / WEIGHTS)
    model, report = quietly_read(kind, folder, config)
    if missing := sorted(name for name in report["missing_keys"] if not name.endswith("_ids")):
        raise UserError(no_head(folder, f", as it lacks {missing[0]}"))
    return model.eval()
