"""What Merchant et al. 2020 say, and the number of ours that decides it."""

from collections.abc import Iterable
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from bertshift.figures import style
from bertshift.naming import NOTHING_FROZEN
from bertshift.rows import statistics
from bertshift.verdicts.deciding import Claims
from bertshift.verdicts.evidence import Curve, Evidence, NotTestableError, ratio

CLAIMS = Claims("merchant2020")
FINETUNED = ["mnli", "squad", "dep"]
TASKS = list(style.EDGES)


def _first_of_two(there: Iterable[bool]) -> float:
    """The first layer k, from 0, that is `there` together with layer k + 1; NaN if there is none."""
    return next((k for k, both in enumerate(pairwise(there)) if all(both)), np.nan)


# ---- Table 1

table1 = partial(CLAIMS.about, "table1")


def _f1(evidence: Evidence, model: str, task: str, variant: str = "mix") -> float:
    """In points; `lexical` is the pretrained model's embedding output."""
    if model == "lexical":
        model, variant = "base", "lexical"
    return statistics.POINTS * float(evidence.edge_probes(model, variant, task=task)["value"].mean())


@table1(
    "T1.4", "Δ of MNLI on constituents", given=["mnli", "constituents"], low=-3.5, high=-1.0, strict=False
)
@table1(
    "T1.5", "Δ of SQuAD", ["pos", "dependencies", "srl"], given=["squad"], low=-3.5, high=-1.0, strict=False
)
@table1("T1.6", "Δ of Dep on constituents", given=["dep", "constituents"], low=2.0, strict=False)
@table1("T1.7", "Δ of Dep", ["coref", "spr", "relations"], given=["dep"], high=0.0)
@table1("T1.9", "Δ of Dep on dependencies", given=["dep", "dependencies"], low=-0.5, strict=False)
def delta(evidence, model, task, variant="mix"):
    """F1 minus that of the pretrained model, in points."""
    return _f1(evidence, model, task, variant) - _f1(evidence, "base", task, variant)


def _deltas(evidence: Evidence) -> np.ndarray:
    """[fine-tuned models, tasks]"""
    return np.array([[delta(evidence, model, task) for task in TASKS] for model in FINETUNED])


@table1("T1.1", high=1.5, strict=False)
def probes_change_little(evidence):
    """mean |Δ| over 3 models and 8 tasks, in points"""
    return np.abs(_deltas(evidence)).mean()


@table1("T1.2", high=1.0)
def far_less_than_the_baselines(evidence):
    """largest |Δ| over |Δ of lexical| of the same task"""
    largest = np.abs(_deltas(evidence)).max(axis=0)
    return max(
        ratio(change, abs(delta(evidence, "lexical", task)), f"Δ of lexical on {style.EDGES[task]}")
        for task, change in zip(TASKS, largest, strict=True)
    )


@table1("T1.3", "number of 24 Δ from -2 to 0 points", given=[-2, 0], low=13, strict=False)
@table1("T1.10", "number of 24 |Δ| up to 1.4 points", given=[-1.4, 1.4], low=16, strict=False)
def most_changes_are_small(evidence, least, most):
    deltas = _deltas(evidence)
    return ((deltas >= least) & (deltas <= most)).sum()


@table1("T1.8", high=0.0)
def randomized_is_below_lexical(evidence):
    """largest F1 of randomized minus lexical over tasks"""
    return max(_f1(evidence, "randomized", task) - _f1(evidence, "lexical", task) for task in TASKS)


_MOST = {"probes": 0.8, "fine-tuning": 1.1, "pretraining": 1.5}


@table1("T1.11", cases=[(kind, {"high": most}) for kind, most in _MOST.items()], strict=False, across=True)
def runs_vary_this_much(evidence, kind):
    """sd of F1 between runs of one kind, pooled over models and tasks"""
    rows = pd.concat([evidence.edge_probes(name, "mix") for name in ("base", *FINETUNED)])
    spreads = statistics.spreads(statistics.in_points(rows), ["name", "task"])
    pooled = np.sqrt((spreads[dict(zip(_MOST, statistics.SPREADS))[kind]] ** 2).mean())
    if np.isnan(pooled):
        raise NotTestableError(f"no two runs differ in {kind} alone")
    return pooled


@table1("T1.12", low=-5.0)
def nothing_is_forgotten(evidence):
    """least Δ over 3 models and 8 tasks"""
    return _deltas(evidence).min()


# ---- Figure 1

figure1 = partial(CLAIMS.about, "figure1")
_PROBES = ["depth", "distance"]
_KEPT = [f"{task}, {kind}" for task in ("mnli", "squad") for kind in _PROBES]


def _lift(evidence: Evidence, model: str, kind: str) -> Curve:
    return evidence.spearman(model, kind) - evidence.spearman("base", kind)


@figure1("F1.1", cases=_PROBES, low=4, high=6, strict=False)
def dep_improves_syntax_early(evidence, kind):
    """first of two layers at which Dep is 0.01 above base"""
    lift = _lift(evidence, "dep", kind).exactly(12)
    return _first_of_two(lift[k] > 0.01 for k in range(13))


