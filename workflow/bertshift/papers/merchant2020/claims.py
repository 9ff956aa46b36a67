"""Statements of Merchant et al. 2020, and the number of ours that decides each."""

from collections.abc import Iterable
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from bertshift.measures import CORRELATION, POSITIVE
from bertshift.replicates import NOTHING_FROZEN
from bertshift.rows import labelling, statistics
from bertshift.verdicts.deciding import ALL, Claims, case, of_pairs
from bertshift.verdicts.evidence import (
    Curve,
    Evidence,
    NotTestableError,
    ratio,
    remember,
    with_both_signs,
)

CLAIMS = Claims("merchant2020")
claim = CLAIMS.about
inclusive = partial(claim, strict=False)  # the ends of the range hold too
FINETUNED = ["mnli", "squad", "dep"]
TASKS = list(labelling.EDGES)


def _first_of_two(holds: Iterable[bool]) -> float:
    """Find the first layer, from 0, that `holds` is true of together with the next one; NaN if
    there is none."""
    pairs = enumerate(pairwise(holds))
    return next((layer for layer, (now, then) in pairs if now and then), np.nan)


# ---- Table 1, and the appendices, as far as the body describes them


@remember
def f1(evidence: Evidence, model: str, task: str, variant: str = "mix") -> float:
    """Read the F1 of edge probes on a model, in points; `lexical` is the pretrained model's
    embedding output."""
    if model == "lexical":
        model, variant = "base", "lexical"
    scores = evidence.edge_probes(model, variant, task=task)["value"]
    return statistics.POINTS * float(scores.mean())


def delta(evidence: Evidence, model: str, task: str, variant: str = "mix") -> float:
    """Subtract the F1 of the pretrained model from the F1 of a model, in points."""
    return f1(evidence, model, task, variant) - f1(evidence, "base", task, variant)


def deltas(evidence: Evidence) -> np.ndarray:
    """List the `delta` of every fine-tuned model and task: [fine-tuned models, tasks]."""
    return np.array([[delta(evidence, model, task) for task in TASKS] for model in FINETUNED])


def by_model_and_task(evidence: Evidence) -> dict[tuple[str, str], float]:
    return {(model, task): delta(evidence, model, task) for model in FINETUNED for task in TASKS}


def over_lexical(evidence: Evidence) -> dict[tuple, float]:
    ratios = {}
    for (model, task), change in by_model_and_task(evidence).items():
        lexical = abs(delta(evidence, "lexical", task))
        ratios[model, task] = ratio(change, lexical, "Δ of lexical")
    return with_both_signs(ratios)


def gap_of_lexical(task: str):
    """Make a function that reads the difference of `lexical` to base on a task."""
    return lambda evidence: delta(evidence, "lexical", task)


GAPS_OF_LEXICAL = {
    f"Δ of lexical on {labelling.EDGES[task]}": gap_of_lexical(task) for task in TASKS
}


def sd_between_runs(evidence: Evidence, kind: str) -> float:
    rows = pd.concat([evidence.edge_probes(name, "mix") for name in ("base", *FINETUNED)])
    spreads = statistics.spreads(statistics.in_points(rows), ["name", "task"])
    pooled = np.sqrt((spreads[SPREADS[kind]] ** 2).mean())
    if np.isnan(pooled):
        raise NotTestableError(f"no two runs differ in {kind} alone")
    return pooled


def top_minus_mix(evidence: Evidence, task: str) -> float:
    top = [delta(evidence, task, probe, "top") for probe in TASKS]
    mix = [delta(evidence, task, probe, "mix") for probe in TASKS]
    return np.mean(top) - np.mean(mix)


def code_length(evidence: Evidence, model: str, task: str) -> float:
    rows = evidence.rows(model, metric="mdl", quantity="codelength", task=task)
    return rows["value"].mean()


def relative_length(evidence: Evidence, model: str, task: str) -> float:
    length = code_length(evidence, model, task)
    return ratio(length, code_length(evidence, "base", task), "the code length of base")


