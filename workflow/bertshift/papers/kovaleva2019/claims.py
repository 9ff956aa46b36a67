"""What Kovaleva et al. 2019 say, and the number of ours that decides it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from bertshift.rows import statistics
from bertshift.verdicts.deciding import Claims
from bertshift.verdicts.evidence import (
    Curve,
    Evidence,
    NotTestableError,
    of_bert_base,
    rank_correlation,
    ratio,
)

CLAIMS = Claims("kovaleva2019")
claim = CLAIMS.about
TASKS = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]
CLASSES = [task for task in TASKS if task != "stsb"]
HEAD = ["layer", "head"]
NOT_MORE = {"low": -np.inf, "high": 0.0, "strict": False}  # of tasks that the paper calls exceptions

# ---- Table 1: what pretraining and fine-tuning add. Each function takes score(column), ours or the paper's, in points.


def _points(rows: pd.DataFrame) -> float:
    """Accuracy, or the mean of both correlations."""
    means = rows.groupby("score")["value"].mean()
    return float(means["accuracy"] if "accuracy" in means else means[["pearson", "spearman"]].mean())


def _from_random_weights(evidence: Evidence, task: str) -> float:
    random, tuned = (evidence.scores(name)["train"] for name in (f"{task}.random", task))
    if set(random) != set(tuned):
        sizes = f"{random.iloc[0]:.0f} rows, pretrained ones on {tuned.iloc[0]:.0f}"
        raise NotTestableError(f"random weights were trained on {sizes}")
    return _points(evidence.scores(f"{task}.random"))


def _scores(evidence: Evidence, task: str) -> Callable[[str], float]:
    """`pretrained` is the mean over random heads."""
    columns = {
        "finetuned": lambda: _points(evidence.scores(task)),
        "random_init": lambda: _from_random_weights(evidence, task),
        "pretrained": lambda: _points(evidence.frozen(task, "random_head")),
    }
    return lambda column: columns[column]()


def _scores_printed(published: Mapping, task: str) -> Callable[[str], float]:
    """Of F1 and accuracy, accuracy."""
    return lambda column: np.ravel(published["table1"]["rows"][task][column])[-1]


IN_TABLE_1 = {"of": _scores, "printed": _scores_printed, "form": "{:.1f}"}


@claim("table1", "K1.4", cases=TASKS, low=0.0, **IN_TABLE_1)
def fine_tuning_gains_everywhere(score, task):
    """gain over random heads on the pretrained model, in points"""
    return score("finetuned") - score("pretrained")


@claim("table1", "K1.1", low=30.9, high=40.9, strict=False)
def fine_tuning_gains_this_much(evidence):
    """mean gain over 7 tasks, in points"""
    return np.mean([fine_tuning_gains_everywhere(_scores(evidence, task), task) for task in TASKS])


@claim("table1", "K1.2", cases=TASKS, low=0.0, **IN_TABLE_1)
def random_weights_end_lower(score, task):
    """points that random weights lack to pretrained ones, both fine-tuned"""
    return score("finetuned") - score("random_init")


@claim("table1", "K1.3", cases=["stsb", "qnli"], high=0.0, **IN_TABLE_1)
def random_weights_can_end_below_the_pretrained_model(score, task):
    """points from random weights, fine-tuned, minus those of random heads on the pretrained model"""
    return score("random_init") - score("pretrained")


@claim("table1", "K1.5", cases=CLASSES, high=1.0, strict=False)
def without_fine_tuning_scores_are_constant(evidence, task):
    """accuracy of random heads minus that of the majority class, in points"""
    evidence.scores(task)  # where there is one pretraining run, the task's runs are the replicates
    answers = evidence.frozen(task, "constant").query("score == 'accuracy'")
    return _scores(evidence, task)("pretrained") - answers.groupby("draw")["value"].mean().max()


# ---- Figure 2: classes of attention maps


def _heterogeneous(evidence: Evidence, *_) -> dict[str, float]:
    """The share of this class by task, in percent."""
    return {name: evidence.pattern_shares(name, "heterogeneous")["value"].mean() for name in TASKS}


def _heterogeneous_printed(published: Mapping, *_) -> dict[str, float]:
    entry = published["figure2"]
    column = entry["columns"].index("heterogeneous")
    return {name: row[column] for name, row in entry["rows"].items()}


@claim(
    "figure2", "K2.1", cases=[("mrpc, lowest", {"high": 0.0}), ("qqp, highest", {"low": 0.0})], strict=False,
    of=_heterogeneous, printed=_heterogeneous_printed, form="{:.1f} (digitised)",
)  # fmt: skip
def heterogeneous_at_the_ends(shares, task, end):
    """heterogeneous share minus that of the next task, in points"""
    others = [share for other, share in shares.items() if other != task]
    return shares[task] - (min(others) if end == "lowest" else max(others))


@claim("figure2", "K2.2", cases=[("mrpc", {"low": 27.0, "high": 37.0}), ("qqp", {"low": 56.0, "high": 66.0})])
def heterogeneous_in_numbers(evidence, task):
    """heterogeneous share, in percent"""
    shares = evidence.pattern_shares(task, "heterogeneous")
    checkpoint = shares["checkpoint"].iloc[0]
    if "bert-base-uncased" not in checkpoint:
        raise NotTestableError(f"about shares in bert-base-uncased, not in {checkpoint}")
    return shares["value"].mean()


@claim("figure2", "K2.3", cases=["cross_validated", "resubstituted"], low=0.86, strict=False, across=True)
def the_classifier_is_good(evidence, answer):
    """macro F1 of the classifier"""
    rows = evidence.pattern_classifier(TASKS[0])
    if not rows["labels_by_person"].any():
        raise NotTestableError("about maps labelled by hand; these labels are all a rule's (patterns.labels)")
    return np.mean(rows[f"f1_macro_{answer}"])


# ---- Figure 3: heads that relate a predicate and its arguments

_HEADLINE, _OF_THE_FIGURE = "max_fe_to_lu", "code_zip"
_NAMED = {"L1H2": (1, 2), "L7H6": (7, 6)}

# Each is one number over all pretraining runs, as the paper has one: what varies here are sentences.


@claim("figure3", "K3.1", cases=list(_NAMED), high=2, strict=False, across=True)
def two_heads_stand_out(evidence, head):
    """rank among 144 heads, as the figure takes the score"""
    rows = of_bert_base(evidence.relation_heads("base", _OF_THE_FIGURE))
    return rows.groupby(HEAD)["rank"].mean()[_NAMED[head]]


@claim("figure3", "K3.2", low=0.0, across=True)
def the_predicate_looks_at_its_arguments(evidence):
    """score of the two best heads from predicate to argument minus that from argument to predicate"""
    other = evidence.relation_heads("base", "max_lu_to_fe").set_index(["init", *HEAD])["value"]
    best = _two_best(evidence).set_index(["init", *HEAD])["value"]
    return (other[best.index] - best).mean()


@claim("figure3", "K3.3", cases=["two best heads", "some head"], low=0.0, across=True)
def position_is_not_enough(evidence, heads):
    """score minus the 99th percentile of the same places in other sentences

    Of the two the lesser; of all the largest, though of 144 one is above without any reason.
    """
    two = heads == "two best heads"
    rows = _two_best(evidence) if two else evidence.relation_heads("base", _HEADLINE)
    excess = (rows["value"] - rows["null_99"]).groupby(rows["init"])
    return (excess.min() if two else excess.max()).mean()


def _two_best(evidence: Evidence) -> pd.DataFrame:
    """Of each run the heads that a reader of the figure would pick."""
    rows = evidence.relation_heads("base", _HEADLINE)
    return rows[rows["rank"] <= 2]


# ---- Figure 5, and controls beside it: change of attention


def _change_printed(published: Mapping, task: str, _) -> Curve:
    """The paper's only curve, of padded inputs."""
    means = dict(enumerate(published["figure5"]["tasks"][task]["layer_mean"], 1))
    return Curve(means, len(means))


