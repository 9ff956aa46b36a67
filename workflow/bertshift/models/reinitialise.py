"""Replacing pretrained weights by random ones: everywhere, in the upper layers, or in one head."""

import torch
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.family import heads_of, output_columns, own_layers, projections
from bertshift.models.initialise import Normal, fill, scheme_named
from bertshift.seeds import seed_from


def randomise(model: PreTrainedModel, seed: int) -> None:
    """Draw all weights anew, embeddings too: N(0, .02) not truncated, LayerNorm (1, 0), biases 0.

    Kovaleva et al. 2019, Table 1 "random init", after the code of its authors.
    """
    fill(model, seed, Normal(0.02))


def reinitialise_layers(
    model: PreTrainedModel, first: int, scheme: str = "A", seed: int = 0
) -> None:
    """Draw layers `first`..L (counted from 1) anew; embeddings, lower layers and pooler stay. L+1
    changes nothing.

    BERT Goes to College, section 4.4 and Figure 3. A layer's draw depends on its number alone, so
    that the upper layers are the same whatever `first` is. UserError for a layer or scheme that
    does not exist, and where all layers are one.
    """
    layers = own_layers(model, f"re-initialising layers {first} and up")
    if not 1 <= first <= len(layers) + 1:
        raise UserError(
            f"Layers {first} and up cannot be re-initialised: write 1 to {len(layers)}, or"
            f" {len(layers) + 1} for none."
        )
    normal = scheme_named(scheme)
    for number, layer in enumerate(layers[first - 1 :], first):
        fill(layer, seed_from(seed, "layer", number), normal)


def reinitialise_pooler(model: PreTrainedModel, scheme: str = "A", seed: int = 0) -> None:
    """Draw the pooler anew, as Zhang et al. 2021 do together with the upper layers; BERT Goes to
    College does not say whether it does.

    UserError for a model without a pooler.
    """
    if getattr(model, "pooler", None) is None:
        raise UserError(
            f"a {model.config.model_type} model has no pooler to draw anew; leave the p out of the"
            " name."
        )
    fill(model.pooler, seed_from(seed, "pooler"), scheme_named(scheme))


@torch.no_grad()
def reinitialise_head(
    model: PreTrainedModel, layer: int, head: int, scheme: str = "A", seed: int = 0
) -> None:
    """Draw one attention head anew (both counted from 1): its rows of query, key and value, biases
    0.

    BERT Goes to College, Figures 5 and 6. The head's columns of the output projection stay: the
    paper does not name them. UserError for a layer, head or scheme that does not exist, and where
    heads share weights.
    """
    normal = scheme_named(scheme)
    _check_head(model, layer, head)
    parameters = projections(model, layer, head, "re-initialising one head")
    for name, (weight, bias) in parameters.items():
        normal.draw_(weight, seed_from(seed, "head", layer, head, name))
        if bias is not None:
            bias.zero_()


@torch.no_grad()
def reinitialise_head_output(
    model: PreTrainedModel, layer: int, head: int, scheme: str = "A", seed: int = 0
) -> None:
    """Draw the columns of the output projection that read this head; its bias, which all heads
    share, stays."""
    normal = scheme_named(scheme)
    _check_head(model, layer, head)
    what = "re-initialising one head's output"
    own_layers(model, what)
    columns = output_columns(model, layer, head, what)
    normal.draw_(columns, seed_from(seed, "head", layer, head, "output"))


def _check_head(model: PreTrainedModel, layer: int, head: int) -> None:
    layers, heads = model.config.num_hidden_layers, heads_of(model)
    if not (1 <= layer <= layers and 1 <= head <= heads):
        raise UserError(
            f"L{layer}H{head} does not exist: the model has layers 1 to {layers} and heads 1 to"
            f" {heads}."
        )
