"""Running a model many times from one layer on, over inputs that it has read once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.models.ablate import NOTHING, Ablation, without
from bertshift.models.attention import Edit, Record, active, editable, seen
from bertshift.models.families import FAMILIES
from bertshift.models.family import family_of
from bertshift.models.layers import Layers
from bertshift.models.restore import Restored


@contextmanager
def resuming(model: nn.Module, means: Tensor | None = None) -> Iterator["ResumingEncoder"]:
    """Replace the encoder of `model` inside the block by a ResumingEncoder; `means` are for the
    variant `mean`."""
    encoder = model.encoder
    with editable(encoder):
        model.encoder = ResumingEncoder(encoder, means)
        try:
            yield model.encoder
        finally:
            model.encoder = encoder


class CachingTokenizer:
    """A tokenizer that encodes the same texts once."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase):
        self.wrapped = tokenizer
        self._encodings = {}

    def __call__(self, texts: Sequence[str], **options):
        key = (tuple(texts), tuple(options.items()))
        if key not in self._encodings:
            self._encodings[key] = self.wrapped(texts, **options)
        return self._encodings[key]

    def __getattr__(self, name: str):
        return getattr(self.wrapped, name)


class ResumingEncoder(nn.Module):
    """An encoder that keeps, for each batch it has read, the input of layer `layer`, and runs from
    there on under `ablation`, which disables a head of that layer or restores the layer. It can
    replace an encoder under any head.

    Its results are those of the encoder, which must be `editable`, but for the last bits of
    float32.
    """

    def __init__(self, encoder: PreTrainedModel, means: Tensor | None = None):
        super().__init__()
        self.encoder = encoder
        self.config = encoder.config
        self.family = family_of(encoder)
        self.means = means
        self.forget()

    def forget(self) -> None:
        """Forget all inputs, and return to layer 1."""
        self.layer = 1
        self.ablation: Ablation | Restored = NOTHING
        self._batches: dict[tuple, _Batch] = {}

    @torch.inference_mode()
    def advance(self) -> None:
        """Move on to the next layer, with nothing disabled."""
        self.layer += 1
        self.ablation = NOTHING
        for key, batch in self._batches.items():
            self._batches[key] = _Batch(batch.layers, self.layer, batch.unchanged)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **_,
    ) -> "_States":
        if self.ablation.layer not in (0, self.layer):
            raise ValueError(f"{self.ablation} while the inputs of layer {self.layer} are kept")
        key = (input_ids.shape, input_ids.cpu().numpy().tobytes())
        if key not in self._batches:
            if self.layer > 1:
                raise ValueError("new inputs after layer 1")
            layers = Layers(
                self.encoder,
                input_ids=input_ids,
                attention_mask=attention_mask,
                token_type_ids=token_type_ids,
            )
            self._batches[key] = _Batch(layers, 1, layers.first)
        return _States(self._batches[key], self.ablation, self.means)


class _States:
    """The encoder outputs that a head may read, computed on demand: BERT's pooler needs only [CLS]
    of the last layer."""

    def __init__(self, batch: "_Batch", ablation: Ablation | Restored, means: Tensor | None):
        self._batch, self._ablation, self._means = batch, ablation, means

    @cached_property
    def last_layer(self) -> Tensor:
        """The last layer's output, before a final norm."""
        return self._last(first_only=False)

    @property
    def last_hidden_state(self) -> Tensor:
        return self._batch.layers.after(self.last_layer)

    @cached_property
    def pooler_output(self) -> Tensor:
        return self._batch.layers.pooled(self._last(first_only=True))

    def _last(self, first_only: bool) -> Tensor:
        """Compute the last layer's output, at every token or, where that saves work, only at the
        first."""
        batch, ablation, layers = self._batch, self._ablation, self._batch.layers
        first_only &= batch.splits
        last = len(layers.modules)
        first_only_here = first_only and batch.number == last
        if not isinstance(ablation, Restored):
            tokens = slice(0, 1) if first_only_here else slice(None)
            hidden = batch.output(ablation, self._means, tokens)
        elif first_only_here:
            return at_first_token(ablation.module, batch.hidden, layers.mask)
        else:
            hidden = layers.through(ablation.module, batch.number, batch.hidden)
        for number in range(batch.number + 1, last + 1):
            if first_only and number == last:
                return at_first_token(layers.modules[number - 1], hidden, layers.mask)
            hidden = layers(number, hidden)
        return hidden