_WAYS = ("crop", "padded")


@claim(
    "figure5", "K5.1", cases=[f"{task}, {way}" for task in TASKS if task != "qqp" for way in _WAYS]
    + [(f"qqp, {way}", NOT_MORE) for way in _WAYS],
    low=0.0, of=Evidence.curve, printed=_change_printed, form="{:.3f} (digitised, padded)",
)  # fmt: skip
def last_two_layers_change_most(curve, *_):
    """least cosine below the last two layers minus most within them"""
    top = curve.part(11, 12, 12)
    return min(curve[k] for k in range(1, curve.layers + 1) if k not in top) - max(curve[k] for k in top)


@claim("steps", "K5.2", cases=TASKS, low=0.0)
def layers_that_moved_further_change_more(evidence, task):
    """rank correlation over layers of distance from the start and change of attention"""
    moved, kept = evidence.curve(task, "displacement"), evidence.curve(task, "crop")
    layers = range(1, moved.layers + 1)
    values = ([moved[k] for k in layers], [1 - kept[k] for k in layers])
    return rank_correlation(*values, "the distance from the start, or the change of attention,")


@claim("own_or_inherited", "K5.3", cases=TASKS, low=0.0)
def last_layers_inherit_their_change(evidence, task):
    """1 - cosine of the last two layers by their input, minus that by their weights"""
    by_input, by_weights = (evidence.changed_by(task, variant) for variant in ("inherited", "own"))
    return (by_input - by_weights).mean(11, 12, 12)


