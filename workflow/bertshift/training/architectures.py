"""The configuration of a model that is pretrained here: one set of names for all families,
BERT's."""

from collections.abc import Mapping

from transformers import CONFIG_MAPPING, BertConfig, PreTrainedConfig

from bertshift.errors import UserError
from bertshift.models.families import FAMILIES

# Names of other families, where `attribute_map` of their configuration does not tell; a family may
# have several.
NAMES = {
    "intermediate_size": ("n_inner", "hidden_dim"),
    "hidden_dropout_prob": (
        "hidden_dropout",
        "dropout",
        "resid_pdrop",
        "embd_pdrop",
        "embedding_dropout",
        "mlp_dropout",
    ),
    "attention_probs_dropout_prob": ("attention_dropout", "attn_pdrop"),
}
# Without these a configuration is of a model that no checkpoint of the family is.
PUBLISHED = {
    "deberta-v2": {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "position_buckets": 256,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
    },
}
PUBLISHED |= {kind: {"type_vocab_size": 1} for kind in ("roberta", "xlm-roberta", "camembert")}


def config_of(
    family: str,
    architecture: Mapping,
    vocabulary: int,
    special: Mapping[str, int | None],
    longest: int,
) -> PreTrainedConfig:
    """Build the configuration of a `family` with the keys of `architecture`, which are those of
    BertConfig, for `vocabulary` entries with these `special` ids (pad_token_id and so on), and
    sequences of `longest` tokens.

    UserError for a key or a length that does not fit.
    """
    unknown = sorted(set(architecture) - set(BertConfig().to_dict()))
    if unknown or "vocab_size" in architecture:
        raise UserError(
            f"architecture key {(unknown or ['vocab_size'])[0]} cannot be set; write keys of"
            " BertConfig such as num_hidden_layers, hidden_size, num_attention_heads and"
            " intermediate_size (the vocabulary's size comes from the tokenizer)."
        )
    shape = {
        key: getattr(BertConfig(), key)
        for key in ("hidden_size", "num_attention_heads", "max_position_embeddings")
    }
    width, heads, positions = (architecture.get(key, default) for key, default in shape.items())
    if width % heads:
        raise UserError(
            f"architecture key hidden_size is {width}; write a multiple of num_attention_heads"
            f" ({heads}) instead."
        )
    if not 8 <= longest <= positions:
        raise UserError(
            f"max_length is {longest}; write a number from 8 to max_position_embeddings"
            f" ({positions}) instead."
        )
    kind = CONFIG_MAPPING[family]
    known = kind().to_dict()
    own = dict(PUBLISHED.get(family, {}))
    for key, value in architecture.items():
        own |= dict.fromkeys(_names(kind, known, key), value)
    if FAMILIES[family].positions_from_padding:
        own["max_position_embeddings"] = positions + special["pad_token_id"] + 1
    own |= {
        key: value
        for key, value in {"num_key_value_heads": heads, "head_dim": width // heads}.items()
        if key in known
    }
    return kind(**own, vocab_size=vocabulary, **special)


def _names(kind: type[PreTrainedConfig], known: Mapping, key: str) -> list[str]:
    """List the configuration's names of `key`; a family without a dropout in some place has no
    name of it."""
    name = kind.attribute_map.get(key, key)
    found = [name] if name in known else [other for other in NAMES.get(key, ()) if other in known]
    if not found and "dropout" not in key:
        raise UserError(
            f"architecture key {key} cannot be set: {kind.model_type} has none; leave it out."
        )
    return found
