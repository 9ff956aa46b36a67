"""What Kovaleva et al. 2019 say, and the number of ours that decides it."""

from collections.abc import Callable, Mapping

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

# ---- Table 1: what pretraining and fine-tuning add


def _points(rows: pd.DataFrame) -> float:
    """Accuracy, or the mean of both correlations."""
    means = rows.groupby("score")["value"].mean()
    return float(means["accuracy"] if "accuracy" in means else means[["pearson", "spearman"]].mean())


def _pretrained(evidence: Evidence, task: str) -> float:
    """Mean over random heads."""
    return _points(evidence.frozen(task, "random_head"))


def _gain(evidence: Evidence, task: str) -> float:
    return _points(evidence.scores(task)) - _pretrained(evidence, task)


def _from_random_weights(evidence: Evidence, task: str) -> float:
    random, tuned = (evidence.scores(name)["train"] for name in (f"{task}.random", task))
    if set(random) != set(tuned):
        sizes = f"{random.iloc[0]:.0f} rows, pretrained ones on {tuned.iloc[0]:.0f}"
        raise NotTestableError(f"random weights were trained on {sizes}")
    return _points(evidence.scores(f"{task}.random"))


def _printed(column: str, other: str):
    """The difference of two of the paper's columns, for a task; of F1 and accuracy, accuracy."""

    def difference(published: Mapping, task: str) -> str:
        row = published["table1"]["rows"][task]
        return f"{np.ravel(row[column])[-1] - np.ravel(row[other])[-1]:.1f}"

    return difference


@claim("table1", "K1.1", "mean gain over 7 tasks, in points", low=30.9, high=40.9, strict=False)
def fine_tuning_gains_this_much(evidence):
    return np.mean([_gain(evidence, task) for task in TASKS])


@claim(
    "table1", "K1.2", "points that random weights lack to pretrained ones, both fine-tuned", TASKS, low=0.0,
    published=_printed("finetuned", "random_init"),
)  # fmt: skip
def random_weights_end_lower(evidence, task):
    return _points(evidence.scores(task)) - _from_random_weights(evidence, task)


@claim(
    "table1", "K1.3", "points from random weights, fine-tuned, minus those of random heads on the pretrained model",
    ["stsb", "qnli"], high=0.0, published=_printed("random_init", "pretrained"),
)  # fmt: skip
def random_weights_can_end_below_the_pretrained_model(evidence, task):
    return _from_random_weights(evidence, task) - _pretrained(evidence, task)


@claim(
    "table1", "K1.4", "gain over random heads on the pretrained model, in points", TASKS, low=0.0,
    published=_printed("finetuned", "pretrained"),
)  # fmt: skip
def fine_tuning_gains_everywhere(evidence, task):
    return _gain(evidence, task)


@claim(
    "table1", "K1.5", "accuracy of random heads minus that of the majority class, in points", CLASSES, high=1.0,
    strict=False
)  # fmt: skip
def without_fine_tuning_scores_are_constant(evidence, task):
    rows = evidence.scores(task)
    return _pretrained(evidence, task) - rows.loc[rows["score"] == "accuracy", "majority"].mean()


# ---- Figure 2: classes of attention maps


def _to_the_next(shares: Mapping[str, float], task: str, end: str) -> float:
    """The task's share minus the lowest, or highest, of the others."""
    others = [share for other, share in shares.items() if other != task]
    return shares[task] - (min(others) if end == "lowest" else max(others))


def _shares_digitised(published: Mapping, task: str, end: str) -> str:
    entry = published["figure2"]
    column = entry["columns"].index("heterogeneous")
    shares = {name: row[column] for name, row in entry["rows"].items()}
    return f"{_to_the_next(shares, task, end):.1f} ({entry['provenance']})"


@claim(
    "figure2", "K2.1", "heterogeneous share minus that of the next task, in points",
    [("mrpc, lowest", {"high": 0.0}), ("qqp, highest", {"low": 0.0})], strict=False, published=_shares_digitised,
)  # fmt: skip
def heterogeneous_at_the_ends(evidence, task, end):
    shares = {name: evidence.pattern_shares(name, "heterogeneous")["value"].mean() for name in TASKS}
    return float(_to_the_next(shares, task, end))


@claim(
    "figure2", "K2.2", "heterogeneous share, in percent",
    [("mrpc", {"low": 27.0, "high": 37.0}), ("qqp", {"low": 56.0, "high": 66.0})],
)  # fmt: skip
def heterogeneous_in_numbers(evidence, task):
    shares = evidence.pattern_shares(task, "heterogeneous")
    checkpoint = shares["checkpoint"].iloc[0]
    if "bert-base-uncased" not in checkpoint:
        raise NotTestableError(f"about shares in bert-base-uncased, not in {checkpoint}")
    return float(shares["value"].mean())