class _KnownContext(Edit):
    """An edit that replaces a layer's attention by a context that is known already."""

    def __init__(self, context: Tensor):
        self._context = context

    def known(self, layer: int) -> Tensor:
        return self._context


@dataclass
class _Batch:
    """The input `hidden` [examples, tokens, width] of layer `number`, whose ablations all share
    the layer's contexts."""

    layers: Layers
    number: int
    hidden: Tensor

    @property
    def splits(self) -> bool:
        """Whether the family's row says that its layers are built as BERT's, so that their part
        after the attention can run without the attention."""
        return family_of(self.layers.model).query == FAMILIES["bert"].query

    @cached_property
    def _output_and_context(self) -> tuple[Tensor, Tensor]:
        record = Record("context")
        with active(record):
            output = self.layers(self.number, self.hidden)
        return output, record.kept["context"][0]

    @property
    def unchanged(self) -> Tensor:
        """The layer's output with nothing disabled."""
        return self._output_and_context[0]

    @property
    def context(self) -> Tensor:
        """The heads' output, [examples, heads, tokens, width of a head]."""
        return self._output_and_context[1]

    @cached_property
    def uniform(self) -> Tensor:
        """The heads' output with every head disabled. Heads are independent of each other, so this
        has the output of each head that is disabled alone."""
        edit = _UniformContext()
        with active(edit):
            self.layers(self.number, self.hidden)
        return edit.kept["context"][0]

    def output(
        self, ablation: Ablation, means: Tensor | None = None, tokens: slice = slice(None)
    ) -> Tensor:
        """Compute the layer's output at these tokens under `ablation`. Only a layer that `splits`
        can run on a part of the tokens."""
        if ablation == NOTHING:
            return self.unchanged[:, tokens]
        if ablation.variant == "uniform":
            context = self.context.clone()
            context[:, ablation.heads] = self.uniform[:, ablation.heads]
        else:
            context = without(ablation, self.context, means)
        if self.splits:
            layer = self.layers.modules[self.number - 1]
            flat = context[:, :, tokens].transpose(1, 2).flatten(2)
            return _run_after_attention(layer, flat, self.hidden[:, tokens])
        with active(_KnownContext(context)):
            return self.layers(self.number, self.hidden)


class _UniformContext(Record):
    """An edit that disables every head of the layer that runs, and keeps its context."""

    def __init__(self):
        super().__init__("context")

    def maps(self, layer: int, maps: Tensor, mask: Tensor | None) -> Tensor:
        return seen(mask, maps)[:, None].expand_as(maps).contiguous()


def at_first_token(layer: nn.Module, hidden: Tensor, mask: Tensor | None) -> Tensor:
    """Compute the output [examples, 1, width] at the first token of a layer built as BERT's. Keys
    and values come from all tokens, the query from the first."""
    attention, first = layer.attention.self, hidden[:, :1]

    def split_heads(states: Tensor) -> Tensor:
        return states.unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2)

    query = split_heads(attention.query(first))
    key = split_heads(attention.key(hidden))
    value = split_heads(attention.value(hidden))
    first_mask = None if mask is None else mask[:, :, :1]
    context = F.scaled_dot_product_attention(query, key, value, attn_mask=first_mask)
    return _run_after_attention(layer, context.transpose(1, 2).flatten(2), first)


def _run_after_attention(layer: nn.Module, context: Tensor, hidden: Tensor) -> Tensor:
    return layer.feed_forward_chunk(layer.attention.output(context, hidden))