# ---- Figure 6: attention to special tokens

EXCEPTIONS = ("stsb", "rte", "qnli")
KINDS = ("pron", "noun", "verb", "obj", "subj", "neg", "cls", "sep")  # of the paper's Figure 7
NOTICED = ["mrpc, noun", "mrpc, obj", "rte, noun", "rte, obj", "qqp, noun", "qqp, obj", "qnli, neg"]


def _layer_means(evidence: Evidence, task: str) -> Callable[[str], Sequence[float]]:
    """Of a token: attention to it by layer."""
    rows = partial(evidence.attention_to, task)
    return lambda token: rows(token).query("head == 0").groupby("layer")["value"].mean()


def _layer_means_printed(published: Mapping, task: str) -> Callable[[str], Sequence[float]]:
    return lambda token: published["figure6"][token][task]["layer_mean"]


def _centre(weights: Sequence[float]) -> float:
    """The layer around which attention lies."""
    return np.average(np.arange(1, len(weights) + 1), weights=weights)


@claim("figure6", "K6.1", cases=TASKS, low=0.0, of=_layer_means, printed=_layer_means_printed)
def early_cls_late_sep(means, task):
    """centre of attention to [SEP] minus that to [CLS], in layers"""
    return _centre(means("sep")) - _centre(means("cls"))


@claim("figure6", "K6.2", cases=["sep", ("sep_sum", NOT_MORE)], low=0.0)
def one_sep_gets_more(evidence, token):
    """[SEP] weight of SST-2 minus the largest of other tasks

    `sep_sum`: where two are added up, what they say is the reason is gone.
    """
    means = {task: _layer_means(evidence, task)(token).mean() for task in TASKS}
    return means.pop("sst2") - max(means.values())


# ---- Words, of which there is no figure


def _weights_of_heads(evidence: Evidence, task: str, token: str, before: bool = False) -> pd.Series:
    rows = evidence.attention_to(task, token, before=before)
    return rows[rows["head"] > 0].groupby(HEAD)["value"].mean()


@claim("linguistic", "K6.3", cases=NOTICED, high=0.5)
def words_get_little(evidence, task, token):
    """largest head's attention, relative to [CLS] or [SEP]"""
    special = max(_weights_of_heads(evidence, task, other).max() for other in ("cls", "sep"))
    return ratio(_weights_of_heads(evidence, task, token).max(), special, "attention to [CLS] and [SEP]")


@claim("linguistic", "K6.4", cases=NOTICED, low=0.01)
def some_head_gains(evidence, task, token):
    """largest gain of a head in attention"""
    after, before = (_weights_of_heads(evidence, task, token, before=when) for when in (False, True))
    return (after - before).max()


# ---- Figure 7: what [CLS] gives to each kind in the last layer, mean over heads


def _weights(evidence: Evidence, task: str, needed: str = "sep") -> dict[str, float]:
    """Kinds that no input has are left out."""
    found = {}
    for kind in (needed, *KINDS):
        try:
            rows = evidence.attention_to(task, kind, "from_cls")
        except NotTestableError:
            if kind == needed:
                raise
            continue
        last = (rows["head"] == 0) & (rows["layer"] == rows["layer"].max())
        found[kind] = float(rows.loc[last, "value"].mean())
    return found


def _weights_printed(published: Mapping, task: str) -> dict[str, float]:
    return {kind: float(np.mean(published["figure7"]["tasks"][task][kind])) for kind in KINDS}


def _lead(weights: Mapping[str, float], kind: str) -> float:
    return weights[kind] - max(weight for other, weight in weights.items() if other != kind)


@claim(
    "figure7", "K7.1", cases=[(task, NOT_MORE) if task in EXCEPTIONS else task for task in TASKS], low=0.0,
    of=_weights, printed=_weights_printed,
)  # fmt: skip
def cls_attends_to_sep(weights, task):
    """attention of [CLS] to [SEP] minus that to the next kind"""
    return _lead(weights, "sep")


@claim("figure7", "K7.2", cases=EXCEPTIONS, low=0.0)
def punctuation_instead(evidence, task):
    """attention of [CLS] to punctuation minus that to the next kind"""
    return _lead(_weights(evidence, task, "punct"), "punct")


# ---- Figures 8 and 9: heads, and layers, disabled. All gains are in points.

RUN = ["init", "seed"]
OTHER_HALF = "other half"
_FRAMES, _SHARED = [(1, 2), (7, 6)], [(4, 1), (2, 12)]  # heads that the paper names: (layer, head)


def _disabled(evidence: Evidence, task: str) -> pd.DataFrame:
    rows = evidence.ablations(task)
    return rows[rows["head"] > 0]


