"""Claims of Hao et al. 2020."""

import numpy as np

from bertshift.claims.deciding import claim

_HAO = ["mnli", "rte", "sst2", "mrpc"]


@claim(
    "hao2020/figure1", "H1.1", "mean JS of layers 20 to 24 over that of layers 1 to 12, of 24", _HAO, low=3.0
)
def attention_of_last_layers_changes(evidence, task):
    curve = evidence.curve(task, "nats")
    return curve.mean(20, 24, 24) / max(curve.mean(1, 12, 24), np.finfo(float).tiny)


@claim(
    "hao2020/figure1",
    "H1.2",
    "depth at which the layer of the largest JS begins",
    _HAO,
    low=2 / 3,
    strict=False,
)
def attention_changes_most_at_the_end(evidence, task):
    curve = evidence.curve(task, "nats")
    return (curve.peak - 1) / curve.layers


@claim(
    "hao2020/figure2",
    "H2.1",
    "mean distance of the upper half of layers minus that of the lower",
    _HAO,
    low=0.0,
)
def higher_layers_move_more(evidence, task):
    curve = evidence.curve(task, "svcca99")
    return curve.mean(13, 24, 24) - curve.mean(1, 12, 24)


@claim(
    "hao2020/figure2",
    "H2.2",
    "depth at which the layer of the largest distance begins",
    _HAO,
    low=2 / 3,
    strict=False,
)
def hidden_states_move_most_at_the_end(evidence, task):
    curve = evidence.curve(task, "svcca99")
    return (curve.peak - 1) / curve.layers
