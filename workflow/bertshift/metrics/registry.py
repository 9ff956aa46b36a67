"""The metrics of two models: which module compares them, and what that module reads. Imports none of them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """`module`, in this package, has `compare`, which takes the pairs of activation files and what is named here.

    dump: the kind of activation file, one of requests.activations.KINDS; tokens: the key of `samples` that says how many
    tokens are compared; weights: whether `compare` takes the models' folders; annotations: whether it takes the words'
    tags and trees.
    """

    module: str
    dump: str = "attention"
    tokens: str | None = None
    weights: bool = False
    annotations: bool = False


METRICS: Mapping[str, Metric] = {
    # Attention maps, head by head.
    "cosine": Metric("cosine"),
    "js": Metric("jensen_shannon"),
    "attention_to": Metric("attention_to", weights=True, annotations=True),
    "own_or_inherited": Metric("own_or_inherited", weights=True),
    # Hidden states, layer by layer.
    "svcca": Metric("svcca", tokens="svcca_tokens"),
    "similarity": Metric("similarity", tokens="svcca_tokens"),
    "layer_cka": Metric("layer_cka", tokens="tokens"),
    "rsa": Metric("rsa", dump="sampled", tokens="tokens"),
}