def _gains_printed(published: Mapping, task: str, item: str = "figure8") -> np.ndarray:
    """Gains in points, [layers, heads] or [layers]; from counts of right answers where the panel gives these away."""
    panel = published[item]["tasks"][task]
    counts = panel.get("exact_correct", panel)
    scores = np.asarray(counts["matrix" if item == "figure8" else "layers"])
    return statistics.POINTS * (scores - counts["baseline"]) / counts.get("n", 1)


@claim(
    "figure8", "K8.1",
    cases=[(task, {"low": 0.1}) for task in TASKS] + [(f"{task}, {OTHER_HALF}", {"low": 0.0, "strict": True}) for task in TASKS],
    strict=False,
    published=lambda facts, task, half="": "" if half else f"{_gains_printed(facts, task).max():.2f} (digitised)",
)  # fmt: skip
def some_head_does_harm(evidence, task, chosen=""):
    """largest gain from disabling one head, in points

    `other half`: the head is chosen on one half of the examples and its gain taken on the other.
    Of heads on the complete development set if there are any: on a sample the largest gain is larger by chance.
    """
    if chosen:
        return evidence.ablations(task, "ablation_split_half")["delta"].mean()
    heads = _disabled(evidence, task)
    surest = heads[heads["sample"] == heads["sample"].min()]  # complete, sample
    return surest.groupby(RUN)["delta"].max().mean()


@claim(
    "figure8", "K8.2", cases=["mrpc", "rte"], low=0.0, printed=_gains_printed,
    of=lambda evidence, task: _disabled(evidence, task)["delta"],
)  # fmt: skip
def a_random_head_does_harm(gains, task):
    """mean gain over all heads, in points"""
    return gains.mean()


def _of_frames_printed(published: Mapping, task: str) -> str:
    gains = _gains_printed(published, task)
    return f"{gains[0, 1]:.2f} and {gains[6, 5]:.2f} (digitised)"


@claim(
    "figure8",
    "K8.3",
    cases=TASKS,
    high=0.0,
    strict=False,
    across=True,
    inputs=False,
    published=_of_frames_printed,
)
def frame_semantic_heads_are_not_needed(evidence, task):
    """largest significant (p ≤ .05 over both heads and all runs) loss from disabling L1H2 or L7H6, in points

    Two heads named beforehand are two tests of each run, not 144: p is corrected for these (Bonferroni).
    """
    two = of_bert_base(_disabled(evidence, task)).set_index(HEAD).loc[_FRAMES]
    return (-two["delta"]).where(two["p"] <= 0.05 / len(two), 0.0).clip(lower=0.0).max()


def _gains_of_heads(evidence: Evidence, task: str) -> pd.Series:
    return of_bert_base(_disabled(evidence, task)).groupby(HEAD)["delta"].mean()


def _gains_of_heads_printed(published: Mapping, task: str) -> pd.Series:
    gains = pd.DataFrame(_gains_printed(published, task)).stack()
    return gains.set_axis([(layer + 1, head + 1) for layer, head in gains.index])


@claim(
    "figure8", "K8.4", cases=["stsb", "rte"], high=14, strict=False, of=_gains_of_heads, printed=_gains_of_heads_printed,
    form="{} (digitised)", inputs=False,
)  # fmt: skip
def two_tasks_share_their_important_disabled(gains, task):
    """rank of the less important of L4H1 and L2H12 among 144 heads"""
    return max((gains < gains[head]).sum() + 1 for head in _SHARED)


def _whole_layers(evidence: Evidence, task: str = "rte") -> Curve:
    rows = evidence.ablations(task)
    gains = rows[(rows["head"] == 0) & (rows["layer"] > 0)].groupby("layer")["delta"].mean()
    return Curve(gains.to_dict(), int(gains.index.max()))


def _whole_layers_printed(published: Mapping, task: str = "rte") -> Curve:
    gains = _gains_printed(published, task, "figure9")
    return Curve(dict(enumerate(gains, 1)), len(gains))


IN_FIGURE_9 = {"of": _whole_layers, "printed": _whole_layers_printed}


@claim("figure9", "K9.1", low=1.6, strict=False, **IN_FIGURE_9)
def the_first_layer_harms_rte(gains):
    """gain from disabling layer 1 of 12 in RTE, in points"""
    return gains.mean(1, 1, 12)


@claim("figure9", "K9.2", cases=["qnli", "mnli"], low=-0.2, strict=False, **IN_FIGURE_9)
def a_layer_costs_little(gains, task):
    """least gain from disabling one layer, in points"""
    return min(gains.values.values())


@claim("figure9", "K9.3", cases=TASKS[:5], low=0.0, **IN_FIGURE_9)
def some_layer_does_harm(gains, task):
    """largest gain from disabling one layer, in points"""
    return max(gains.values.values())
