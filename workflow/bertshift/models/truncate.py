from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.family import family_of, own_layers


def keep_layers(model: PreTrainedModel, k: int) -> None:
    """Keep the embeddings and the first `k` layers; the pooler or norm after the last layer then
    reads layer `k`.

    k = 0 leaves the embeddings alone. Merchant et al. 2020, Figure 4. UserError for more layers
    than there are, and for none where the model does not run without layers.
    """
    layers = own_layers(model, f"keep{k}")
    if not 0 <= k <= len(layers):
        raise UserError(
            f"keep{k} is not possible: the model has {len(layers)} layers, write 0 to"
            f" {len(layers)}."
        )
    if not k and not family_of(model).without_layers:
        raise UserError(
            f"keep0 is not possible for a {model.config.model_type} model; write 1 to"
            f" {len(layers)} layers."
        )
    path, _, name = family_of(model).layers.rpartition(".")
    parent = model.get_submodule(path)
    setattr(parent, name, getattr(parent, name)[:k])
    model.config.num_hidden_layers = k
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[:k]