@claim(
    "figure2", "K2.3", "macro F1 of the classifier", ["cross_validated", "resubstituted"], low=0.86, strict=False, across=True
)  # fmt: skip
def the_classifier_is_good(evidence, answer):
    rows = evidence.pattern_classifier(TASKS[0])
    if not rows["labels_by_person"].any():
        raise NotTestableError("about maps labelled by hand; these labels are all a rule's (patterns.labels)")
    return float(np.mean(rows[f"f1_macro_{answer}"]))


# ---- Figure 3: heads that relate a predicate and its arguments

_HEADLINE, _OF_THE_FIGURE = "max_fe_to_lu", "code_zip"
_NAMED = {"L1H2": (1, 2), "L7H6": (7, 6)}

# Each is one number over all pretraining runs, as the paper has one: what varies here are sentences.


@claim(
    "figure3", "K3.1", "rank among 144 heads, as the figure takes the score", list(_NAMED), high=2, strict=False, across=True
)  # fmt: skip
def two_heads_stand_out(evidence, head):
    rows = of_bert_base(evidence.relation_heads("base", _OF_THE_FIGURE))
    return float(rows.groupby(HEAD)["rank"].mean()[_NAMED[head]])


@claim(
    "figure3", "K3.2", "score of the two best heads from predicate to argument minus that from argument to predicate", low=0.0,
    across=True,
)  # fmt: skip
def the_predicate_looks_at_its_arguments(evidence):
    other = evidence.relation_heads("base", "max_lu_to_fe").set_index(["init", *HEAD])["value"]
    best = _two_best(evidence).set_index(["init", *HEAD])["value"]
    return float((other[best.index] - best).mean())


@claim(
    "figure3", "K3.3", "score minus the 99th percentile of the same places in other sentences",
    ["two best heads", "some head"], low=0.0, across=True,
)  # fmt: skip
def position_is_not_enough(evidence, heads):
    """Of the two the lesser; of all the largest, though of 144 one is above without any reason."""
    two = heads == "two best heads"
    rows = _two_best(evidence) if two else evidence.relation_heads("base", _HEADLINE)
    excess = (rows["value"] - rows["null_99"]).groupby(rows["init"])
    return float((excess.min() if two else excess.max()).mean())


def _two_best(evidence: Evidence) -> pd.DataFrame:
    """Of each run the heads that a reader of the figure would pick."""
    rows = evidence.relation_heads("base", _HEADLINE)
    return rows[rows["rank"] <= 2]


# ---- Figure 5, and controls beside it: change of attention


def _last_two(curve: Curve) -> float:
    top = curve.part(11, 12, 12)
    return min(curve[k] for k in range(1, curve.layers + 1) if k not in top) - max(curve[k] for k in top)


def _last_two_digitised(published: Mapping, task: str, variant: str) -> str:
    entry = published["figure5"]
    means = dict(enumerate(entry["tasks"][task]["layer_mean"], 1))
    return f"{_last_two(Curve(means, len(means))):.3f} ({entry['provenance']}, {entry['variant']})"


@claim(
    "figure5", "K5.1", "least cosine below the last two layers minus most within them",
    [f"{task}, {variant}" for task in ("mrpc", "stsb", "sst2", "rte", "qnli", "mnli") for variant in ("crop", "padded")]
    + [(f"qqp, {variant}", NOT_MORE) for variant in ("crop", "padded")],
    low=0.0, published=_last_two_digitised,
)  # fmt: skip
def last_two_layers_change_most(evidence, task, variant):
    return _last_two(evidence.curve(task, variant))


@claim(
    "steps", "K5.2", "rank correlation over layers of distance from the start and change of attention",
    TASKS, low=0.0,
)  # fmt: skip
def layers_that_moved_further_change_more(evidence, task):
    moved, kept = evidence.curve(task, "displacement"), evidence.curve(task, "crop")
    layers = range(1, moved.layers + 1)
    values = ([moved[k] for k in layers], [1 - kept[k] for k in layers])
    return rank_correlation(*values, "the distance from the start, or the change of attention,")


@claim(
    "own_or_inherited", "K5.3", "1 - cosine of the last two layers by their input, minus that by their weights",
    TASKS, low=0.0,
)  # fmt: skip
def last_layers_inherit_their_change(evidence, task):
    by_input, by_weights = (evidence.changed_by(task, variant) for variant in ("inherited", "own"))
    return (by_input - by_weights).mean(11, 12, 12)


# ---- Figure 6: attention to special tokens

EXCEPTIONS = ("stsb", "rte", "qnli")
KINDS = ("pron", "noun", "verb", "obj", "subj", "neg", "cls", "sep")  # of the paper's Figure 7
NOTICED = ["mrpc, noun", "mrpc, obj", "rte, noun", "rte, obj", "qqp, noun", "qqp, obj", "qnli, neg"]