def hardly_other_lengths(evidence: Evidence) -> float:
    lengths = [relative_length(evidence, model, task) for model in FINETUNED for task in TASKS]
    return np.mean([abs(length - 1) <= 0.1 for length in lengths])


def deltas_between(least: float, most: float):
    """Make a function that counts the deltas from `least` to `most`."""

    def count(evidence: Evidence) -> int:
        changes = deltas(evidence)
        return ((changes >= least) & (changes <= most)).sum()

    return count


# Spreads of F1 between runs of one kind: our column, and the largest in points.
SPREADS = {
    "probes": "sd_probe",
    "fine-tuning": "sd_finetuning",
    "pretraining": "sd_pretraining",
}
MOST = {"probes": 0.8, "fine-tuning": 1.1, "pretraining": 1.5}
inclusive(
    "table1",
    "T1.1",
    "mean |Δ| over 3 models and 8 tasks, in points",
    lambda e: np.abs(deltas(e)).mean(),
    high=1.5,
    bounds=POSITIVE,
)
claim(
    "table1",
    "T1.2",
    "largest |Δ| over |Δ of lexical| of the same task",
    over_lexical,
    each=ALL,
    shares_of=GAPS_OF_LEXICAL,
    high=1.0,
)
inclusive(
    "table1",
    "T1.3",
    "number of 24 Δ from -2 to 0 points",
    deltas_between(-2, 0),
    low=13,
    grid=True,
)
inclusive(
    "table1",
    "T1.10",
    "number of 24 |Δ| up to 1.4 points",
    deltas_between(-1.4, 1.4),
    low=16,
    grid=True,
)
inclusive(
    "table1",
    "T1.4",
    "Δ of MNLI on constituents",
    lambda e: delta(e, "mnli", "constituents"),
    low=-3.5,
    high=-1.0,
)
inclusive(
    "table1",
    "T1.5",
    "Δ of SQuAD",
    lambda e, task: delta(e, "squad", task),
    ["pos", "dependencies", "srl"],
    low=-3.5,
    high=-1.0,
)
inclusive(
    "table1",
    "T1.6",
    "Δ of Dep on constituents",
    lambda e: delta(e, "dep", "constituents"),
    low=2.0,
)
claim(
    "table1",
    "T1.7",
    "Δ of Dep",
    lambda e, task: delta(e, "dep", task),
    ["coref", "spr", "relations"],
    high=0.0,
)
claim(
    "table1",
    "T1.8",
    "largest F1 of randomized minus lexical over tasks",
    lambda e: {task: f1(e, "randomized", task) - f1(e, "lexical", task) for task in TASKS},
    each=ALL,
    high=0.0,
)
inclusive(
    "table1",
    "T1.9",
    "Δ of Dep on dependencies",
    lambda e: delta(e, "dep", "dependencies"),
    low=-0.5,
)
inclusive(
    "table1",
    "T1.11",
    "sd of F1 between runs of one kind, pooled over models and tasks",
    sd_between_runs,
    [case(kind, high=most) for kind, most in MOST.items()],
    across=True,
    bounds=POSITIVE,
)
claim(
    "table1",
    "T1.12",
    "least Δ over 3 models and 8 tasks",
    by_model_and_task,
    each=ALL,
    low=-5.0,
)
claim(
    "appendix_a",
    "A.1",
    "mean Δ over 8 tasks of top-layer probes minus mean Δ of mix probes (Δ: F1 minus F1 of the"
    " pretrained model by the same kind of probe, in points)",
    top_minus_mix,
    ["mnli", "squad"],
    high=0.0,
)
inclusive(
    "appendix_b",
    "B.1",
    "share of 24 code lengths within 10 % of base",
    hardly_other_lengths,
    low=0.6,
    grid=True,
)
claim(
    "appendix_b",
    "B.2",
    "code length of Dep over base on dependencies",
    lambda e: relative_length(e, "dep", "dependencies"),
    high=0.95,
    bounds=POSITIVE,
)

# ---- Figure 1


