"""What Merchant et al. 2020 say, and the number of ours that decides it."""

from functools import partial

import numpy as np
import pandas as pd

from bertshift.figures import style
from bertshift.naming import NOTHING_FROZEN
from bertshift.rows import statistics
from bertshift.verdicts.deciding import Claims
from bertshift.verdicts.evidence import Curve, Evidence, NotTestableError, ratio

CLAIMS = Claims("merchant2020")
claim = CLAIMS.about
FINETUNED = ["mnli", "squad", "dep"]
TASKS = list(style.EDGES)

# ---- Table 1


def _f1(evidence: Evidence, model: str, task: str, variant: str = "mix") -> float:
    """In points; `lexical` is the pretrained model's embedding output."""
    where = ("base", task, "lexical") if model == "lexical" else (model, task, variant)
    return evidence.edge_probe(*where)


def _delta(evidence: Evidence, model: str, task: str, variant: str = "mix") -> float:
    return _f1(evidence, model, task, variant) - _f1(evidence, "base", task, variant)


def _deltas(evidence: Evidence) -> np.ndarray:
    """[fine-tuned models, tasks]"""
    return np.array([[_delta(evidence, model, task) for task in TASKS] for model in FINETUNED])


@claim("table1", "T1.1", "mean |Δ| over 3 models and 8 tasks, in points", high=1.5, strict=False)
def probes_change_little(evidence):
    return np.abs(_deltas(evidence)).mean()


@claim("table1", "T1.2", "largest |Δ| over |Δ of lexical| of the same task", high=1.0)
def far_less_than_the_baselines(evidence):
    largest = np.abs(_deltas(evidence)).max(axis=0)
    return max(
        ratio(change, abs(_delta(evidence, "lexical", task)), f"Δ of lexical on {style.EDGES[task]}")
        for task, change in zip(TASKS, largest, strict=True)
    )


@claim("table1", "T1.3", "number of 24 Δ from -2 to 0 points", low=13, strict=False)
def most_changes_are_small_drops(evidence):
    deltas = _deltas(evidence)
    return float(((deltas >= -2) & (deltas <= 0)).sum())


@claim("table1", "T1.4", "Δ of MNLI on constituents", low=-3.5, high=-1.0, strict=False)
def mnli_loses_constituents(evidence):
    return _delta(evidence, "mnli", "constituents")


@claim("table1", "T1.5", "Δ of SQuAD", ["pos", "dependencies", "srl"], low=-3.5, high=-1.0, strict=False)
def squad_loses_syntax(evidence, task):
    return _delta(evidence, "squad", task)


@claim("table1", "T1.6", "Δ of Dep on constituents", low=2.0, strict=False)
def dep_gains_constituents(evidence):
    return _delta(evidence, "dep", "constituents")


@claim("table1", "T1.7", "Δ of Dep", ["coref", "spr", "relations"], high=0.0)
def dep_loses_semantics(evidence, task):
    return _delta(evidence, "dep", task)


@claim("table1", "T1.8", "largest F1 of randomized minus lexical over tasks", high=0.0)
def randomized_is_below_lexical(evidence):
    return max(_f1(evidence, "randomized", task) - _f1(evidence, "lexical", task) for task in TASKS)


@claim("table1", "T1.9", "Δ of Dep on dependencies", low=-0.5, strict=False)
def dep_keeps_dependencies(evidence):
    return _delta(evidence, "dep", "dependencies")


@claim("table1", "T1.10", "number of 24 |Δ| up to 1.4 points", low=16, strict=False)
def effects_are_like_seeds(evidence):
    return float((np.abs(_deltas(evidence)) <= 1.4).sum())


_KINDS = dict(zip(("probes", "fine-tuning", "pretraining"), statistics.SPREADS))


