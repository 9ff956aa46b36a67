"""The head on top of the encoder, for one task."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.biaffine import DependencyParser, states_at
from bertshift.models.family import family_of, needs_all_tokens, run
from bertshift.models.initialise import fill
from bertshift.models.loading import WEIGHTS, load_encoder, read_weights
from bertshift.seeds import seed_from


class LinearHead(nn.Module):
    """The encoder and one linear layer."""

    def __init__(self, encoder: PreTrainedModel, outputs: int, seed: int = 0):
        super().__init__()
        self.encoder = encoder
        self.head = fresh_linear(encoder.config.hidden_size, outputs, seed)

    @classmethod
    def rebuilt(cls, encoder: PreTrainedModel, head: Mapping[str, Tensor]) -> Self:
        """Build a model that fits the tensors of a saved head."""
        return cls(encoder, outputs=len(head["weight"]))

    @property
    def outputs(self) -> str:
        """Describe the head's output; equal for heads that can replace each other."""
        return f"{self.head.out_features} outputs of width {self.head.in_features}"

    def states(self, **inputs: Tensor | None) -> Tensor:
        """Compute the last layer's states [examples, tokens, width]."""
        return run(self.encoder, **inputs).last_hidden_state


ACTIVATIONS = {"tanh": torch.tanh, "relu": F.relu, "gelu": F.gelu}


class SequenceClassifier(LinearHead):
    """One token -> the family's published pooling -> dropout -> linear: `outputs` classes, or 1
    for a regression.

    The token is the first, which is BERT's [CLS]; in a decoder the last real one, which has read
    all others. A ModernBERT whose configuration says so reads the mean over all real tokens.
    """

    def __init__(
        self, encoder: PreTrainedModel, outputs: int, seed: int = 0, dropout: float = 0.1
    ):
        super().__init__(encoder, outputs, seed)
        self.dropout = nn.Dropout(dropout)
        family, width = family_of(encoder), encoder.config.hidden_size
        self.pooling, _, norm = family.pooling.partition("+")
        if family.causal:
            self.token = "last"
        else:
            self.token = getattr(encoder.config, "classifier_pooling", "cls")
        if self.pooling in ACTIVATIONS:
            modules = OrderedDict(dense=fresh_linear(width, width, seed_from(seed, "dense")))
            if norm:
                modules["norm"] = nn.LayerNorm(width)
            modules["out"] = self.head
            self.head = nn.Sequential(modules)

    @classmethod
    def rebuilt(cls, encoder: PreTrainedModel, head: Mapping[str, Tensor]) -> Self:
        weight = head["out.weight"] if "out.weight" in head else head["weight"]
        return cls(encoder, outputs=len(weight))

    @property
    def outputs(self) -> str:
        last = self.head[-1] if isinstance(self.head, nn.Sequential) else self.head
        return f"{last.out_features} outputs of width {last.in_features}"

    def pooled(self, output, attention_mask: Tensor | None = None) -> Tensor:
        """Pool the encoder's output into the head's input, [examples, width]."""
        if self.pooling == "pooler":
            return output.pooler_output
        states = output.last_hidden_state
        if self.token == "cls":
            return states[:, 0]
        if attention_mask is None:
            attention_mask = torch.ones(states.shape[:2], dtype=torch.long, device=states.device)
        lengths = attention_mask.sum(1)
        if self.token == "mean":
            return (states * attention_mask[..., None]).sum(1) / lengths[:, None]
        examples = torch.arange(len(lengths), device=lengths.device)
        return states[examples, lengths - 1]

    def forward(self, **inputs: Tensor | None) -> Tensor:
        """Compute logits [examples, outputs] from token ids [examples, tokens]."""
        output = run(self.encoder, **inputs)
        return self.logits(self.pooled(output, inputs.get("attention_mask")))

    def logits(self, pooled: Tensor) -> Tensor:
        """Compute logits [examples, outputs] from `pooled` [examples, width]."""
        if isinstance(self.head, nn.Linear):
            return self.head(self.dropout(pooled))
        hidden = self.head.dense(self.dropout(pooled))
        hidden = ACTIVATIONS[self.pooling](hidden)
        if hasattr(self.head, "norm"):
            hidden = self.head.norm(hidden)
        return self.head.out(self.dropout(hidden))