def lift(evidence: Evidence, model: str, kind: str) -> Curve:
    return evidence.spearman(model, kind) - evidence.spearman("base", kind)


def first_lift_of_dep(evidence: Evidence, kind: str) -> float:
    dep = lift(evidence, "dep", kind).exactly(12)
    return _first_of_two(dep[layer] > 0.01 for layer in range(13))


def headroom(evidence: Evidence, kind: str) -> dict[tuple[int, int], float]:
    """Subtract each layer of base from each of Dep."""
    dep, base = evidence.spearman("dep", kind), evidence.spearman("base", kind)
    return {(k, j): dep[k] - base[j] for k in dep.values for j in base.values}


PROBES = ["depth", "distance"]
KEPT = [case(task, kind) for task in ("mnli", "squad") for kind in PROBES]
inclusive(
    "figure1",
    "F1.1",
    "first of two layers at which Dep is 0.01 above base",
    first_lift_of_dep,
    PROBES,
    low=4,
    high=6,
    grid=True,
)
inclusive(
    "figure1",
    "F1.2",
    "largest |difference to base| in Spearman correlation, from layer 0 to the last but one",
    lambda lift, *_: with_both_signs({k: lift[k] for k in range(lift.layers)}),
    KEPT,
    of=lift,
    each=ALL,
    high=0.03,
)
claim(
    "figure1",
    "F1.3",
    "difference to base at the last layer",
    lambda lift, *_: lift[lift.layers],
    KEPT,
    of=lift,
    high=0.0,
)
claim(
    "figure1",
    "F1.4",
    "best layer of Dep minus best layer of base",
    headroom,
    PROBES,
    each=of_pairs,
    low=0.0,
)

# ---- Figures 2 and 5


def rsa(evidence: Evidence, task: str, stimuli: str = "wiki") -> Curve:
    return evidence.curve(task, "content", stimuli)


def of_three(evidence: Evidence) -> tuple[Curve, ...]:
    """Read the curves of dep, MNLI and SQuAD."""
    return tuple(rsa(evidence, task) for task in ("dep", "mnli", "squad"))


def level(evidence: Evidence, task: str, layer: int) -> float:
    return rsa(evidence, task).exactly(12)[layer]


def where_dep_departs(evidence: Evidence) -> float:
    dep, mnli, squad = (curve.exactly(12) for curve in of_three(evidence))
    return _first_of_two(dep[k] < min(mnli[k], squad[k]) - 0.05 for k in range(13))


def dep_minus_others(evidence: Evidence) -> dict[tuple[int, str], float]:
    dep, mnli, squad = of_three(evidence)
    others = {"mnli": mnli, "squad": squad}
    layers = dep.part(6, 11, 12)
    return {(k, name): dep[k] - other[k] for k in layers for name, other in others.items()}


def mnli_minus_others(evidence: Evidence) -> dict[tuple[int, str], float]:
    dep, mnli, squad = of_three(evidence)
    others = {"squad": squad, "dep": dep}
    layers = mnli.part(1, 11, 12)
    return {(k, name): mnli[k] - other[k] for k in layers for name, other in others.items()}


def late_drop_of_squad(evidence: Evidence) -> float:
    squad = rsa(evidence, "squad").exactly(12)
    late, early = squad[7] - squad[11], squad[1] - squad[7]
    return late - 2 * early


def squad_minus_mnli(evidence: Evidence) -> float:
    squad, mnli = rsa(evidence, "squad"), rsa(evidence, "mnli")
    return squad[squad.layers - 1] - mnli[mnli.layers - 1]


def minus_wikipedia(evidence: Evidence, task: str, stimuli: str) -> float:
    return rsa(evidence, task, stimuli).mean(9, 12, 12) - rsa(evidence, task).mean(9, 12, 12)


def last_minus_middle(curve: Curve, *_) -> float:
    return curve[curve.at(12, 12)] - curve[curve.at(6, 12)]


def dev_minus_train(evidence: Evidence, task: str) -> dict[tuple, float]:
    dev, train = rsa(evidence, task, task), rsa(evidence, task, f"{task}_train")
    return with_both_signs({k: dev[k] - train[k] for k in range(dev.layers + 1)})


