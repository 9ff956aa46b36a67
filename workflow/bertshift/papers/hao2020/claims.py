"""Statements of Hao et al. 2020, and the number of ours that decides each."""

import numpy as np

from bertshift.measures import CORRELATION, MEASURES, POSITIVE
from bertshift.verdicts.deciding import ALL, SOME, Claims, case, of_pairs
from bertshift.verdicts.evidence import Curve, Profiles, ratio

CLAIMS = Claims("hao2020")
TASKS = ["mnli", "rte", "sst2", "mrpc"]
PAIRS = ["rte-mnli", "mrpc-rte", "mrpc-sst2"]  # from the most to the least alike
BETWEEN_SEEDS = ("figure4", "figure5")
ATTENTION = ("figure1", "figure4", "figure6")  # the other figures show distances of hidden states
VARIANTS = {"PWCCA": "pwcca_reference", "CKA": "cka_debiased", "Procrustes": "procrustes"}
BY_MEASURE = [case(measure, task) for measure in VARIANTS for task in TASKS]


def claim(item: str, id: str, measure: str, number, cases=TASKS, **criterion) -> None:
    """Add claim `id` on figure `item`. `number` takes the figure's curve and the values of
    the case. These begin with a task, a pair of tasks or, in the control `similarity`, a measure,
    which a task follows."""

    def curve(evidence, name: str, *values: str | int) -> Curve:
        if item == "similarity":
            return evidence.by_layer(*values, tokens="all", variant=VARIANTS[name])
        variant = "nats" if item in ATTENTION else "svcca99"
        if item in BETWEEN_SEEDS:
            name = f"{name}-{name}"
        return evidence.curve(name, variant)

    CLAIMS.about(item, id, measure, number, cases, of=curve, **criterion)


# ---- Kinds of numbers; layers are those of 24, or of another depth those that lie wholly within
# the same shares of it

OF_24 = "of 24"


def share_of(layers: tuple[int, int], base_layers: tuple[int, int]):
    """Make a function that divides the mean JS of two ranges of layers."""
    base_name = "JS of layers {} to {}".format(*base_layers)
    return lambda js, _: ratio(js.mean(*layers, 24), js.mean(*base_layers, 24), base_name)


def above_minus_below(layer: int):
    """Make a function that subtracts the mean below a layer from the mean from this layer on."""
    return lambda curve, *_: curve.mean(layer, 24, 24) - curve.mean(1, layer - 1, 24)


def depth_of_peak(curve, *_):
    return (curve.peak - 1) / curve.layers


def lower_layers_restored(curve, _):
    """Divide the distance with each lower layer restored by that with each layer above these."""
    what = "the distance with any layer restored"
    lower_layers = curve.part(1, 11, 24)
    upper_layers = range(lower_layers[-1] + 1, curve.layers + 1)
    return {
        (lower, upper): ratio(curve[lower], curve[upper], what)
        for lower in lower_layers
        for upper in upper_layers
    }


def where_seeds_part(curve, _):
    bound = 2 * curve.exactly(24).mean(1, 8, 24)
    return next((layer for layer in range(1, 25) if curve[layer] > bound), np.nan)


def growth_with_depth(curve, _):
    layers = range(1, curve.layers + 1)
    return Profiles(layers, [curve[layer] for layer in layers])


def faster_growth(curve, _, first):
    depth = range(1, curve.layers + 1)
    steps = curve.with_values({layer: curve[layer] - curve[layer - 1] for layer in depth})
    return above_minus_below(first)(steps)


def tasks_apart_over_seeds(evidence, pair, _):
    """Divide the JS between two tasks by the JS between seeds of either. Chance alone sets two
    seeds of one task apart; they are measured on that task's inputs."""

    def mean_js(name: str) -> float:
        return evidence.curve(name, "nats").mean(1, 8, 24)

    what = "JS between seeds in layers 1 to 8"
    between_tasks = mean_js(pair)
    tasks = pair.split("-")
    return {task: ratio(between_tasks, mean_js(f"{task}-{task}"), what) for task in tasks}


def step_between_pairs(variant: str):
    """List the steps of the mean over layers 12 to 24 from each of PAIRS to the next."""

    def steps(evidence):
        means = [evidence.curve(pair, variant).mean(12, 24, 24) for pair in PAIRS]
        return dict(zip(PAIRS[1:], np.diff(means), strict=True))

    return steps