def _layer_means(evidence: Evidence, task: str, token: str) -> np.ndarray:
    rows = evidence.attention_to(task, token)
    return rows[rows["head"] == 0].groupby("layer")["value"].mean().to_numpy()


def _centre(means: np.ndarray) -> float:
    """The layer around which attention lies."""
    return float(np.average(np.arange(1, len(means) + 1), weights=means))


def _in_words(number: Callable[[Mapping, str], float]) -> Callable[[Mapping, str], str]:
    """The same number of the paper's panels, in words."""
    return lambda published, task: f"{number(published, task):.2f} (digitised)"


@_in_words
def _distance_digitised(published, task):
    sep, cls = (np.array(published["figure6"][token][task]["layer_mean"]) for token in ("sep", "cls"))
    return _centre(sep) - _centre(cls)


@claim(
    "figure6", "K6.1", "centre of attention to [SEP] minus that to [CLS], in layers", TASKS, low=0.0,
    published=_distance_digitised,
)  # fmt: skip
def early_cls_late_sep(evidence, task):
    return _centre(_layer_means(evidence, task, "sep")) - _centre(_layer_means(evidence, task, "cls"))


@claim(
    "figure6", "K6.2", "[SEP] weight of SST-2 minus the largest of other tasks", ["sep", ("sep_sum", NOT_MORE)],
    low=0.0
)  # fmt: skip
def one_sep_gets_more(evidence, token):
    """`sep_sum`: where two are added up, what they say is the reason is gone."""
    means = {task: _layer_means(evidence, task, token).mean() for task in TASKS}
    return float(means.pop("sst2") - max(means.values()))


# ---- Words, of which there is no figure


def _weights_of_heads(evidence: Evidence, task: str, token: str, before: bool = False) -> pd.Series:
    rows = evidence.attention_to(task, token, before=before)
    return rows[rows["head"] > 0].groupby(HEAD)["value"].mean()


@claim("linguistic", "K6.3", "largest head's attention, relative to [CLS] or [SEP]", NOTICED, high=0.5)
def words_get_little(evidence, task, token):
    special = max(_weights_of_heads(evidence, task, other).max() for other in ("cls", "sep"))
    return ratio(_weights_of_heads(evidence, task, token).max(), special, "attention to [CLS] and [SEP]")


@claim("linguistic", "K6.4", "largest gain of a head in attention", NOTICED, low=0.01)
def some_head_gains(evidence, task, token):
    after, before = (_weights_of_heads(evidence, task, token, before=when) for when in (False, True))
    return float((after - before).max())


# ---- Figure 7


def _weights(evidence: Evidence, task: str, *needed: str) -> dict[str, float]:
    """What [CLS] gives to each kind in the last layer, mean over heads; kinds that no input has are left out."""
    found = {}
    for kind in (*needed, *KINDS):
        try:
            rows = evidence.attention_to(task, kind, "from_cls")
        except NotTestableError:
            if kind in needed:
                raise
            continue
        last = (rows["head"] == 0) & (rows["layer"] == rows["layer"].max())
        found[kind] = float(rows.loc[last, "value"].mean())
    return found


def _lead(weights: Mapping[str, float], kind: str) -> float:
    return weights[kind] - max(weight for other, weight in weights.items() if other != kind)


@_in_words
def _lead_digitised(published, task):
    strips = published["figure7"]["tasks"][task]
    return _lead({kind: float(np.mean(strips[kind])) for kind in KINDS}, "sep")


@claim(
    "figure7", "K7.1", "attention of [CLS] to [SEP] minus that to the next kind",
    [(task, NOT_MORE) if task in EXCEPTIONS else task for task in TASKS], low=0.0, published=_lead_digitised,
)  # fmt: skip
def cls_attends_to_sep(evidence, task):
    return _lead(_weights(evidence, task, "sep"), "sep")


@claim(
    "figure7", "K7.2", "attention of [CLS] to punctuation minus that to the next kind", EXCEPTIONS, low=0.0
)
def punctuation_instead(evidence, task):
    return _lead(_weights(evidence, task, "punct"), "punct")


# ---- Figures 8 and 9: heads, and layers, disabled. All gains are in points.

RUN = ["init", "seed"]
OTHER_HALF = "other half"
_FRAMES, _SHARED = [(1, 2), (7, 6)], [(4, 1), (2, 12)]  # heads that the paper names: (layer, head)


def _disabled(evidence: Evidence, task: str) -> pd.DataFrame:
    rows = evidence.ablations(task)
    return rows[rows["head"] > 0]