@claim(
    "table1", "T1.11", "sd of F1 between runs of one kind, pooled over models and tasks",
    [("probes", {"high": 0.8}), ("fine-tuning", {"high": 1.1}), ("pretraining", {"high": 1.5})], strict=False, across=True,
)  # fmt: skip
def runs_vary_this_much(evidence, kind):
    spreads = pd.concat([evidence.edge_probe_spreads(name, "mix") for name in ("base", *FINETUNED)])
    pooled = np.sqrt((spreads[_KINDS[kind]] ** 2).mean())
    if np.isnan(pooled):
        raise NotTestableError(f"no two runs differ in {kind} alone")
    return float(pooled)


@claim("table1", "T1.12", "least Δ over 3 models and 8 tasks", low=-5.0)
def nothing_is_forgotten(evidence):
    return _deltas(evidence).min()


# ---- Figure 1

_PROBES = ["depth", "distance"]
_KEPT = [f"{task}, {kind}" for task in ("mnli", "squad") for kind in _PROBES]


def _lift(evidence: Evidence, model: str, kind: str) -> Curve:
    return evidence.spearman(model, kind) - evidence.spearman("base", kind)


@claim(
    "figure1", "F1.1", "first of two layers at which Dep is 0.01 above base", _PROBES, low=4, high=6, strict=False
)  # fmt: skip
def dep_improves_syntax_early(evidence, kind):
    lift = _lift(evidence, "dep", kind).exactly(12)
    above = [lift[k] > 0.01 for k in range(13)]
    return next((float(k) for k in range(12) if above[k] and above[k + 1]), np.nan)


@claim("figure1", "F1.2", "largest |difference to base| below the last layer", _KEPT, high=0.03, strict=False)
def syntax_is_kept(evidence, task, kind):
    lift = _lift(evidence, task, kind)
    return max(abs(lift[k]) for k in range(lift.layers))


@claim("figure1", "F1.3", "difference to base at the last layer", _KEPT, high=0.0)
def the_last_layer_drops(evidence, task, kind):
    lift = _lift(evidence, task, kind)
    return lift[lift.layers]


@claim("figure1", "F1.4", "best layer of Dep minus best layer of base", _PROBES, low=0.0)
def there_is_headroom(evidence, kind):
    dep, base = (evidence.spearman(model, kind) for model in ("dep", "base"))
    return max(dep.values.values()) - max(base.values.values())


# ---- Figure 2

_WIKI = partial(Evidence.curve, variant="content", stimuli="wiki")


@claim(
    "figure2", "F2.1", "mean RSA of layers 1 to 4 minus that of layers 9 to 12", ["mnli", "squad", "dep"], low=0.0
)  # fmt: skip
def changes_arise_at_the_top(evidence, task):
    curve = _WIKI(evidence, task)
    return curve.mean(1, 4, 12) - curve.mean(9, 12, 12)


@claim(
    "figure2", "F2.2", "first of two layers at which Dep is 0.05 below MNLI and SQuAD", low=4, high=6, strict=False
)  # fmt: skip
def dep_departs_early(evidence):
    dep, mnli, squad = (_WIKI(evidence, task).exactly(12) for task in ("dep", "mnli", "squad"))
    below = [dep[k] < min(mnli[k], squad[k]) - 0.05 for k in range(13)]
    return next((float(k) for k in range(12) if below[k] and below[k + 1]), np.nan)


@claim(
    "figure2", "F2.3", "largest RSA of Dep minus the lower of MNLI and SQuAD, layers 6 to 11", high=0.02,
    strict=False
)  # fmt: skip
def dep_changes_deepest(evidence):
    dep, mnli, squad = (_WIKI(evidence, task) for task in ("dep", "mnli", "squad"))
    return max(dep[k] - min(mnli[k], squad[k]) for k in dep.part(6, 11, 12))


@claim("figure2", "F2.4", "RSA of MNLI at layer 11", low=0.78, high=0.90, strict=False)
def mnli_level(evidence):
    return _WIKI(evidence, "mnli").exactly(12)[11]


@claim(
    "figure2", "F2.5", "least RSA of MNLI minus the higher of SQuAD and Dep, layers 1 to 11", low=-0.02, strict=False
)  # fmt: skip
def mnli_changes_least(evidence):
    mnli, squad, dep = (_WIKI(evidence, task) for task in ("mnli", "squad", "dep"))
    return min(mnli[k] - max(squad[k], dep[k]) for k in mnli.part(1, 11, 12))


