"""What Hao et al. 2020 say, and the number of ours that decides it."""

import numpy as np

from bertshift.verdicts.deciding import Claims
from bertshift.verdicts.evidence import Curve, rank_correlation, ratio

CLAIMS = Claims("hao2020")
claim = CLAIMS.about
_HAO = ["mnli", "rte", "sst2", "mrpc"]


def _depth_of_peak(curve: Curve) -> float:
    return (curve.peak - 1) / curve.layers


def _between_seeds(evidence, task: str, variant: str) -> Curve:
    return evidence.curve(f"{task}-{task}", variant)


# ---- Figures 1 and 2: between the pretrained and the fine-tuned model


@claim("figure1", "H1.1", "mean JS of layers 20 to 24 over that of layers 1 to 12, of 24", _HAO, low=3.0)
def attention_of_last_layers_changes(evidence, task):
    curve = evidence.curve(task, "nats")
    return ratio(curve.mean(20, 24, 24), curve.mean(1, 12, 24), "JS of layers 1 to 12")


@claim("figure1", "H1.2", "depth at which the layer of the largest JS begins", _HAO, low=2 / 3, strict=False)
def attention_changes_most_at_the_end(evidence, task):
    return _depth_of_peak(evidence.curve(task, "nats"))


@claim("figure2", "H2.1", "mean distance of the upper half of layers minus that of the lower", _HAO, low=0.0)
def higher_layers_move_more(evidence, task):
    curve = evidence.curve(task, "svcca99")
    return curve.mean(13, 24, 24) - curve.mean(1, 12, 24)


@claim(
    "figure2", "H2.2", "depth at which the layer of the largest distance begins", _HAO, low=2 / 3, strict=False
)  # fmt: skip
def hidden_states_move_most_at_the_end(evidence, task):
    return _depth_of_peak(evidence.curve(task, "svcca99"))


# ---- Figure 3: one layer restored


@claim("figure3", "H3.1", "largest distance of layers 1 to 11 over the largest of all 24", _HAO, high=0.5)
def lower_layers_hardly_matter(evidence, task):
    curve = evidence.curve(task, "svcca99")
    largest = max(curve[layer] for layer in curve.part(1, 11, 24))
    return ratio(largest, curve[curve.peak], "the distance with any layer restored")


@claim(
    "figure3", "H3.2", "mean distance of layers 12 to 24 minus that of layers 1 to 11, of 24", _HAO, low=0.0
)
def upper_layers_matter_more(evidence, task):
    curve = evidence.curve(task, "svcca99")
    return curve.mean(12, 24, 24) - curve.mean(1, 11, 24)


# ---- Figures 4 and 5: between two seeds


@claim(
    "figure4", "H4.1", "mean JS of layers 20 to 24 over that of layers 1 to 12, of 24", ["mnli", "sst2"], low=3.0
)  # fmt: skip
def seeds_differ_in_the_last_layers(evidence, task):
    curve = _between_seeds(evidence, task, "nats")
    return ratio(curve.mean(20, 24, 24), curve.mean(1, 12, 24), "JS of layers 1 to 12")


@claim(
    "figure4", "H4.2", "first layer with a JS above twice the mean of layers 1 to 8", ["mrpc"], low=9, high=10,
    strict=False,
)  # fmt: skip
def seeds_part_at_the_ninth_layer(evidence, task):
    curve = _between_seeds(evidence, task, "nats").exactly(24)
    bound = 2 * curve.mean(1, 8, 24)
    return float(next((layer for layer in range(1, 25) if curve[layer] > bound), np.nan))


@claim("figure4", "H.1", "mean JS of layers 1 to 10 over that of layers 11 to 24, of 24", _HAO, high=1.0)
def low_layers_agree_across_seeds(evidence, task):
    curve = _between_seeds(evidence, task, "nats")
    return ratio(curve.mean(1, 10, 24), curve.mean(11, 24, 24), "JS of layers 11 to 24")


