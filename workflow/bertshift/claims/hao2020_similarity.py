"""Claims of Hao et al. 2020 on hidden states (H2.1, H2.2), decided with other measures than SVCCA."""

from bertshift.claims.deciding import claim

_VARIANTS = {"PWCCA": "pwcca_reference", "CKA": "cka_debiased", "Procrustes": "procrustes"}
_CASES = [f"{measure}, {task}" for measure in _VARIANTS for task in ("mnli", "rte", "sst2", "mrpc")]


@claim(
    "hao2020/similarity",
    "H2.3",
    "mean distance of the upper half of layers minus that of the lower",
    _CASES,
    low=0.0,
)
def higher_layers_move_more(evidence, measure, task):
    curve = evidence.distance(task, _VARIANTS[measure])
    return curve.mean(13, 24, 24) - curve.mean(1, 12, 24)


@claim(
    "hao2020/similarity",
    "H2.4",
    "depth at which the layer of the largest distance begins",
    _CASES,
    low=2 / 3,
    strict=False,
)
def hidden_states_move_most_at_the_end(evidence, measure, task):
    curve = evidence.distance(task, _VARIANTS[measure])
    return (curve.peak - 1) / curve.layers