@figure1("F1.2", cases=_KEPT, of=_lift, high=0.03, strict=False)
def syntax_is_kept(lift, *_):
    """largest |difference to base| below the last layer"""
    return max(abs(lift[k]) for k in range(lift.layers))


@figure1("F1.3", cases=_KEPT, of=_lift, high=0.0)
def the_last_layer_drops(lift, *_):
    """difference to base at the last layer"""
    return lift[lift.layers]


@figure1("F1.4", cases=_PROBES, low=0.0)
def there_is_headroom(evidence, kind):
    """best layer of Dep minus best layer of base"""
    dep, base = (evidence.spearman(model, kind) for model in ("dep", "base"))
    return max(dep.values.values()) - max(base.values.values())


# ---- Figure 2

figure2 = partial(CLAIMS.about, "figure2")


def _rsa(evidence: Evidence, task: str, stimuli: str = "wiki") -> Curve:
    return evidence.curve(task, "content", stimuli)


def _all_three(evidence: Evidence) -> tuple[Curve, ...]:
    """Dep, MNLI, SQuAD"""
    return tuple(_rsa(evidence, task) for task in ("dep", "mnli", "squad"))


@figure2("F2.1", cases=FINETUNED, of=_rsa, low=0.0)
def changes_arise_at_the_top(curve, _):
    """mean RSA of layers 1 to 4 minus that of layers 9 to 12"""
    return curve.mean(1, 4, 12) - curve.mean(9, 12, 12)


@figure2("F2.2", low=4, high=6, strict=False)
def dep_departs_early(evidence):
    """first of two layers at which Dep is 0.05 below MNLI and SQuAD"""
    dep, mnli, squad = (curve.exactly(12) for curve in _all_three(evidence))
    return _first_of_two(dep[k] < min(mnli[k], squad[k]) - 0.05 for k in range(13))


@figure2("F2.3", high=0.02, strict=False)
def dep_changes_deepest(evidence):
    """largest RSA of Dep minus the lower of MNLI and SQuAD, layers 6 to 11"""
    dep, mnli, squad = _all_three(evidence)
    return max(dep[k] - min(mnli[k], squad[k]) for k in dep.part(6, 11, 12))


@figure2("F2.4", "RSA of MNLI at layer 11", given=["mnli", 11], low=0.78, high=0.90, strict=False)
@figure2("F2.6a", "RSA of SQuAD at layer 7", given=["squad", 7], low=0.9, strict=False)
def level(evidence, task, layer):
    return _rsa(evidence, task).exactly(12)[layer]


@figure2("F2.5", low=-0.02, strict=False)
def mnli_changes_least(evidence):
    """least RSA of MNLI minus the higher of SQuAD and Dep, layers 1 to 11"""
    dep, mnli, squad = _all_three(evidence)
    return min(mnli[k] - max(squad[k], dep[k]) for k in mnli.part(1, 11, 12))


@figure2("F2.6b", low=0.0)
def squad_drops_after_seven(evidence):
    """drop of SQuAD from layer 7 to 11 minus twice its drop from 1 to 7"""
    one, seven, eleven = (level(evidence, "squad", layer) for layer in (1, 7, 11))
    return (seven - eleven) - 2 * (one - seven)


@figure2("F2.7", high=0.0)
def squad_is_steeper(evidence):
    """RSA of SQuAD minus MNLI at the second-to-last layer"""
    squad, mnli = (_rsa(evidence, task) for task in ("squad", "mnli"))
    return squad[squad.layers - 1] - mnli[mnli.layers - 1]


# ---- Figure 3: it counts layers from 0, so that 9 layers are frozen through layer 8

figure3 = partial(CLAIMS.about, "figure3")


def _lost(evidence: Evidence, task: str) -> Curve:
    """Points lost by number of frozen layers."""
    sweep = evidence.sweep(task)
    lost = {last + 1: sweep[NOTHING_FROZEN] - score for last, score in sweep.values.items()}
    return Curve({frozen: points for frozen, points in lost.items() if frozen >= 0}, sweep.layers)


@figure3(
    "F3.1", "points lost, frozen through layer 8 of 12", ["mnli", "squad"], given=[9], high=3.0, strict=False
)
@figure3("F3.5", "points lost with every layer frozen", FINETUNED, given=[12], low=5.0, strict=False)
def lost_at_this_depth(evidence, frozen, task):
    """With as many of 12 layers frozen, or the same share of another number."""
    lost = _lost(evidence, task)
    return lost[lost.at(frozen, 12)]


@figure3(
    "F3.2a", "points that MNLI loses, frozen through layer 9", given=["mnli", 10], high=1.0, strict=False
)
@figure3(
    "F3.2b", "points that MNLI loses, frozen through layer 11", given=["mnli", 12], low=3.0, strict=False
)
@figure3("F3.3a", "points that SQuAD loses, frozen through layer 8", given=["squad", 9], low=1.0)
@figure3(
    "F3.3b", "points that SQuAD loses, frozen through layer 6", given=["squad", 7], high=1.0, strict=False
)
def lost_of_twelve(evidence, task, frozen):
    return _lost(evidence, task).exactly(12)[frozen]


