from typing import Literal

from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.family import groups, own_layers


def freeze(model: PreTrainedModel, through: int | Literal["E"]) -> None:
    """Freeze the embeddings and layers 0..`through`, counted from 0 as on the axis of the paper's
    figure.

    So 8 leaves three of twelve layers free; "E" freezes the embeddings alone, -1 nothing. Frozen
    parameters get neither gradient nor weight decay; dropout inside them stays on, as it does when
    the first BERT code filters the trained variables. The pooler, and parameters that all layers
    share, stay free. Merchant et al. 2020, Figure 3. UserError for a layer that does not exist, or
    that runs several times.
    """
    number = -1 if through == "E" else int(through)
    last = model.config.num_hidden_layers - 1
    if not -1 <= number <= last:
        raise UserError(
            f"freeze{through} is not possible: write 0 to {last} (layers count from 0 here) or E."
        )
    if through != "E":
        if number < 0:
            return
        for layer in own_layers(model, f"freeze{through}")[: number + 1]:
            layer.requires_grad_(False)
    for weight in groups(model)["embeddings"]:
        weight.requires_grad_(False)