# ---- Figures 1 to 3, and the control: the pretrained and the fine-tuned model

LAST = f"mean JS of layers 20 to 24 over mean JS of layers 1 to 12, {OF_24}"
HALVES = "mean distance of the upper half of layers minus mean distance of the lower"
OF_PEAKS = {"strict": False, "grid": True}
PEAK = "depth, 0 to 1, at which the layer of the largest {} begins"
OTHERS = ", over all tokens, by PWCCA weighted by the pretrained model, debiased CKA or Procrustes"
claim("figure1", "H1.1", LAST, share_of((20, 24), (1, 12)), low=3.0, bounds=POSITIVE)
claim("figure1", "H1.2", PEAK.format("JS"), depth_of_peak, low=2 / 3, **OF_PEAKS)
claim("figure2", "H2.1", HALVES, above_minus_below(13), low=0.0)
claim(
    "figure2",
    "H2.2",
    PEAK.format("distance"),
    depth_of_peak,
    low=2 / 3,
    **OF_PEAKS,
)
claim("similarity", "H2.3", HALVES + OTHERS, above_minus_below(13), BY_MEASURE, low=0.0)
claim(
    "similarity",
    "H2.4",
    PEAK.format("distance") + OTHERS,
    depth_of_peak,
    BY_MEASURE,
    low=2 / 3,
    **OF_PEAKS,
)
claim(
    "figure3",
    "H3.1",
    "largest distance of layers 1 to 11 over the largest of those above, of 24",
    lower_layers_restored,
    each=of_pairs,
    high=0.5,
    bounds=POSITIVE,
)
claim(
    "figure3",
    "H3.2",
    "mean distance of the output with one of layers 12 to 24 restored minus that with one of 1 to"
    f" 11, {OF_24}",
    above_minus_below(12),
    low=0.0,
)

# ---- Figures 4 and 5: two seeds

claim(
    "figure4",
    "H4.1",
    LAST,
    share_of((20, 24), (1, 12)),
    ["mnli", "sst2"],
    low=3.0,
    bounds=POSITIVE,
)
claim(
    "figure4",
    "H4.2",
    "first layer with a JS above twice the mean of layers 1 to 8",
    where_seeds_part,
    ["mrpc"],
    low=9,
    high=10,
    strict=False,
    grid=True,
)
claim(
    "figure4",
    "H.1",
    f"mean JS of layers 1 to 10 over mean JS of layers 11 to 24, {OF_24}",
    share_of((1, 10), (11, 24)),
    high=1.0,
    bounds=POSITIVE,
)
claim(
    "figure5",
    "H5.1",
    "rank correlation of distance and layer",
    growth_with_depth,
    low=0.9,
    bounds=CORRELATION,
)
claim(
    "figure5",
    "H5.2",
    "mean step of the distance from that layer of 24 on, minus that below",
    faster_growth,
    [case("mnli", 19), case("sst2", 19), case("mrpc", 13)],
    low=0.0,
)

# ---- Figures 6 and 7: between models of two tasks

STEP = (
    f"least step of mean {{}} of layers 12 to 24 {OF_24}, from RTE-MNLI to MRPC-RTE to MRPC-SST2"
)
claim(
    "figure6",
    "H6.1",
    f"mean JS of layers 1 to 8 over mean JS of layers 12 to 24, {OF_24}",
    share_of((1, 8), (12, 24)),
    PAIRS,
    high=1.0,
    bounds=POSITIVE,
)
CLAIMS.about(
    "figure6",
    "H6.1",
    f"mean JS of layers 1 to 8 {OF_24}, over the larger between seeds of either task",
    tasks_apart_over_seeds,
    [case(pair, "seeds") for pair in PAIRS],
    each=SOME,
    high=2.0,
    across=True,
    bounds=POSITIVE,
)
CLAIMS.about("figure6", "H6.2", STEP.format("JS"), step_between_pairs("nats"), each=ALL, low=0.0)
CLAIMS.about(
    "figure7",
    "H7.1",
    STEP.format(MEASURES["svcca"].title),
    step_between_pairs("svcca99"),
    each=ALL,
    low=0.0,
)