@figure3("F3.4", cases=["4, points", "4, share", "6, points", "6, share"], low=0.0)
def dep_drops_faster(evidence, layer, unit):
    """loss of Dep minus the larger of MNLI and SQuAD, frozen through this layer

    `share`: of what each task loses with every layer frozen, as their metrics differ.
    """

    def loss(task):
        lost = _lost(evidence, task).exactly(12)
        if unit == "share" and lost[12] <= 0:
            raise NotTestableError(f"{style.WORDS[task]} loses nothing with every layer frozen")
        return lost[int(layer) + 1] / (lost[12] if unit == "share" else 1)

    return loss("dep") - max(loss("mnli"), loss("squad"))


# ---- Figure 4

figure4 = partial(CLAIMS.about, "figure4")


@figure4(
    "F4.1", "points that MNLI lacks to all layers", [("3 layers", {"high": 8.0}), ("6 layers", {"high": 4.0})],
    given=["mnli"], strict=False,
)  # fmt: skip
@figure4(
    "F4.2", "points that SQuAD lacks to all layers", [("5 layers", {"high": 8.0}), ("6 layers", {"high": 5.0})],
    given=["squad"], strict=False,
)  # fmt: skip
def points_below_all_layers(evidence, task, kept):
    scores = evidence.sweep(task).exactly(12)
    return scores[12] - scores[int(kept.removesuffix(" layers"))]


@figure4("F4.3", low=0.0, strict=False, inputs=False)
def dep_needs_more_layers(evidence):
    """layers to 95 % of the gain from none to all, Dep minus the larger of MNLI and SQuAD"""

    def needed(task):
        layers = statistics.layers_to(evidence.sweep(task).values)
        if np.isnan(layers):
            raise NotTestableError(f"{style.WORDS[task]} gains nothing from its layers")
        return layers

    return needed("dep") - max(needed("mnli"), needed("squad"))


# ---- Figure 5

figure5 = partial(CLAIMS.about, "figure5")
_SINGLE = {"mnli": "mnli_premise", "squad": "squad_question"}


@figure5("F5.1", "mean RSA of layers 9 to 12, MNLI pairs minus Wikipedia", given=["mnli", "mnli"], high=0.0)
@figure5(
    "F5.2", "mean RSA of layers 9 to 12, SQuAD pairs minus Wikipedia", given=["squad", "squad"], high=0.0
)
def minus_wikipedia(evidence, task, stimuli):
    return _rsa(evidence, task, stimuli).mean(9, 12, 12) - _rsa(evidence, task).mean(9, 12, 12)


@figure5("F5.3", cases=[f"{task}, {inputs}" for task in _SINGLE for inputs in (*_SINGLE, "wiki")], high=0.0)
def all_inputs_diverge(evidence, task, stimuli):
    """RSA of the last layer minus the middle one"""
    curve = _rsa(evidence, task, stimuli)
    return curve[curve.at(12, 12)] - curve[curve.at(6, 12)]


@figure5("F5.4", cases=list(_SINGLE), high=0.03, strict=False)
def train_inputs_give_the_same(evidence, task):
    """largest |RSA of dev minus train inputs| over layers"""
    dev, train = (_rsa(evidence, task, stimuli) for stimuli in (task, f"{task}_train"))
    return max(abs(dev[k] - train[k]) for k in range(dev.layers + 1))


@figure5("F5.5", cases=list(_SINGLE), high=0.0)
def single_sentences_too(evidence, task):
    """mean RSA of layers 9 to 12, single sentences minus Wikipedia"""
    return minus_wikipedia(evidence, task, _SINGLE[task])


# ---- Appendices, as far as the body tells of them

appendix_a, appendix_b = (partial(CLAIMS.about, item) for item in ("appendix_a", "appendix_b"))


@appendix_a("A.1", cases=["mnli", "squad"], high=0.0)
def top_layers_lose_more(evidence, task):
    """mean Δ of top-layer probes minus that of mix probes"""
    top, mix = ([delta(evidence, task, probe, variant) for probe in TASKS] for variant in ("top", "mix"))
    return np.mean(top) - np.mean(mix)


@appendix_b("B.2", given=["dep", "dependencies"], high=0.95)
def relative_length(evidence, model, task):
    """code length of Dep over base on dependencies"""
    own, base = (evidence.code_length(name, task) for name in (model, "base"))
    return ratio(own, base, "the code length of base")


@appendix_b("B.1", low=0.6, strict=False)
def description_lengths_hardly_differ(evidence):
    """share of 24 code lengths within 10 % of base"""
    ratios = [relative_length(evidence, model, task) for model in FINETUNED for task in TASKS]
    return np.mean([abs(one - 1) <= 0.1 for one in ratios])