claim(
    "figure2",
    "F2.1",
    "mean RSA of layers 1 to 4 of 12 minus mean RSA of layers 9 to 12",
    lambda curve, _: curve.mean(1, 4, 12) - curve.mean(9, 12, 12),
    FINETUNED,
    of=rsa,
    low=0.0,
)
inclusive(
    "figure2",
    "F2.2",
    "first of two layers at which Dep is 0.05 below MNLI and SQuAD",
    where_dep_departs,
    low=4,
    high=6,
    grid=True,
)
inclusive(
    "figure2",
    "F2.3",
    "largest RSA of Dep minus the lower of MNLI and SQuAD, layers 6 to 11",
    dep_minus_others,
    each=ALL,
    high=0.02,
)
inclusive(
    "figure2",
    "F2.4",
    "RSA of MNLI at layer 11",
    lambda e: level(e, "mnli", 11),
    low=0.78,
    high=0.90,
    bounds=CORRELATION,
)
inclusive(
    "figure2",
    "F2.5",
    "least RSA of MNLI minus the higher of SQuAD and Dep, layers 1 to 11",
    mnli_minus_others,
    each=ALL,
    low=-0.02,
)
inclusive(
    "figure2",
    "F2.6a",
    "RSA of SQuAD at layer 7",
    lambda e: level(e, "squad", 7),
    low=0.9,
    bounds=CORRELATION,
)
claim(
    "figure2",
    "F2.6b",
    "drop of SQuAD from layer 7 to 11 minus twice its drop from 1 to 7",
    late_drop_of_squad,
    low=0.0,
)
claim(
    "figure2",
    "F2.7",
    "RSA of SQuAD minus MNLI at the second-to-last layer",
    squad_minus_mnli,
    high=0.0,
)

SINGLE = {"mnli": "mnli_premise", "squad": "squad_question"}
claim(
    "figure5",
    "F5.1",
    "mean RSA of layers 9 to 12 of 12, MNLI pairs minus Wikipedia",
    lambda e: minus_wikipedia(e, "mnli", "mnli"),
    high=0.0,
)
claim(
    "figure5",
    "F5.2",
    "mean RSA of layers 9 to 12 of 12, SQuAD pairs minus Wikipedia",
    lambda e: minus_wikipedia(e, "squad", "squad"),
    high=0.0,
)
claim(
    "figure5",
    "F5.3",
    "RSA of layer 12 of 12 minus RSA of layer 6",
    last_minus_middle,
    [case(task, inputs) for task in SINGLE for inputs in (*SINGLE, "wiki")],
    of=rsa,
    high=0.0,
)
inclusive(
    "figure5",
    "F5.4",
    "largest |RSA of dev minus train inputs| over layers",
    dev_minus_train,
    SINGLE,
    each=ALL,
    high=0.03,
)
claim(
    "figure5",
    "F5.5",
    "mean RSA of layers 9 to 12 of 12, single sentences minus Wikipedia",
    lambda e, task: minus_wikipedia(e, task, SINGLE[task]),
    SINGLE,
    high=0.0,
)

# ---- Figure 3: it counts layers from 0, so that 9 layers are frozen through layer 8


def lost(evidence: Evidence, task: str) -> Curve:
    """Subtract each score with frozen layers from that with none frozen, in points, by number of
    frozen layers."""
    sweep = evidence.sweep(task)
    unfrozen = sweep[NOTHING_FROZEN]
    losses = {last + 1: unfrozen - score for last, score in sweep.values.items() if last >= -1}
    return sweep.with_values(losses)


def lost_at_depth(frozen: int):
    """Make a function that reads the loss with `frozen` of 12 layers frozen, or the same share of
    another number of layers."""
    return lambda lost, _: lost[lost.at(frozen, 12)]


def lost_of_twelve(task: str, frozen: int):
    return lambda evidence: lost(evidence, task).exactly(12)[frozen]


