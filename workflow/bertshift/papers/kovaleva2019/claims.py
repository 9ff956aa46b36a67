"""Statements of Kovaleva et al. 2019, and the number of ours that decides each."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from bertshift.rows import statistics
from bertshift.rows.ranges import CORRELATION, POSITIVE, SHARE
from bertshift.verdicts.deciding import Claims, case
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
# For tasks that the paper calls exceptions.
NOT_MORE = {
    "low": -np.inf,
    "high": 0.0,
    "strict": False,
}

# ---- Table 1: what pretraining and fine-tuning add. Each function takes score(column), ours or
# the paper's, in points.


def _points(rows: pd.DataFrame) -> float:
    """Read the accuracy, or the mean of both correlations."""
    means = rows.groupby("score")["value"].mean()
    return float(
        means["accuracy"] if "accuracy" in means else means[["pearson", "spearman"]].mean()
    )


def _from_random_weights(evidence: Evidence, task: str) -> float:
    random, tuned = (evidence.scores(name)["train"] for name in (f"{task}.random", task))
    if set(random) != set(tuned):
        sizes = f"{random.iloc[0]:.0f} rows, pretrained ones on {tuned.iloc[0]:.0f}"
        raise NotTestableError(f"random weights were trained on {sizes}")
    return _points(evidence.scores(f"{task}.random"))


RANDOM_HEADS = {"metric": "frozen", "variant": "random_head"}


def _scores(evidence: Evidence, task: str) -> Callable[[str], float]:
    """Read our scores of a task by column; `pretrained` is the mean over random heads."""
    columns = {
        "finetuned": lambda: _points(evidence.scores(task)),
        "random_init": lambda: _from_random_weights(evidence, task),
        "pretrained": lambda: _points(
            statistics.in_points(evidence.every_row("base", **RANDOM_HEADS, task=task))
        ),
    }
    return lambda column: columns[column]()


def _scores_printed(published: Mapping, task: str) -> Callable[[str], float]:
    """Read the paper's scores of a task by column: of F1 and accuracy, accuracy."""
    return lambda column: np.ravel(published["table1"]["rows"][task][column])[-1]


in_table_1 = partial(claim, "table1", of=_scores, printed=_scores_printed, form="{:.1f}")


def gain(score, _=None) -> float:
    return score("finetuned") - score("pretrained")


def above_majority(evidence: Evidence, task: str) -> float:
    evidence.scores(task)  # where there is one pretraining run, the task's runs are the replicates
    constant = statistics.in_points(
        evidence.every_row("base", metric="frozen", task=task, variant="constant")
    )
    answers = constant.query("score == 'accuracy'").groupby("draw")["value"].mean()
    return _scores(evidence, task)("pretrained") - answers.max()


claim(
    "table1",
    "K1.1",
    "mean gain over 7 tasks, in points",
    lambda evidence: np.mean([gain(_scores(evidence, task)) for task in TASKS]),
    low=30.9,
    high=40.9,
    strict=False,
)
in_table_1(
    "K1.2",
    "points that random weights lack to pretrained ones, both fine-tuned",
    lambda score, _: score("finetuned") - score("random_init"),
    TASKS,
    low=0.0,
)
in_table_1(
    "K1.3",
    "points from random weights, fine-tuned, minus those of random heads on the pretrained model",
    lambda score, _: score("random_init") - score("pretrained"),
    ["stsb", "qnli"],
    high=0.0,
)
in_table_1(
    "K1.4", "gain over random heads on the pretrained model, in points", gain, TASKS, low=0.0
)
claim(
    "table1",
    "K1.5",
    "accuracy of random heads minus that of the majority class, in points",
    above_majority,
    CLASSES,
    high=1.0,
    strict=False,
)

# ---- Figure 2: classes of attention maps

CLASSIFIED = {"metric": "pattern_share", "variant": "classified"}
HETEROGENEOUS = CLASSIFIED | {"pattern": "heterogeneous"}


