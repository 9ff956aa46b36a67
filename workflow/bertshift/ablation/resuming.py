"""Running a model many times from one layer on, over inputs that it has read once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertModel, BertTokenizer

from bertshift.models.ablate import NOTHING, Ablation, columns, disabled
from bertshift.models.restore import Restored


@contextmanager
def resuming(model: nn.Module, means: Tensor | None = None) -> Iterator["ResumingEncoder"]:
    """Inside the block, `model` runs with an encoder that remembers its inputs; `means` are for the variant `mean`."""
    bert = model.bert
    model.bert = ResumingEncoder(bert, means)
    try:
        yield model.bert
    finally:
        model.bert = bert


class RememberingTokenizer:
    """Cuts the same texts into pieces once, however often they are given."""

    def __init__(self, tokenizer: BertTokenizer):
        self._tokenizer, self._pieces = tokenizer, {}

    def __call__(self, texts: Sequence[str], **options):
        key = (tuple(texts), tuple(options.items()))
        if key not in self._pieces:
            self._pieces[key] = self._tokenizer(texts, **options)
        return self._pieces[key]

    def __getattr__(self, name: str):
        return getattr(self._tokenizer, name)


class ResumingEncoder(nn.Module):
    """Stands in for a BertModel under any head: of each batch it has read it keeps what goes into layer `layer`, and
    runs from there on with `ablation`, which concerns that layer, in force: a head disabled, or the layer restored.

    Its results are those of the BertModel but for the last bits of float32.
    """

    def __init__(self, bert: BertModel, means: Tensor | None = None):
        super().__init__()
        self.bert, self.config, self.means = bert, bert.config, means
        self.forget()

    def forget(self) -> None:
        """Back to layer 1, without any inputs."""
        self.layer = 1
        self.ablation: Ablation | Restored = NOTHING
        self._batches: dict[tuple, _Batch] = {}

    @torch.inference_mode()
    def advance(self) -> None:
        """To the next layer, nothing disabled."""
        self.layer, self.ablation = self.layer + 1, NOTHING
        for key, batch in self._batches.items():
            self._batches[key] = _Batch(self.bert, self.layer, batch.output(NOTHING), batch.mask)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> "_States":
        if self.ablation.layer not in (0, self.layer):
            raise ValueError(f"{self.ablation} while the inputs of layer {self.layer} are kept")
        key = (input_ids.shape, input_ids.cpu().numpy().tobytes())
        if key not in self._batches:
            if self.layer > 1:
                raise ValueError("new inputs after layer 1")
            hidden = self.bert.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)
            self._batches[key] = _Batch(self.bert, 1, hidden, _added_to_logits(attention_mask, hidden))
        return _States(partial(self._last, self._batches[key]), self.bert.pooler)

    def _last(self, batch: "_Batch", first_only: bool) -> Tensor:
        """The last layer's output, at every token or at [CLS] alone."""
        later = list(self.bert.encoder.layer[self.layer :])
        if isinstance(self.ablation, Restored):
            hidden, later = batch.hidden, [self.ablation.module, *later]
        elif later:
            hidden = batch.output(self.ablation, self.means)
        else:
            return batch.output(self.ablation, self.means, slice(0, 1 if first_only else None))
        for layer in later[:-1]:
            hidden = layer(hidden, batch.mask)
        return at_first_token(later[-1], hidden, batch.mask) if first_only else later[-1](hidden, batch.mask)


class _States:
    """What a head may ask of an encoder, calculated when it does: a pooler needs [CLS] alone of the last layer."""

    def __init__(self, last, pooler: nn.Module):
        self._last, self._pooler = last, pooler

    @cached_property
    def last_hidden_state(self) -> Tensor:
        return self._last(first_only=False)

    @cached_property
    def pooler_output(self) -> Tensor:
        return self._pooler(self._last(first_only=True))


@dataclass
class _Batch:
    """`hidden` [examples, tokens, width] goes into layer `number`. All ablations of the layer share its contexts."""

    bert: BertModel
    number: int
    hidden: Tensor
    mask: Tensor | None

    @property
    def layer(self) -> nn.Module:
        return self.bert.encoder.layer[self.number - 1]

    @cached_property
    def context(self) -> Tensor:
        """What the heads put out, side by side, [examples, tokens, width]."""
        return self.layer.attention.self(self.hidden, self.mask)[0]

    @cached_property
    def uniform(self) -> Tensor:
        """The same with every head disabled; heads do not see each other, so that any can be taken from here."""
        with disabled(self.bert, Ablation("uniform", self.number, 0)):
            return self.layer.attention.self(self.hidden, self.mask)[0]

    def output(self, ablation: Ablation, means: Tensor | None = None, tokens: slice = slice(None)) -> Tensor:
        """Of the layer, at these tokens."""
        context = self.context[:, tokens]
        if ablation.variant == "uniform":
            part = columns(self.bert, ablation.head)
            context = context.clone()
            context[..., part] = self.uniform[:, tokens, part]
            ablation = NOTHING
        with disabled(self.bert, ablation, means):
            return _after_attention(self.layer, context, self.hidden[:, tokens])


def at_first_token(layer: nn.Module, hidden: Tensor, mask: Tensor | None) -> Tensor:
    """A layer's output [examples, 1, width] at [CLS]: keys and values are of all tokens, the rest of that one."""
    attention, first = layer.attention.self, hidden[:, :1]

    def heads(states: Tensor) -> Tensor:
        return states.unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2)

    projected = heads(attention.query(first)), heads(attention.key(hidden)), heads(attention.value(hidden))
    context = F.scaled_dot_product_attention(*projected, attn_mask=mask)
    return _after_attention(layer, context.transpose(1, 2).flatten(2), first)


def _after_attention(layer: nn.Module, context: Tensor, hidden: Tensor) -> Tensor:
    return layer.feed_forward_chunk(layer.attention.output(context, hidden))


def _added_to_logits(attention_mask: Tensor | None, hidden: Tensor) -> Tensor | None:
    """[examples, 1, 1, tokens]: 0 for what may be attended to, the lowest number there is for padding."""
    if attention_mask is None:
        return None
    padding = (attention_mask == 0)[:, None, None]
    return torch.zeros(padding.shape, dtype=hidden.dtype, device=hidden.device).masked_fill(
        padding, torch.finfo(hidden.dtype).min
    )
