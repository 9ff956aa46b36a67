"""Parts of a fine-tuned model that are given back the weights that they had before."""

from collections.abc import Mapping

from bertshift.models.shapes import check_layers
from bertshift.requests.runs import Pair, with_parents


def restored(config: Mapping, model: str) -> list[Pair]:
    """Pair the runs whose layers are restored with the runs that they started from. Raise
    UserError for a model without layers."""
    pairs = with_parents(config, model)
    check_layers(pairs[0][0].model, config, f"results/restored/{model}.tsv")
    return pairs