@claim("figure2", "F2.6a", "RSA of SQuAD at layer 7", low=0.9, strict=False)
def squad_stays_through_seven(evidence):
    return _WIKI(evidence, "squad").exactly(12)[7]


@claim("figure2", "F2.6b", "drop of SQuAD from layer 7 to 11 minus twice its drop from 1 to 7", low=0.0)
def squad_drops_after_seven(evidence):
    curve = _WIKI(evidence, "squad").exactly(12)
    return (curve[7] - curve[11]) - 2 * (curve[1] - curve[7])


@claim("figure2", "F2.7", "RSA of SQuAD minus MNLI at the second-to-last layer", high=0.0)
def squad_is_steeper(evidence):
    squad, mnli = _WIKI(evidence, "squad"), _WIKI(evidence, "mnli")
    return squad[squad.layers - 1] - mnli[mnli.layers - 1]


# ---- Figure 3: layers counted from 0, as on its axis


def _lost(evidence: Evidence, task: str) -> Curve:
    """Points lost by number of frozen layers."""
    sweep = evidence.sweep(task)
    full = sweep[NOTHING_FROZEN]
    return Curve(
        {x + 1: full - score for x, score in sweep.values.items() if x >= NOTHING_FROZEN}, sweep.layers
    )


@claim(
    "figure3", "F3.1", "points lost, frozen through layer 8 of 12", ["mnli", "squad"], high=3.0, strict=False
)
def few_unfrozen_layers_suffice(evidence, task):
    lost = _lost(evidence, task)
    return lost[lost.at(9, 12)]


@claim("figure3", "F3.2a", "points that MNLI loses, frozen through layer 9", high=1.0, strict=False)
def mnli_needs_two_layers(evidence):
    return _lost(evidence, "mnli").exactly(12)[10]


@claim("figure3", "F3.2b", "points that MNLI loses, frozen through layer 11", low=3.0, strict=False)
def mnli_suffers_without_them(evidence):
    return _lost(evidence, "mnli").exactly(12)[12]


@claim("figure3", "F3.3a", "points that SQuAD loses, frozen through layer 8", low=1.0)
def squad_drops_with_three_layers(evidence):
    return _lost(evidence, "squad").exactly(12)[9]


@claim("figure3", "F3.3b", "points that SQuAD loses, frozen through layer 6", high=1.0, strict=False)
def squad_keeps_up_with_five(evidence):
    return _lost(evidence, "squad").exactly(12)[7]


@claim(
    "figure3", "F3.4", "loss of Dep minus the larger of MNLI and SQuAD, frozen through this layer",
    [f"{layer}, {unit}" for layer in (4, 6) for unit in ("points", "share")], low=0.0,
)  # fmt: skip
def dep_drops_faster(evidence, layer, unit):
    """`share`: of what each task loses with every layer frozen, as their metrics differ."""

    def loss(task):
        lost = _lost(evidence, task).exactly(12)
        if unit == "share" and lost[12] <= 0:
            raise NotTestableError(f"{style.WORDS[task]} loses nothing with every layer frozen")
        return lost[int(layer) + 1] / (lost[12] if unit == "share" else 1)

    return loss("dep") - max(loss("mnli"), loss("squad"))


@claim("figure3", "F3.5", "points lost with every layer frozen", FINETUNED, low=5.0, strict=False)
def a_frozen_encoder_is_worse(evidence, task):
    lost = _lost(evidence, task)
    return lost[lost.layers]


# ---- Figure 4


def _short_of_all(evidence: Evidence, task: str, case: str) -> float:
    """Points below all layers, with as many kept as `case` begins with."""
    kept = evidence.sweep(task).exactly(12)
    return kept[12] - kept[int(case.split()[0])]


@claim(
    "figure4", "F4.1", "points that MNLI lacks to all layers",
    [("3 layers", {"high": 8.0}), ("6 layers", {"high": 4.0})], strict=False,
)  # fmt: skip
def mnli_needs_three_layers(evidence, case):
    return _short_of_all(evidence, "mnli", case)


