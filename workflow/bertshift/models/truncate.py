from transformers import BertModel

from bertshift.errors import UserError


def keep_layers(model: BertModel, k: int) -> None:
    """Keep the embeddings and the first `k` layers; the pooler, trained on the last layer, now reads layer `k`.

    k = 0 leaves the embeddings alone. Merchant et al. 2020, Figure 4. UserError for more layers than there are.
    """
    layers = len(model.encoder.layer)
    if not 0 <= k <= layers:
        raise UserError(f"keep{k} is not possible: the model has {layers} layers, write 0 to {layers}.")
    model.encoder.layer = model.encoder.layer[:k]
    model.config.num_hidden_layers = k
