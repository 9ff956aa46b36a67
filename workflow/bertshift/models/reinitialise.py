"""Forgetting what was pretrained: everywhere, in the upper layers, or in one head."""

import torch
from transformers import BertModel

from bertshift.errors import UserError
from bertshift.models.initialise import Normal, fill, scheme_named
from bertshift.seeds import seed_from


def randomise(model: BertModel, seed: int) -> None:
    """Draw all weights anew, embeddings too: N(0, .02) not truncated, LayerNorm (1, 0), biases 0.

    Kovaleva et al. 2019, Table 1 "random init", after the code of its authors.
    """
    fill(model, seed, Normal(0.02))


def reinitialise_layers(model: BertModel, first: int, scheme: str = "A", seed: int = 0) -> None:
    """Draw layers `first`..L (counted from 1) anew; embeddings, lower layers and pooler stay. L+1 changes nothing.

    BERT Goes to College, section 4.4 and Figure 3. A layer's draw depends on its number alone, so that the upper
    layers are the same whatever `first` is. UserError for a layer or scheme that does not exist.
    """
    layers = len(model.encoder.layer)
    if not 1 <= first <= layers + 1:
        raise UserError(
            f"Layers {first} and up cannot be re-initialised: write 1 to {layers}, or {layers + 1} for none."
        )
    normal = scheme_named(scheme)
    for number in range(first, layers + 1):
        fill(model.encoder.layer[number - 1], seed_from(seed, "layer", number), normal)


def reinitialise_pooler(model: BertModel, scheme: str = "A", seed: int = 0) -> None:
    """Draw the pooler anew, as Zhang et al. 2021 do together with the upper layers; BERT Goes to College does not say."""
    fill(model.pooler, seed_from(seed, "pooler"), scheme_named(scheme))


@torch.no_grad()
def reinitialise_head(model: BertModel, layer: int, head: int, scheme: str = "A", seed: int = 0) -> None:
    """Draw one attention head anew (both counted from 1): its rows of query, key and value, biases 0.

    BERT Goes to College, Figures 5 and 6. The head's columns of the output projection stay: the paper does not
    name them. UserError for a layer, head or scheme that does not exist.
    """
    normal, rows = scheme_named(scheme), _place(model, layer, head)
    attention = model.encoder.layer[layer - 1].attention.self
    for name in ("query", "key", "value"):
        linear = getattr(attention, name)
        normal.draw_(linear.weight[rows], seed_from(seed, "head", layer, head, name))
        linear.bias[rows] = 0


@torch.no_grad()
def reinitialise_head_output(
    model: BertModel, layer: int, head: int, scheme: str = "A", seed: int = 0
) -> None:
    """Draw the columns of the output projection that read this head; its bias, which all heads share, stays."""
    normal, columns = scheme_named(scheme), _place(model, layer, head)
    weight = model.encoder.layer[layer - 1].attention.output.dense.weight
    normal.draw_(weight[:, columns], seed_from(seed, "head", layer, head, "output"))


def _place(model: BertModel, layer: int, head: int) -> slice:
    """Where the head is in the layer's width."""
    layers, heads = model.config.num_hidden_layers, model.config.num_attention_heads
    if not (1 <= layer <= layers and 1 <= head <= heads):
        raise UserError(
            f"L{layer}H{head} does not exist: the model has layers 1 to {layers} and heads 1 to {heads}."
        )
    width = model.config.hidden_size // heads
    return slice((head - 1) * width, head * width)