def lost_in_all(task: str):
    """Make a function that reads what `task` loses with every layer frozen."""
    return lambda evidence: lost(evidence, task).exactly(12)[12]


LOSSES_IN_ALL = {  # the shares of which F3.4 compares
    f"what {labelling.WORDS[task]} loses with every layer frozen": lost_in_all(task)
    for task in FINETUNED
}


def dep_minus_the_others(evidence: Evidence, layer: int, unit: str) -> dict[str, float]:
    """Subtract the losses of MNLI and of SQuAD from the loss of dep. `share`: the loss is a share
    of what each task loses with every layer frozen, as their metrics differ."""

    def loss(task):
        losses = lost(evidence, task).exactly(12)[layer + 1]
        return losses if unit == "points" else losses / lost_in_all(task)(evidence)

    dep = loss("dep")
    return {task: dep - loss(task) for task in ("mnli", "squad")}


inclusive(
    "figure3",
    "F3.1",
    "points lost, frozen through layer 8 of 12",
    lost_at_depth(9),
    ["mnli", "squad"],
    of=lost,
    high=3.0,
)
inclusive(
    "figure3",
    "F3.2a",
    "points that MNLI loses, frozen through layer 9",
    lost_of_twelve("mnli", 10),
    high=1.0,
)
inclusive(
    "figure3",
    "F3.2b",
    "points that MNLI loses, frozen through layer 11",
    lost_of_twelve("mnli", 12),
    low=3.0,
)
claim(
    "figure3",
    "F3.3a",
    "points that SQuAD loses, frozen through layer 8",
    lost_of_twelve("squad", 9),
    low=1.0,
)
inclusive(
    "figure3",
    "F3.3b",
    "points that SQuAD loses, frozen through layer 6",
    lost_of_twelve("squad", 7),
    high=1.0,
)
claim(
    "figure3",
    "F3.4",
    "loss of Dep minus the larger of MNLI and SQuAD, frozen through this layer",
    dep_minus_the_others,
    [
        *(case(layer, "points") for layer in (4, 6)),
        *(case(layer, "share", shares_of=LOSSES_IN_ALL) for layer in (4, 6)),
    ],
    each=ALL,
    low=0.0,
)
inclusive(
    "figure3",
    "F3.5",
    "points lost with every layer frozen",
    lost_at_depth(12),
    FINETUNED,
    of=lost,
    low=5.0,
)

# ---- Figure 4


def below_all_layers(task: str):
    def points(evidence: Evidence, kept: int) -> float:
        scores = evidence.sweep(task).exactly(12)
        return scores[12] - scores[kept]

    return points


def gain_of(task: str):
    """Make a function that reads what `task` gains from none to all layers."""

    def gain(evidence: Evidence) -> float:
        scores = evidence.sweep(task).values
        return scores[max(scores)] - scores[min(scores)]

    return gain


def more_layers_for_dep(evidence: Evidence) -> float:
    def needed(task):
        layers = statistics.layers_to(evidence.sweep(task).values)
        if np.isnan(layers):
            raise NotTestableError(f"{labelling.WORDS[task]} gains nothing from its layers")
        return layers

    return needed("dep") - max(needed("mnli"), needed("squad"))


inclusive(
    "figure4",
    "F4.1",
    "points that MNLI lacks to all layers",
    below_all_layers("mnli"),
    [case(kept, name=f"{kept} layers", high=most) for kept, most in ((3, 8.0), (6, 4.0))],
)
inclusive(
    "figure4",
    "F4.2",
    "points that SQuAD lacks to all layers",
    below_all_layers("squad"),
    [case(kept, name=f"{kept} layers", high=most) for kept, most in ((5, 8.0), (6, 5.0))],
)
inclusive(
    "figure4",
    "F4.3",
    "layers to 95 % of the gain from none to all, Dep minus the larger of MNLI and SQuAD",
    more_layers_for_dep,
    low=0.0,
    grid=True,
    shares_of={f"the gain of {labelling.WORDS[task]}": gain_of(task) for task in FINETUNED},
    inputs=False,
)
