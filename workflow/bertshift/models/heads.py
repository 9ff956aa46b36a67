"""What stands on top of the encoder for one task."""

from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import BertModel

from bertshift.errors import UserError
from bertshift.models.initialise import fill
from bertshift.models.loading import WEIGHTS, load_encoder, read_weights
from bertshift.seeds import seed_from


class SequenceClassifier(nn.Module):
    """[CLS] -> pooler -> dropout -> linear: `outputs` classes, or 1 for a regression."""

    def __init__(self, bert: BertModel, outputs: int, seed: int = 0, dropout: float = 0.1):
        super().__init__()
        self.bert = bert
        self.dropout = nn.Dropout(dropout)
        self.head = fresh_linear(bert.config.hidden_size, outputs, seed)

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Token ids [examples, tokens] -> logits [examples, outputs]."""
        pooled = self.bert(input_ids, attention_mask, token_type_ids).pooler_output
        return self.head(self.dropout(pooled))


class SpanClassifier(nn.Module):
    """Every token -> a logit for being the answer's first and one for being its last."""

    def __init__(self, bert: BertModel, outputs: int = 2, seed: int = 0):
        super().__init__()
        self.bert = bert
        self.head = fresh_linear(bert.config.hidden_size, outputs, seed)

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Token ids [windows, tokens] -> logits [windows, tokens, 2]; padding gets the lowest number there is,
        so that no probability depends on how far a batch happens to be padded."""
        logits = self.head(self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state).float()
        if attention_mask is None:
            return logits
        return logits.masked_fill(attention_mask[..., None] == 0, torch.finfo(logits.dtype).min)


HEADS = {head.__name__: head for head in (SequenceClassifier, SpanClassifier)}


def fresh_linear(width: int, outputs: int, seed: int) -> nn.Linear:
    """N(0, .02) truncated at two sigma, bias 0, as in the first BERT code."""
    linear = nn.Linear(width, outputs)
    fill(linear, seed_from(seed, "head"))
    return linear


def load_task_model(folder: Path, attention: Literal["sdpa", "eager"] = "sdpa") -> nn.Module:
    """A fine-tuned model with its head, in eval mode. UserError if the folder holds an encoder without a task."""
    bert = load_encoder(folder, attention)
    state = read_weights(Path(folder) / WEIGHTS)
    kind = (bert.config.architectures or [""])[0]
    if kind not in HEADS or "head.weight" not in state:
        raise UserError(
            f"{folder} holds no fine-tuned model (architecture {kind!r}); give a folder that fine-tuning wrote."
        )
    model = HEADS[kind](bert, outputs=state["head.weight"].shape[0])
    model.head.load_state_dict({"weight": state["head.weight"], "bias": state["head.bias"]})
    return model.eval()
