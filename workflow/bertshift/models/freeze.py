from typing import Literal

from transformers import BertModel

from bertshift.errors import UserError


def freeze(model: BertModel, through: int | Literal["E"]) -> None:
    """Freeze the embeddings and layers 0..`through`, counted from 0 as on the axis of the paper's figure.

    So 8 leaves three of twelve layers free; "E" freezes the embeddings alone, -1 nothing. Frozen parameters get
    neither gradient nor weight decay; dropout inside them stays on, as it does when the first BERT code filters
    the trained variables. The pooler stays free. Merchant et al. 2020, Figure 3. UserError for a layer that does
    not exist.
    """
    last = len(model.encoder.layer) - 1
    number = -1 if through == "E" else int(through)
    if not -1 <= number <= last:
        raise UserError(
            f"freeze{through} is not possible: write 0 to {last} (layers count from 0 here) or E."
        )
    if through == "E" or number >= 0:
        for part in (model.embeddings, *model.encoder.layer[: number + 1]):
            part.requires_grad_(False)