def _gains_digitised(published: Mapping, item: str, task: str) -> np.ndarray:
    """Gains in points, [layers, heads] or [layers]; from counts of right answers where the panel gives these away."""
    panel = published[item]["tasks"][task]
    counts = panel.get("exact_correct", panel)
    scores = np.asarray(counts["matrix" if item == "figure8" else "layers"])
    return statistics.POINTS * (scores - counts["baseline"]) / counts.get("n", 1)


def _digitised(item: str, number: Callable[[np.ndarray], float]) -> Callable[[Mapping, str], str]:
    """A number of the gains in a task's panel of figure `item`, in words."""
    return lambda published, task: f"{number(_gains_digitised(published, item, task)):.2f} (digitised)"


def _largest_digitised(published: Mapping, task: str, chosen: str = "") -> str:
    return "" if chosen else _digitised("figure8", np.max)(published, task)


@claim(
    "figure8", "K8.1", "largest gain from disabling one head, in points",
    [(task, {"low": 0.1}) for task in TASKS] + [(f"{task}, {OTHER_HALF}", {"low": 0.0, "strict": True}) for task in TASKS],
    strict=False, published=_largest_digitised,
)  # fmt: skip
def some_head_does_harm(evidence, task, chosen=""):
    """`other half`: the head is chosen on one half of the examples and its gain taken on the other.

    Of heads on the complete development set if there are any: on a sample the largest gain is larger by chance.
    """
    if chosen:
        return float(evidence.ablations(task, "ablation_split_half")["delta"].mean())
    heads = _disabled(evidence, task)
    surest = heads[heads["sample"] == heads["sample"].min()]  # complete, sample
    return float(surest.groupby(RUN)["delta"].max().mean())


@claim(
    "figure8", "K8.2", "mean gain over all heads, in points", ["mrpc", "rte"], low=0.0,
    published=_digitised("figure8", np.mean),
)  # fmt: skip
def a_random_head_does_harm(evidence, task):
    return float(_disabled(evidence, task)["delta"].mean())


def _of_frames_digitised(published: Mapping, task: str) -> str:
    gains = _gains_digitised(published, "figure8", task)
    return f"{gains[0, 1]:.2f} and {gains[6, 5]:.2f} (digitised)"


@claim(
    "figure8", "K8.3", "largest significant (p ≤ .05 over both heads and all runs) loss from disabling L1H2 or L7H6, in points",
    TASKS, high=0.0, strict=False, across=True, published=_of_frames_digitised,
)  # fmt: skip
def frame_semantic_heads_are_not_needed(evidence, task):
    """Two heads named beforehand are two tests of each run, not 144: p is corrected for these (Bonferroni)."""
    two = of_bert_base(_disabled(evidence, task)).set_index(HEAD).loc[_FRAMES]
    return float((-two["delta"]).where(two["p"] <= 0.05 / len(two), 0.0).clip(lower=0.0).max())


def _rank_digitised(published: Mapping, task: str) -> str:
    gains = _gains_digitised(published, "figure8", task)
    rank = max((gains < gains[layer - 1, head - 1]).sum() + 1 for layer, head in _SHARED)
    return f"{rank} (digitised)"


@claim(
    "figure8", "K8.4", "rank of the less important of L4H1 and L2H12 among 144 heads", ["stsb", "rte"], high=14, strict=False,
    published=_rank_digitised,
)  # fmt: skip
def two_tasks_share_their_important_disabled(evidence, task):
    gains = of_bert_base(_disabled(evidence, task)).groupby(HEAD)["delta"].mean()
    return float(max((gains < gains[head]).sum() + 1 for head in _SHARED))


def _whole_layers(evidence: Evidence, task: str) -> Curve:
    rows = evidence.ablations(task)
    gains = rows[(rows["head"] == 0) & (rows["layer"] > 0)].groupby("layer")["delta"].mean()
    return Curve(gains.to_dict(), int(gains.index.max()))


@claim(
    "figure9", "K9.1", "gain from disabling layer 1 of 12 in RTE, in points", low=1.6, strict=False,
    published=lambda published: _digitised("figure9", lambda gains: gains[0])(published, "rte"),
)  # fmt: skip
def the_first_layer_harms_rte(evidence):
    return _whole_layers(evidence, "rte").mean(1, 1, 12)


@claim(
    "figure9", "K9.2", "least gain from disabling one layer, in points", ["qnli", "mnli"], low=-0.2, strict=False,
    published=_digitised("figure9", np.min),
)  # fmt: skip
def a_layer_costs_little(evidence, task):
    return min(_whole_layers(evidence, task).values.values())


@claim(
    "figure9", "K9.3", "largest gain from disabling one layer, in points", TASKS[:5], low=0.0,
    published=_digitised("figure9", np.max),
)  # fmt: skip
def some_layer_does_harm(evidence, task):
    return max(_whole_layers(evidence, task).values.values())