@claim(
    "figure4", "F4.2", "points that SQuAD lacks to all layers",
    [("5 layers", {"high": 8.0}), ("6 layers", {"high": 5.0})], strict=False,
)  # fmt: skip
def squad_needs_five_layers(evidence, case):
    return _short_of_all(evidence, "squad", case)


@claim(
    "figure4", "F4.3", "layers to 95 % of the gain from none to all, Dep minus the larger of MNLI and SQuAD", low=0.0,
    strict=False,
)  # fmt: skip
def dep_needs_more_layers(evidence):
    def needed(task):
        layers = statistics.layers_to(evidence.sweep(task).values)
        if np.isnan(layers):
            raise NotTestableError(f"{style.WORDS[task]} gains nothing from its layers")
        return layers

    return needed("dep") - max(needed("mnli"), needed("squad"))


# ---- Figure 5

_SINGLE = {"mnli": "mnli_premise", "squad": "squad_question"}


def _against_wiki(evidence, task: str, stimuli: str) -> float:
    other = evidence.curve(task, "content", stimuli)
    return other.mean(9, 12, 12) - _WIKI(evidence, task).mean(9, 12, 12)


@claim("figure5", "F5.1", "mean RSA of layers 9 to 12, MNLI pairs minus Wikipedia", high=0.0)
def mnli_changes_its_domain(evidence):
    return _against_wiki(evidence, "mnli", "mnli")


@claim("figure5", "F5.2", "mean RSA of layers 9 to 12, SQuAD pairs minus Wikipedia", high=0.0)
def squad_changes_its_domain(evidence):
    return _against_wiki(evidence, "squad", "squad")


@claim(
    "figure5", "F5.3", "RSA of the last layer minus the middle one",
    [f"{task}, {stimuli}" for task in _SINGLE for stimuli in ("mnli", "squad", "wiki")], high=0.0,
)  # fmt: skip
def all_inputs_diverge(evidence, task, stimuli):
    curve = evidence.curve(task, "content", stimuli)
    return curve[curve.at(12, 12)] - curve[curve.at(6, 12)]


@claim(
    "figure5", "F5.4", "largest |RSA of dev minus train inputs| over layers", list(_SINGLE), high=0.03, strict=False
)  # fmt: skip
def train_inputs_give_the_same(evidence, task):
    dev = evidence.curve(task, "content", task)
    train = evidence.curve(task, "content", f"{task}_train")
    return max(abs(dev[k] - train[k]) for k in range(dev.layers + 1))


@claim(
    "figure5", "F5.5", "mean RSA of layers 9 to 12, single sentences minus Wikipedia", list(_SINGLE), high=0.0
)
def single_sentences_too(evidence, task):
    return _against_wiki(evidence, task, _SINGLE[task])


# ---- Appendices, as far as the body tells of them


@claim(
    "appendix_a", "A.1", "mean Δ of top-layer probes minus that of mix probes", ["mnli", "squad"], high=0.0
)
def top_layers_lose_more(evidence, task):
    top, mix = ([_delta(evidence, task, probe, variant) for probe in TASKS] for variant in ("top", "mix"))
    return np.mean(top) - np.mean(mix)


def _relative_length(evidence: Evidence, model: str, task: str) -> float:
    return ratio(
        evidence.code_length(model, task), evidence.code_length("base", task), "the code length of base"
    )


@claim("appendix_b", "B.1", "share of 24 code lengths within 10 % of base", low=0.6, strict=False)
def description_lengths_hardly_differ(evidence):
    ratios = [_relative_length(evidence, model, task) for model in FINETUNED for task in TASKS]
    return np.mean([abs(ratio - 1) <= 0.1 for ratio in ratios])


@claim("appendix_b", "B.2", "code length of Dep over base on dependencies", high=0.95)
def parsing_makes_dependencies_easier(evidence):
    return _relative_length(evidence, "dep", "dependencies")
