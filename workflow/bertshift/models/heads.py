"""What stands on top of the encoder for one task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

import torch
from torch import Tensor, nn
from transformers import BertModel

from bertshift.errors import UserError
from bertshift.models.biaffine import DependencyParser
from bertshift.models.initialise import fill
from bertshift.models.loading import WEIGHTS, load_encoder, read_weights
from bertshift.seeds import seed_from


class LinearHead(nn.Module):
    """The encoder and one linear layer."""

    def __init__(self, bert: BertModel, outputs: int, seed: int = 0):
        super().__init__()
        self.bert = bert
        self.head = fresh_linear(bert.config.hidden_size, outputs, seed)

    @classmethod
    def rebuilt(cls, bert: BertModel, head: Mapping[str, Tensor]) -> Self:
        """A model that fits the tensors of a saved head."""
        return cls(bert, outputs=len(head["weight"]))

    @property
    def outputs(self) -> str:
        """What the head puts out, in words; alike where one head can take another's place."""
        return f"{self.head.out_features} outputs of width {self.head.in_features}"


class SequenceClassifier(LinearHead):
    """[CLS] -> pooler -> dropout -> linear: `outputs` classes, or 1 for a regression."""

    def __init__(self, bert: BertModel, outputs: int, seed: int = 0, dropout: float = 0.1):
        super().__init__(bert, outputs, seed)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Token ids [examples, tokens] -> logits [examples, outputs]."""
        pooled = self.bert(input_ids, attention_mask, token_type_ids).pooler_output
        return self.head(self.dropout(pooled))


class SpanClassifier(LinearHead):
    """Every token -> a logit for being the answer's first and one for being its last."""

    def __init__(self, bert: BertModel, outputs: int = 2, seed: int = 0):
        super().__init__(bert, outputs, seed)

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Token ids [windows, tokens] -> logits [windows, tokens, 2]; padding gets the lowest number there is,
        so that no probability depends on how far a batch happens to be padded."""
        logits = self.head(self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state).float()
        if attention_mask is None:
            return logits
        return logits.masked_fill(attention_mask[..., None] == 0, torch.finfo(logits.dtype).min)


class TokenClassifier(LinearHead):
    """First piece of each word -> dropout -> linear; `labels` name the classes, in the order of the logits."""

    def __init__(self, bert: BertModel, labels: Sequence[str], seed: int = 0, dropout: float = 0.1):
        super().__init__(bert, len(labels), seed)
        self.labels = tuple(labels)
        self.dropout = nn.Dropout(dropout)

    @classmethod
    def rebuilt(cls, bert: BertModel, head: Mapping[str, Tensor]) -> Self:
        return cls(bert, bert.config.labels)

    @property
    def outputs(self) -> str:
        return f"{len(self.labels)} labels ({', '.join(self.labels)}) of width {self.head.in_features}"

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor | None, first: Tensor
    ) -> Tensor:
        """`first` [sentences, words], where each word begins, negative for padding -> logits [..., labels]."""
        states = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        places = first.clamp(min=0)[..., None].expand(-1, -1, states.shape[-1])
        return self.head(self.dropout(states.gather(1, places)))


HEADS = {
    head.__name__: head for head in (SequenceClassifier, SpanClassifier, TokenClassifier, DependencyParser)
}


def fresh_linear(width: int, outputs: int, seed: int) -> nn.Linear:
    """N(0, .02) truncated at two sigma, bias 0, as in the first BERT code."""
    linear = nn.Linear(width, outputs)
    fill(linear, seed_from(seed, "head"))
    return linear


def load_task_model(folder: Path, attention: Literal["sdpa", "eager"] = "sdpa") -> nn.Module:
    """A fine-tuned model with its head, in eval mode. UserError if the folder holds an encoder without a task."""
    bert = load_encoder(folder, attention)
    state = read_weights(Path(folder) / WEIGHTS)
    head = {key.removeprefix("head."): value for key, value in state.items() if key.startswith("head.")}
    kind = (bert.config.architectures or [""])[0]
    if kind not in HEADS or not head:
        raise UserError(
            f"{folder} holds no fine-tuned model (architecture {kind!r}); give a folder that fine-tuning wrote."
        )
    model = HEADS[kind].rebuilt(bert, head)
    model.head.load_state_dict(head)
    return model.eval()


def take_head(model: nn.Module, folder: Path, task: str) -> None:
    """Give `task`'s model the head of the fine-tuned model in `folder`; UserError if that one's outputs are others."""
    earlier = load_task_model(folder)
    if earlier.outputs != model.outputs:
        raise UserError(
            f"The head in {folder} has {earlier.outputs}, task {task} needs {model.outputs}; start with a fresh head."
        )
    model.head.load_state_dict(earlier.head.state_dict())