@claim("figure5", "H5.1", "rank correlation of distance and layer", _HAO, low=0.9)
def the_distance_of_seeds_grows_with_depth(evidence, task):
    curve = _between_seeds(evidence, task, "svcca99")
    layers = range(1, curve.layers + 1)
    return rank_correlation(layers, [curve[layer] for layer in layers], "the distance")


@claim(
    "figure5", "H5.2", "mean step of the distance from that layer of 24 on, minus that below",
    ["mnli, 19", "sst2, 19", "mrpc, 13"], low=0.0,
)  # fmt: skip
def it_grows_faster_in_the_last_layers(evidence, task, first):
    curve = _between_seeds(evidence, task, "svcca99")
    steps = Curve(
        {layer: curve[layer] - curve[layer - 1] for layer in range(1, curve.layers + 1)}, curve.layers
    )
    return steps.mean(int(first), 24, 24) - steps.mean(1, int(first) - 1, 24)


# ---- Figures 6 and 7: between models of two tasks, from the most to the least alike

_PAIRS = ["rte-mnli", "mrpc-rte", "mrpc-sst2"]


@claim(
    "figure6", "H6.1", "mean JS of layers 1 to 8 over that of layers 12 to 24, of 24", _PAIRS, high=1.0
)  # fmt: skip
def low_layers_agree_across_tasks(evidence, pair):
    curve = evidence.curve(pair, "nats")
    return ratio(curve.mean(1, 8, 24), curve.mean(12, 24, 24), "JS of layers 12 to 24")


@claim(
    "figure6", "H6.1", "mean JS of layers 1 to 8 of 24 over the larger between seeds of either task",
    [f"{pair}, seeds" for pair in _PAIRS], high=2.0, across=True,
)  # fmt: skip
def low_layers_agree_across_tasks_as_across_seeds(evidence, pair, _):
    """What two seeds of one task differ by is the least that two tasks can."""
    floor = max(_between_seeds(evidence, task, "nats").mean(1, 8, 24) for task in pair.split("-"))
    return ratio(evidence.curve(pair, "nats").mean(1, 8, 24), floor, "JS between seeds in layers 1 to 8")


def _least_step(evidence, variant: str) -> float:
    """How much further apart, at the least, a pair of tasks is than the more alike one before it."""
    means = [evidence.curve(pair, variant).mean(12, 24, 24) for pair in _PAIRS]
    return float(min(np.diff(means)))


_STEP = "least step of mean {} of layers 12 to 24 of 24 from RTE-MNLI to MRPC-RTE to MRPC-SST2"


@claim("figure6", "H6.2", _STEP.format("JS"), low=0.0)
def unlike_tasks_differ_more_in_attention(evidence):
    return _least_step(evidence, "nats")


@claim("figure7", "H7.1", _STEP.format("distance"), low=0.0)
def unlike_tasks_differ_more_in_hidden_states(evidence):
    return _least_step(evidence, "svcca99")


# ---- Figure 2 by other measures than SVCCA: a control

_VARIANTS = {"PWCCA": "pwcca_reference", "CKA": "cka_debiased", "Procrustes": "procrustes"}
_CASES = [f"{measure}, {task}" for measure in _VARIANTS for task in _HAO]


@claim(
    "similarity", "H2.3", "mean distance of the upper half of layers minus that of the lower", _CASES, low=0.0
)
def higher_layers_move_more_by_other_measures(evidence, measure, task):
    curve = evidence.distance(task, _VARIANTS[measure])
    return curve.mean(13, 24, 24) - curve.mean(1, 12, 24)


@claim(
    "similarity", "H2.4", "depth at which the layer of the largest distance begins", _CASES, low=2 / 3, strict=False
)  # fmt: skip
def hidden_states_move_most_at_the_end_by_other_measures(evidence, measure, task):
    return _depth_of_peak(evidence.distance(task, _VARIANTS[measure]))
