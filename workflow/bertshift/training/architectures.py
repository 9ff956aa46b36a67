"""The configuration of a model that is pretrained here, with the names of BertConfig for all
families."""

from collections.abc import Mapping

from transformers import CONFIG_MAPPING, BertConfig, PreTrainedConfig

from bertshift.errors import UserError
from bertshift.models.families import FAMILIES

# Names of other families that `attribute_map` of their configuration lacks; a family may have
# several.
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
# Settings of the family's published checkpoints that differ from its default configuration.
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
    defaults = BertConfig().to_dict()
    unknown = sorted(set(architecture) - set(defaults))
    if unknown or "vocab_size" in architecture:
        raise UserError(
            f"architecture key {(unknown or ['vocab_size'])[0]} cannot be set; write keys of"
            " BertConfig such as num_hidden_layers, hidden_size, num_attention_heads and"
            " intermediate_size (the vocabulary's size comes from the tokenizer)."
        )
    shape = defaults | dict(architecture)
    width, heads = shape["hidden_size"], shape["num_attention_heads"]
    positions = shape["max_position_embeddings"]
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
    config_class = CONFIG_MAPPING[family]
    defaults = config_class().to_dict()
    settings = dict(PUBLISHED.get(family, {}))
    for key, value in architecture.items():
        settings |= dict.fromkeys(_find_names(config_class, defaults, key), value)
    if FAMILIES[family].positions_from_padding:
        settings["max_position_embeddings"] = positions + special["pad_token_id"] + 1
    if "num_key_value_heads" in defaults:
        settings["num_key_value_heads"] = heads
    if "head_dim" in defaults:
        settings["head_dim"] = width // heads
    return config_class(**settings, vocab_size=vocabulary, **special)


def _find_names(config_class: type[PreTrainedConfig], defaults: Mapping, key: str) -> list[str]:
    """List the configuration's names of `key`; a dropout that the family lacks has no name."""
    mapped = config_class.attribute_map.get(key, key)
    if mapped in defaults:
        return [mapped]
    names = [name for name in NAMES.get(key, ()) if name in defaults]
    if not names and "dropout" not in key:
        raise UserError(
            f"architecture key {key} cannot be set: {config_class.model_type} has none; leave it"
            " out."
        )
    return names