class SpanClassifier(LinearHead):
    """Every token -> a logit for being the answer's first and one for being its last."""

    def __init__(self, encoder: PreTrainedModel, outputs: int = 2, seed: int = 0):
        needs_all_tokens(encoder, "answering questions by spans")
        super().__init__(encoder, outputs, seed)

    def forward(self, **inputs: Tensor | None) -> Tensor:
        """Compute logits [windows, tokens, 2] from token ids [windows, tokens]. Padding gets the
        lowest number there is, so that no probability depends on how far a batch happens to be
        padded."""
        logits = self.head(self.states(**inputs)).float()
        mask = inputs.get("attention_mask")
        if mask is None:
            return logits
        return logits.masked_fill(mask[..., None] == 0, torch.finfo(logits.dtype).min)


class TokenClassifier(LinearHead):
    """First piece of each word -> dropout -> linear; `labels` name the classes, in the order of
    the logits."""

    def __init__(
        self, encoder: PreTrainedModel, labels: Sequence[str], seed: int = 0, dropout: float = 0.1
    ):
        needs_all_tokens(encoder, "tagging words")
        super().__init__(encoder, len(labels), seed)
        self.labels = tuple(labels)
        self.dropout = nn.Dropout(dropout)

    @classmethod
    def rebuilt(cls, encoder: PreTrainedModel, head: Mapping[str, Tensor]) -> Self:
        return cls(encoder, encoder.config.labels)

    @property
    def outputs(self) -> str:
        width = self.head.in_features
        return f"{len(self.labels)} labels ({', '.join(self.labels)}) of width {width}"

    def forward(self, first: Tensor, **inputs: Tensor | None) -> Tensor:
        """Compute logits [..., labels]; `first` [sentences, words] has the position of each word's
        first token, negative for padding."""
        states = states_at(self.states(**inputs), first.clamp(min=0))
        return self.head(self.dropout(states))


HEADS = {
    head.__name__: head
    for head in (SequenceClassifier, SpanClassifier, TokenClassifier, DependencyParser)
}


def fresh_linear(width: int, outputs: int, seed: int) -> nn.Linear:
    """Draw a linear layer from N(0, .02) truncated at two sigma, bias 0, as in the first BERT
    code."""
    linear = nn.Linear(width, outputs)
    fill(linear, seed_from(seed, "head"))
    return linear


def load_task_model(folder: Path) -> nn.Module:
    """Load the fine-tuned model of `folder` with its head, in eval mode. UserError for an encoder
    without a task."""
    encoder = load_encoder(folder)
    weights = read_weights(Path(folder) / WEIGHTS)
    head = {
        name.removeprefix("head."): tensor
        for name, tensor in weights.items()
        if name.startswith("head.")
    }
    kind = (encoder.config.architectures or [""])[0]
    if kind not in HEADS or not head:
        raise UserError(
            f"{folder} holds no fine-tuned model (architecture {kind!r}); give a folder that"
            " fine-tuning wrote."
        )
    model = HEADS[kind].rebuilt(encoder, head)
    model.head.load_state_dict(head)
    return model.eval()


def take_head(model: nn.Module, folder: Path, task: str) -> None:
    """Give the model of `task` the head of the fine-tuned model in `folder`. UserError if that
    head has other outputs."""
    earlier = load_task_model(folder)
    if earlier.outputs != model.outputs:
        raise UserError(
            f"The head in {folder} has {earlier.outputs}, task {task} needs {model.outputs}; start"
            " with a fresh head."
        )
    model.head.load_state_dict(earlier.head.state_dict())
