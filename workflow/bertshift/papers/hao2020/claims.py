"""What Hao et al. 2020 say, and the number of ours that decides it."""

import numpy as np

from bertshift.verdicts.deciding import Claims
from bertshift.verdicts.evidence import Curve, rank_correlation, ratio

CLAIMS = Claims("hao2020")
claim = CLAIMS.about
TASKS = ["mnli", "rte", "sst2", "mrpc"]
PAIRS = ["rte-mnli", "mrpc-rte", "mrpc-sst2"]  # from the most to the least alike
BETWEEN_SEEDS = ("figure4", "figure5")
ATTENTION = ("figure1", "figure4", "figure6")  # the other figures show distances of hidden states
MEASURES = {"PWCCA": "pwcca_reference", "CKA": "cka_debiased", "Procrustes": "procrustes"}
BY_MEASURE = [f"{measure}, {task}" for measure in MEASURES for task in TASKS]


def curve_claim(item: str, id: str, *measure: str, cases=TASKS, **criterion):
    """The decorated function takes the figure's curve, and the words of the case: these begin with a task, a pair of tasks
    or, in the control `similarity`, a measure, which a task follows."""

    def curve(evidence, name: str, *words: str) -> Curve:
        if item == "similarity":
            return evidence.distance(*words, MEASURES[name])
        name = f"{name}-{name}" if item in BETWEEN_SEEDS else name
        return evidence.curve(name, "nats" if item in ATTENTION else "svcca99")

    return claim(item, id, *measure, cases=cases, of=curve, **criterion)


# ---- Figures 1 to 3, and the control: the pretrained and the fine-tuned model. Figures 4 and 5: two seeds

PEAK = "depth at which the layer of the largest {} begins"


@curve_claim("figure1", "H1.1", low=3.0)
@curve_claim("figure4", "H4.1", cases=["mnli", "sst2"], low=3.0)
def attention_differs_in_the_last_layers(curve, _):
    """mean JS of layers 20 to 24 over that of layers 1 to 12, of 24"""
    return ratio(curve.mean(20, 24, 24), curve.mean(1, 12, 24), "JS of layers 1 to 12")


@curve_claim("figure2", "H2.1", low=0.0)
@curve_claim("similarity", "H2.3", cases=BY_MEASURE, low=0.0)
def higher_layers_move_more(curve, *_):
    """mean distance of the upper half of layers minus that of the lower"""
    return curve.mean(13, 24, 24) - curve.mean(1, 12, 24)


@curve_claim("figure1", "H1.2", PEAK.format("JS"), low=2 / 3, strict=False)
@curve_claim("figure2", "H2.2", PEAK.format("distance"), low=2 / 3, strict=False)
@curve_claim("similarity", "H2.4", PEAK.format("distance"), cases=BY_MEASURE, low=2 / 3, strict=False)
def the_end_changes_most(curve, *_):
    return (curve.peak - 1) / curve.layers


@curve_claim("figure3", "H3.1", high=0.5)
def restored_lower_layers_hardly_matter(curve, _):
    """largest distance of layers 1 to 11 over the largest of all 24"""
    largest = max(curve[layer] for layer in curve.part(1, 11, 24))
    return ratio(largest, curve[curve.peak], "the distance with any layer restored")


@curve_claim("figure3", "H3.2", low=0.0)
def restored_upper_layers_matter_more(curve, _):
    """mean distance of layers 12 to 24 minus that of layers 1 to 11, of 24"""
    return curve.mean(12, 24, 24) - curve.mean(1, 11, 24)


@curve_claim("figure4", "H4.2", cases=["mrpc"], low=9, high=10, strict=False)
def seeds_part_at_the_ninth_layer(curve, _):
    """first layer with a JS above twice the mean of layers 1 to 8"""
    bound = 2 * curve.exactly(24).mean(1, 8, 24)
    return next((layer for layer in range(1, 25) if curve[layer] > bound), np.nan)


@curve_claim("figure4", "H.1", high=1.0)
def low_layers_agree_across_seeds(curve, _):
    """mean JS of layers 1 to 10 over that of layers 11 to 24, of 24"""
    return ratio(curve.mean(1, 10, 24), curve.mean(11, 24, 24), "JS of layers 11 to 24")


@curve_claim("figure5", "H5.1", low=0.9)
def the_distance_of_seeds_grows_with_depth(curve, _):
    """rank correlation of distance and layer"""
    layers = range(1, curve.layers + 1)
    return rank_correlation(layers, [curve[layer] for layer in layers], "the distance")


@curve_claim("figure5", "H5.2", cases=["mnli, 19", "sst2, 19", "mrpc, 13"], low=0.0)
def it_grows_faster_in_the_last_layers(curve, _, first):
    """mean step of the distance from that layer of 24 on, minus that below"""
    depth = range(1, curve.layers + 1)
    steps = Curve({layer: curve[layer] - curve[layer - 1] for layer in depth}, curve.layers)
    return steps.mean(int(first), 24, 24) - steps.mean(1, int(first) - 1, 24)


# ---- Figures 6 and 7: between models of two tasks


@curve_claim("figure6", "H6.1", cases=PAIRS, high=1.0)
def low_layers_agree_across_tasks(curve, _):
    """mean JS of layers 1 to 8 over that of layers 12 to 24, of 24"""
    return ratio(curve.mean(1, 8, 24), curve.mean(12, 24, 24), "JS of layers 12 to 24")


@claim("figure6", "H6.1", cases=[f"{pair}, seeds" for pair in PAIRS], high=2.0, across=True)
def low_layers_agree_across_tasks_as_across_seeds(evidence, pair, _):
    """mean JS of layers 1 to 8 of 24 over the larger between seeds of either task

    What two seeds of one task differ by is the least that two tasks can.
    """
    tasks = [f"{task}-{task}" for task in pair.split("-")]
    *seeds, apart = (evidence.curve(name, "nats").mean(1, 8, 24) for name in (*tasks, pair))
    return ratio(apart, max(seeds), "JS between seeds in layers 1 to 8")


STEP = "least step of mean {} of layers 12 to 24 of 24 from RTE-MNLI to MRPC-RTE to MRPC-SST2"


@claim("figure6", "H6.2", STEP.format("JS"), given=["nats"], low=0.0)
@claim("figure7", "H7.1", STEP.format("distance"), given=["svcca99"], low=0.0)
def less_alike_tasks_differ_more(evidence, variant):
    return min(np.diff([evidence.curve(pair, variant).mean(12, 24, 24) for pair in PAIRS]))