def _labelled_by_hand(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of a classifier that learnt from maps labelled by a person; NotTestableError if
    it learnt from a rule's labels alone."""
    if not rows["labels_by_person"].any():
        raise NotTestableError(
            "about maps labelled by hand; these labels are all a rule's (patterns.labels)"
        )
    return rows


def _heterogeneous_in(evidence: Evidence, task: str) -> pd.DataFrame:
    return _labelled_by_hand(evidence.rows(task, **HETEROGENEOUS))


def _heterogeneous(evidence: Evidence, *_) -> dict[str, float]:
    """Average the share of the class `heterogeneous` by task, in percent."""
    return {
        name: _heterogeneous_in(evidence, name)["value"].mean() * statistics.POINTS
        for name in TASKS
    }


def _heterogeneous_printed(published: Mapping, *_) -> dict[str, float]:
    entry = published["figure2"]
    column = entry["columns"].index("heterogeneous")
    return {name: row[column] for name, row in entry["rows"].items()}


def distance_to_the_next(shares: Mapping[str, float], task: str, end: str) -> float:
    others = [share for other, share in shares.items() if other != task]
    return shares[task] - (min(others) if end == "lowest" else max(others))


def share_in_bert_base(evidence: Evidence, task: str) -> float:
    shares = _heterogeneous_in(evidence, task)
    checkpoint = shares["checkpoint"].iloc[0]
    if "bert-base-uncased" not in checkpoint:
        raise NotTestableError(f"about shares in bert-base-uncased, not in {checkpoint}")
    return shares["value"].mean() * statistics.POINTS


def f1_of_classifier(evidence: Evidence, answer: str) -> float:
    # They say of the classifier the same for every model.
    rows = _labelled_by_hand(evidence.every_row(TASKS[0], **CLASSIFIED))
    return np.mean(rows[f"f1_macro_{answer}"])


claim(
    "figure2",
    "K2.1",
    "heterogeneous share minus that of the next task, in points",
    distance_to_the_next,
    [case("mrpc", "lowest", high=0.0), case("qqp", "highest", low=0.0)],
    strict=False,
    of=_heterogeneous,
    printed=_heterogeneous_printed,
    form="{:.1f} (digitised)",
)
claim(
    "figure2",
    "K2.2",
    "heterogeneous share, in percent",
    share_in_bert_base,
    [case("mrpc", low=27.0, high=37.0), case("qqp", low=56.0, high=66.0)],
    bounds=(0.0, 100.0),
)
claim(
    "figure2",
    "K2.3",
    "macro F1 of the classifier",
    f1_of_classifier,
    ["cross_validated", "resubstituted"],
    low=0.86,
    strict=False,
    across=True,
    shared=True,
    bounds=SHARE,
)

# ---- Figure 3: heads that relate a predicate and its arguments. Each is one number over all
# pretraining runs, as the paper has one: what varies here are sentences.

NAMED = {"L1H2": (1, 2), "L7H6": (7, 6)}


def rank_in_the_figure(evidence: Evidence, head: str) -> float:
    rows = of_bert_base(evidence.relation_heads("base", "code_zip"))
    return rows.groupby(HEAD)["rank"].mean()[NAMED[head]]


def _two_best(evidence: Evidence) -> pd.DataFrame:
    """Select for each run the heads that a reader of the figure would pick."""
    rows = evidence.relation_heads("base", "max_fe_to_lu")
    return rows[rows["rank"] <= 2]


def direction(evidence: Evidence) -> float:
    other = evidence.relation_heads("base", "max_lu_to_fe").set_index(["init", *HEAD])["value"]
    best = _two_best(evidence).set_index(["init", *HEAD])["value"]
    return (other[best.index] - best).mean()


def above_null(evidence: Evidence, heads: str) -> float:
    """Measure how far a head's score is above the 99th percentile of its null: for the two best
    heads the lesser, for all heads the largest, though of 144 one is above without any reason."""
    two = heads == "two best heads"
    rows = _two_best(evidence) if two else evidence.relation_heads("base", "max_fe_to_lu")
    excess = (rows["value"] - rows["null_99"]).groupby(rows["init"])
    return (excess.min() if two else excess.max()).mean()


about_relations = partial(claim, "figure3", across=True)
about_relations(
    "K3.1",
    "rank among 144 heads, as the figure takes the score",
    rank_in_the_figure,
    NAMED,
    high=2,
    strict=False,
)
about_relations(
    "K3.2",
    "score of the two best heads from predicate to argument minus that from argument to predicate",
    direction,
    low=0.0,
)
about_relations(
    "K3.3",
    "score minus the 99th percentile of the same places in other sentences",
    above_null,
    ["two best heads", "some head"],
    low=0.0,
)

# ---- Figure 5, and controls beside it: change of attention


def _change_printed(published: Mapping, task: str, _) -> Curve:
    """Read the paper's only curve, of padded inputs."""
    means = dict(enumerate(published["figure5"]["tasks"][task]["layer_mean"], 1))
    return Curve(means, len(means))


def lower_minus_last_sixth(curve: Curve, *_) -> float:
    top = curve.part(11, 12, 12)
    return min(curve[k] for k in range(1, curve.layers + 1) if k not in top) - max(
        curve[k] for k in top
    )


def distance_and_change(evidence: Evidence, task: str) -> float:
    moved, kept = evidence.curve(task, "displacement"), evidence.curve(task, "crop")
    layers = range(1, moved.layers + 1)
    values = ([moved[k] for k in layers], [1 - kept[k] for k in layers])
    return rank_correlation(*values, "the distance from the start, or the change of attention,")


def inherited_minus_own(evidence: Evidence, task: str) -> float:
    change = partial(
        evidence.by_layer, task, metric="own_or_inherited", measure="cosine_distance", head=0
    )
    return (change(variant="inherited") - change(variant="own")).mean(11, 12, 12)


claim(
    "figure5",
    "K5.1",
    "least cosine below the last sixth of the layers minus the largest within it",
    lower_minus_last_sixth,
    [
        case(task, way, **(NOT_MORE if task == "qqp" else {}))
        for task in sorted(TASKS, key="qqp".__eq__)
        for way in ("crop", "padded")
    ],
    low=0.0,
    of=Evidence.curve,
    printed=_change_printed,
    form="{:.3f} (digitised, padded)",
)
claim(
    "steps",
    "K5.2",
    "rank correlation over layers of two measures: how far the layer's weights end from their"
    " start (L2, relative to their norm), and 1 - cosine of its attention before and after, mean"
    " over heads, without padding",
    distance_and_change,
    TASKS,
    low=0.0,
    bounds=CORRELATION,
)
claim(
    "own_or_inherited",
    "K5.3",
    "1 - cosine of the last sixth of the layers by their input, minus that by their weights",
    inherited_minus_own,
    TASKS,
    low=0.0,
)

# ---- Figure 6: attention to special tokens; and words, of which there is no figure

EXCEPTIONS = ("stsb", "rte", "qnli")
KINDS = ("pron", "noun", "verb", "obj", "subj", "neg", "cls", "sep")  # of the paper's Figure 7
NOTICED = [
    case("mrpc", "noun"),
    case("mrpc", "obj"),
    case("rte", "noun"),
    case("rte", "obj"),
    case("qqp", "noun"),
    case("qqp", "obj"),
    case("qnli", "neg"),
]


def _layer_means(evidence: Evidence, task: str) -> Callable[[str], Sequence[float]]:
    """Average the attention to a token by layer, as a function of the token."""
    rows = partial(evidence.attention_to, task)
    return lambda token: rows(token).query("head == 0").groupby("layer")["value"].mean()


def _layer_means_printed(published: Mapping, task: str) -> Callable[[str], Sequence[float]]:
    return lambda token: published["figure6"][token][task]["layer_mean"]


def _centre(weights: Sequence[float]) -> float:
    """Find the layer around which attention lies."""
    return np.average(np.arange(1, len(weights) + 1), weights=weights)


def lead_of_sst2(evidence: Evidence, token: str) -> float:
    """Subtract the largest attention of other tasks to a token from that of SST-2, means over
    layers and heads. The paper's reason is that inputs of SST-2 have one separator; with
    `sep_sum`, where two are added up, that reason is gone."""
    means = {task: _layer_means(evidence, task)(token).mean() for task in TASKS}
    return means.pop("sst2") - max(means.values())


def _weights_of_heads(
    evidence: Evidence, task: str, token: str, before: bool = False
) -> pd.Series:
    rows = evidence.attention_to(task, token, before=before)
    return rows[rows["head"] > 0].groupby(HEAD)["value"].mean()


def share_of_special(evidence: Evidence, task: str, token: str) -> float:
    special = max(_weights_of_heads(evidence, task, other).max() for other in ("cls", "sep"))
    return ratio(
        _weights_of_heads(evidence, task, token).max(), special, "attention to [CLS] and [SEP]"
    )


def gain_of_a_head(evidence: Evidence, task: str, token: str) -> float:
    after, before = (
        _weights_of_heads(evidence, task, token, before=when) for when in (False, True)
    )
    return (after - before).max()


claim(
    "figure6",
    "K6.1",
    "centre of attention to [SEP] minus that to [CLS], in layers (the mean layer, weighted by the"
    " attention that its heads give the token on average)",
    lambda means, _: _centre(means("sep")) - _centre(means("cls")),
    TASKS,
    low=0.0,
    of=_layer_means,
    printed=_layer_means_printed,
)
claim(
    "figure6",
    "K6.2",
    "[SEP] weight of SST-2 minus the largest of other tasks (attention to [SEP], mean over layers"
    " and heads; of several [SEP] `sep` takes the largest, `sep_sum` the sum)",
    lead_of_sst2,
    ["sep", case("sep_sum", **NOT_MORE)],
    low=0.0,
)
claim(
    "linguistic",
    "K6.3",
    "largest head's attention, relative to [CLS] or [SEP]",
    share_of_special,
    NOTICED,
    high=0.5,
    bounds=POSITIVE,
)
claim(
    "linguistic", "K6.4", "largest gain of a head in attention", gain_of_a_head, NOTICED, low=0.01
)

# ---- Figure 7: what [CLS] gives to each kind in the last layer, mean over heads


def _weights(evidence: Evidence, task: str, needed: str = "sep") -> dict[str, float]:
    """Read the weight that [CLS] gives each kind of token in the last layer; kinds that no input
    has are left out."""
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


OF_LAST = "in the last layer, mean over heads, minus the largest to another kind"
claim(
    "figure7",
    "K7.1",
    f"attention of [CLS] to [SEP] {OF_LAST} (pronouns, nouns, verbs, objects, subjects, negation,"
    " [CLS])",
    lambda weights, _: _lead(weights, "sep"),
    [case(task, **NOT_MORE) if task in EXCEPTIONS else task for task in TASKS],
    low=0.0,
    of=_weights,
    printed=_weights_printed,
)
claim(
    "figure7",
    "K7.2",
    f"attention of [CLS] to punctuation {OF_LAST} (those of K7.1, and [SEP])",
    lambda evidence, task: _lead(_weights(evidence, task, "punct"), "punct"),
    EXCEPTIONS,
    low=0.0,
)

# ---- Figures 8 and 9: heads, and layers, disabled. All gains are in points.

OTHER_HALF = "other half"
FRAMES, SHARED = [(1, 2), (7, 6)], [(4, 1), (2, 12)]  # heads that the paper names: (layer, head)


def _disabled(evidence: Evidence, task: str) -> pd.DataFrame:
    rows = evidence.ablations(task)
    return rows[rows["head"] > 0]


def _gains_printed(published: Mapping, task: str, item: str = "figure8") -> np.ndarray:
    """Read the paper's gains in points, [layers, heads] or [layers]; from counts of right answers
    where the panel gives these away."""
    panel = published[item]["tasks"][task]
    counts = panel.get("exact_correct", panel)
    scores = np.asarray(counts["matrix" if item == "figure8" else "layers"])
    return statistics.POINTS * (scores - counts["baseline"]) / counts.get("n", 1)


def largest_gain(evidence: Evidence, task: str, chosen: str = "") -> float:
    """Find the largest gain of a disabled head. With `other half` the head is chosen on one half
    of the examples and its gain taken on the other.

    Of heads on the complete development set if there are any: on a sample the largest gain is
    larger by chance.
    """
    if chosen:
        return evidence.ablations(task, "ablation_split_half")["delta"].mean()
    heads = _disabled(evidence, task)
    surest = heads[heads["sample"] == heads["sample"].min()]  # complete, sample
    return surest.groupby(["init", "seed"])["delta"].max().mean()


def _largest_printed(published: Mapping, task: str, half: str = "") -> str:
    return "" if half else f"{_gains_printed(published, task).max():.2f} (digitised)"


def _of_frames_printed(published: Mapping, task: str) -> str:
    gains = _gains_printed(published, task)
    return f"{gains[0, 1]:.2f} and {gains[6, 5]:.2f} (digitised)"


def loss_of_frames(evidence: Evidence, task: str) -> float:
    """Find the larger loss of two heads named beforehand. They are two tests of each run, not 144:
    p is corrected for these (Bonferroni)."""
    two = of_bert_base(_disabled(evidence, task)).set_index(HEAD).loc[FRAMES]
    return (-two["delta"]).where(two["p"] <= 0.05 / len(two), 0.0).clip(lower=0.0).max()


def _gains_of_heads(evidence: Evidence, task: str) -> pd.Series:
    return of_bert_base(_disabled(evidence, task)).groupby(HEAD)["delta"].mean()


def _gains_of_heads_printed(published: Mapping, task: str) -> pd.Series:
    gains = pd.DataFrame(_gains_printed(published, task)).stack()
    return gains.set_axis([(layer + 1, head + 1) for layer, head in gains.index])


def rank_of_the_shared(gains: pd.Series, _) -> int:
    return max((gains < gains[head]).sum() + 1 for head in SHARED)


def _whole_layers(evidence: Evidence, task: str = "rte") -> Curve:
    rows = evidence.ablations(task)
    gains = rows[(rows["head"] == 0) & (rows["layer"] > 0)].groupby("layer")["delta"].mean()
    return Curve(gains.to_dict(), int(gains.index.max()))


def _whole_layers_printed(published: Mapping, task: str = "rte") -> Curve:
    gains = _gains_printed(published, task, "figure9")
    return Curve(dict(enumerate(gains, 1)), len(gains))


claim(
    "figure8",
    "K8.1",
    "largest gain from disabling one head, in points",
    largest_gain,
    [case(task, low=0.1) for task in TASKS]
    + [case(task, OTHER_HALF, low=0.0, strict=True) for task in TASKS],
    strict=False,
    published=_largest_printed,
)
claim(
    "figure8",
    "K8.2",
    "mean gain over all heads, in points",
    lambda gains, _: gains.mean(),
    ["mrpc", "rte"],
    low=0.0,
    printed=_gains_printed,
    of=lambda evidence, task: _disabled(evidence, task)["delta"],
)
claim(
    "figure8",
    "K8.3",
    "largest significant (p ≤ .05 over both heads and all runs) loss from disabling L1H2 or L7H6,"
    " in points",
    loss_of_frames,
    TASKS,
    high=0.0,
    strict=False,
    across=True,
    published=_of_frames_printed,
    inputs=False,
)
claim(
    "figure8",
    "K8.4",
    "rank of the less important of L4H1 and L2H12 among 144 heads",
    rank_of_the_shared,
    ["stsb", "rte"],
    high=14,
    strict=False,
    of=_gains_of_heads,
    printed=_gains_of_heads_printed,
    form="{} (digitised)",
    inputs=False,
)
figure9 = partial(claim, "figure9", of=_whole_layers, printed=_whole_layers_printed)
figure9(
    "K9.1",
    "gain from disabling layer 1 of 12 in RTE, in points",
    lambda gains: gains.mean(1, 1, 12),
    low=1.6,
    strict=False,
)
figure9(
    "K9.2",
    "least gain from disabling one layer, in points",
    lambda gains, _: min(gains.values.values()),
    ["qnli", "mnli"],
    low=-0.2,
    strict=False,
)
figure9(
    "K9.3",
    "largest gain from disabling one layer, in points",
    lambda gains, _: max(gains.values.values()),
    TASKS[:5],
    low=0.0,
)
