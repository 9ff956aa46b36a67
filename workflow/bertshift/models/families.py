"""Differences between families of transformers: where their layers, projections and norms are.

FAMILIES has one row a family. `family` applies a row to a model. This module imports neither torch
nor transformers.
"""

import re
from dataclasses import dataclass, replace

# The key of a model folder's config.json for a tokenizer that gives both texts of a pair one type.
ONE_TYPE = "one_token_type"


@dataclass(frozen=True)
class Family:
    """The paths of a family's modules: `query` to `out` inside a layer, the others inside the
    model.

    fused: one projection for query, key and value
    order: of the rows of `fused`
    inputs_first: weights are stored [in, out]
    shared: every layer reads it
    after: reads the last layer; everything else outside the layers belongs to the embeddings
    attention: the maps pass through its `dropout` in a family that takes no attention function
    attention_block: the parts of a layer that make what attention adds to its input, the norms of
        this block among them; all other parts are its feed-forward block, which reads the sum.
        None are named where these are not known, and where both blocks read the layer's input
        (GPT-NeoX)
    pooling: applied by the published classifier to the token that it reads: the model's pooler, or
        a dense layer with an activation and perhaps a norm; decoders have none
    causal: a token sees only itself and the tokens before it
    tuples: a layer returns a tuple, whose first item is its states
    heads_apart: no norm mixes the queries or keys of a layer's heads
    segments: the model reads the segments of tokens, if it has more than one type of tokens; None
        if that is unknown
    positions_from_padding: positions begin after the number of the padding token
    positions: counted in a model without a row
    without_layers: a model without layers can run, and be saved and loaded
    """

    layers: str
    out: str = ""
    query: str = ""
    key: str = ""
    value: str = ""
    fused: str = ""
    order: str = ""
    inputs_first: bool = False
    shared: tuple[str, ...] = ()
    after: tuple[str, ...] = ("pooler",)
    attention: str = ""
    attention_block: tuple[str, ...] = ()
    pooling: str = ""
    causal: bool = False
    tuples: bool = False
    heads_apart: bool = True
    segments: bool | None = False
    positions_from_padding: bool = False
    positions: int = 0
    without_layers: bool = True

    def group(self, name: str) -> str:
        """Name the part that a parameter of the bare model belongs to: "embeddings", the number of
        a layer, "shared" by the layers, or the name of a module after them."""
        if match := re.match(rf"{re.escape(self.layers)}\.(\d+)\.", name):
            return str(int(match[1]) + 1)
        if name.startswith(tuple(f"{part}." for part in self.shared)):
            return "shared"
        for part in self.after:
            if name.startswith(f"{part}."):
                return part
        return "embeddings"


_BERT = Family(
    "encoder.layer",
    "attention.output.dense",
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    attention_block=("attention",),
    pooling="pooler",
    segments=True,
)
FAMILIES = {
    "bert": _BERT,
    "electra": replace(_BERT, pooling="gelu"),
    "roberta": replace(_BERT, pooling="tanh", positions_from_padding=True),
    "distilbert": Family(
        "transformer.layer",
        "attention.out_lin",
        "attention.q_lin",
        "attention.k_lin",
        "attention.v_lin",
        attention_block=("attention", "sa_layer_norm"),
        pooling="relu",
    ),
    "albert": Family(
        "encoder.albert_layer_groups",
        "albert_layers.0.attention.dense",
        "albert_layers.0.attention.query",
        "albert_layers.0.attention.key",
        "albert_layers.0.attention.value",
        attention_block=("albert_layers.0.attention",),
        pooling="pooler",
        segments=True,
    ),
    "deberta-v2": Family(
        "encoder.layer",
        "attention.output.dense",
        "attention.self.query_proj",
        "attention.self.key_proj",
        "attention.self.value_proj",
        attention="attention.self",
        attention_block=("attention",),
        pooling="gelu",
        tuples=True,
        segments=True,
        without_layers=False,
        shared=("encoder.rel_embeddings", "encoder.LayerNorm", "encoder.conv"),
    ),
    "mpnet": Family(
        "encoder.layer",
        "attention.attn.o",
        "attention.attn.q",
        "attention.attn.k",
        "attention.attn.v",
        attention="attention.attn",
        attention_block=("attention",),
        pooling="tanh",
        tuples=True,
        positions_from_padding=True,
        shared=("encoder.relative_attention_bias",),
    ),
    "modernbert": Family(
        "layers",
        "attn.Wo",
        fused="attn.Wqkv",
        order="qkv,head",
        attention_block=("attn_norm", "attn"),
        after=("final_norm",),
        pooling="gelu+norm",
        without_layers=False,
    ),
    "gpt2": Family(
        "h",
        "attn.c_proj",
        fused="attn.c_attn",
        order="qkv,head",
        attention_block=("ln_1", "attn"),
        inputs_first=True,
        after=("ln_f",),
        causal=True,
    ),
    "gpt_neox": Family(
        "layers",
        "attention.dense",
        fused="attention.query_key_value",
        order="head,qkv",
        after=("final_layer_norm",),
        causal=True,
    ),
    "llama": Family(
        "layers",
        "self_attn.o_proj",
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        attention_block=("input_layernorm", "self_attn"),
        after=("norm",),
        causal=True,
    ),
}
FAMILIES |= dict.fromkeys(("xlm-roberta", "camembert"), FAMILIES["roberta"])
_OLMO2 = replace(
    FAMILIES["llama"],
    attention_block=("self_attn", "post_attention_layernorm"),
    heads_apart=False,
)
FAMILIES |= {"qwen3": FAMILIES["llama"], "olmo2": _OLMO2}
