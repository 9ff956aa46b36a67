"""Differences between families of transformers: where their layers, projections and norms are.

One row a family. Imports neither torch nor transformers; what a row means for a model is in
`family`.
"""

import re
from dataclasses import dataclass, replace

# The key of a model folder's config.json for a tokenizer that gives both texts of a pair one type.
ONE_TYPE = "one_token_type"


@dataclass(frozen=True)
class Family:
    """The places of a family's parts, as paths of modules: `query` to `out` inside a layer, the
    others inside the model.

    `fused` is one projection for query, key and value; its rows are ordered by `order`.
    `inputs_first`: weights are kept [in, out]. `shared` is what every layer reads, `after` what
    reads the last layer; all else outside the layers belongs to the embeddings. `attention` is the
    module whose `dropout` the maps pass through, in a family that takes no attention function.
    `pooling` is what the published classifier does with the token that it reads: the model's own
    pooler, or a dense layer with an activation and perhaps a norm; nothing in decoders. `causal`:
    a token sees the tokens before it alone. `tuples`: a layer puts out its states as the first of
    a tuple. `heads_apart`: no norm mixes the queries or keys of a layer's heads. `segments`: the
    model reads which text a token is of, where it has more than one type of them; None if that is
    not known. `positions_from_padding`: positions begin behind the number of the padding token;
    `positions` is how many were counted in a model without a row. `without_layers`: a model that
    has none runs, and is read again.
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
        a layer, "shared" by the layers, or the name of what comes after them."""
        if match := re.match(rf"{re.escape(self.layers)}\.(\d+)\.", name):
            return str(int(match[1]) + 1)
        if name.startswith(tuple(f"{part}." for part in self.shared)):
            return "shared"
        return next((part for part in self.after if name.startswith(f"{part}.")), "embeddings")


def _bert(pooling: str, **more) -> Family:
    inside = {name: f"attention.self.{name}" for name in ("query", "key", "value")}
    return Family("encoder.layer", "attention.output.dense", **inside, pooling=pooling, **more)


_DEBERTA = {name: f"attention.self.{name}_proj" for name in ("query", "key", "value")}
FAMILIES = {
    "bert": _bert("pooler", segments=True),
    "electra": _bert("gelu", segments=True),
    "roberta": _bert("tanh", segments=True, positions_from_padding=True),
    "distilbert": Family(
        "transformer.layer",
        "attention.out_lin",
        "attention.q_lin",
        "attention.k_lin",
        "attention.v_lin",
        pooling="relu",
    ),
    "albert": Family(
        "encoder.albert_layer_groups",
        "albert_layers.0.attention.dense",
        "albert_layers.0.attention.query",
        "albert_layers.0.attention.key",
        "albert_layers.0.attention.value",
        pooling="pooler",
        segments=True,
    ),
    "deberta-v2": Family(
        "encoder.layer",
        "attention.output.dense",
        **_DEBERTA,
        attention="attention.self",
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
        after=("final_norm",),
        pooling="gelu+norm",
        without_layers=False,
    ),
    "gpt2": Family(
        "h",
        "attn.c_proj",
        fused="attn.c_attn",
        order="qkv,head",
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
        after=("norm",),
        causal=True,
    ),
}
FAMILIES |= dict.fromkeys(("xlm-roberta", "camembert"), FAMILIES["roberta"])
FAMILIES |= {"qwen3": FAMILIES["llama"], "olmo2": replace(FAMILIES["llama"], heads_apart=False)}
