"""Statements of Kovaleva et al. 2019, and the number of ours that decides each."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from bertshift.measures import CORRELATION, POSITIVE, SHARE
from bertshift.rows import statistics
from bertshift.verdicts.deciding import ALL, SOME, Claims, Published, case
from bertshift.verdicts.evidence import (
    Curve,
    Evidence,
    NotTestableError,
    Profiles,
    of_bert_base,
    ratio,
    remember,
)

CLAIMS = Claims("kovaleva2019")
claim = CLAIMS.about
TASKS = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]
CLASSES = [task for task in TASKS if task != "stsb"]
HEAD = ["layer", "head"]
# For tasks that the paper calls exceptions.
NOT_MORE = {"low": -np.inf, "high": 0.0, "strict": False, "each": SOME}

# ---- Table 1: what pretraining and fine-tuning add. Each function takes score(column), ours or
# the paper's, in points.


def _read_points(rows: pd.DataFrame) -> float:
    """Read the accuracy, or the mean of both correlations."""
    means = rows.groupby("score")["value"].mean()
    if "accuracy" in means:
        return float(means["accuracy"])
    return float(means[["pearson", "spearman"]].mean())


@remember
def _score_finetuned(evidence: Evidence, task: str) -> float:
    return _read_points(evidence.scores(task))


@remember
def _score_random_weights(evidence: Evidence, task: str) -> float:
    random = evidence.scores(f"{task}.random")
    sizes = random["train"]
    tuned_sizes = evidence.scores(task)["train"]
    if set(sizes) != set(tuned_sizes):
        raise NotTestableError(
            f"random weights were trained on {sizes.iloc[0]:.0f} rows, pretrained ones on"
            f" {tuned_sizes.iloc[0]:.0f}"
        )
    return _read_points(random)


@remember
def _score_pretrained(evidence: Evidence, task: str) -> float:
    """Average the scores of random heads on the pretrained model."""
    rows = evidence.every_row("base", metric="frozen", variant="random_head", task=task)
    return _read_points(statistics.in_points(rows))


def _read_scores(evidence: Evidence, task: str) -> Callable[[str], float]:
    """Read our scores of a task by column."""

    def score(column: str) -> float:
        if column == "finetuned":
            return _score_finetuned(evidence, task)
        if column == "random_init":
            return _score_random_weights(evidence, task)
        return _score_pretrained(evidence, task)

    return score


def _read_scores_printed(published: Mapping, task: str) -> Callable[[str], float]:
    """Read the paper's scores of a task by column: of F1 and accuracy, accuracy."""
    row = published["table1"]["rows"][task]
    return lambda column: np.ravel(row[column])[-1]


in_table_1 = partial(claim, "table1", of=_read_scores, printed=_read_scores_printed, form="{:.1f}")


def gain(score, _=None) -> float:
    return score("finetuned") - score("pretrained")


def above_constants(evidence: Evidence, task: str) -> pd.Series:
    """Subtract the accuracy of each constant answer."""
    constant = evidence.every_row("base", metric="frozen", task=task, variant="constant")
    accuracies = statistics.in_points(constant).query("score == 'accuracy'")
    by_answer = accuracies.groupby("draw")["value"].mean()
    return _score_pretrained(evidence, task) - by_answer


claim(
    "table1",
    "K1.1",
    "mean gain over 7 tasks, in points",
    lambda evidence: np.mean([gain(_read_scores(evidence, task)) for task in TASKS]),
    low=30.9,
    high=40.9,
    strict=False,
)
in_table_1(
    "K1.2",
    "score from pretrained minus score from random weights, both fine-tuned, in points",
    lambda score, _: score("finetuned") - score("random_init"),
    TASKS,
    low=0.0,
)
in_table_1(
    "K1.3",
    "score from random weights, fine-tuned, minus random heads on pretrained ones, in points",
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
    above_constants,
    CLASSES,
    each=SOME,
    high=1.0,
    strict=False,
)

# ---- Figure 2: classes of attention maps

CLASSIFIED = {"metric": "pattern_share", "variant": "classified"}
HETEROGENEOUS = CLASSIFIED | {"pattern": "heterogeneous"}


def _check_labels(rows: pd.DataFrame) -> None:
    """Raise NotTestableError if the classifier learnt from a rule's labels alone, and from no map
    that a person labelled."""
    if not rows["labels_by_person"].any():
        raise NotTestableError(
            "about maps labelled by hand; these labels are all a rule's (patterns.labels)"
        )


def _read_share(evidence: Evidence, task: str) -> float:
    """Average the share of the class `heterogeneous`, in percent."""
    rows = evidence.rows(task, **HETEROGENEOUS)
    _check_labels(rows)
    return rows["value"].mean() * statistics.POINTS


def _read_shares(evidence: Evidence, *_) -> dict[str, float]:
    return {task: _read_share(evidence, task) for task in TASKS}


def _read_shares_printed(published: Mapping, *_) -> dict[str, float]:
    entry = published["figure2"]
    column = entry["columns"].index("heterogeneous")
    return {task: row[column] for task, row in entry["rows"].items()}


def distance_to_others(shares: Mapping[str, float], task: str, _) -> dict[str, float]:
    return {name: shares[task] - share for name, share in shares.items() if name != task}


def share_in_bert_base(evidence: Evidence, task: str) -> float:
    share = _read_share(evidence, task)
    checkpoint = evidence.rows(task, **HETEROGENEOUS)["checkpoint"].iloc[0]
    if "bert-base-uncased" not in checkpoint:
        raise NotTestableError(f"about shares in bert-base-uncased, not in {checkpoint}")
    return share


def f1_of_classifier(evidence: Evidence, answer: str) -> float:
    # Every model has the same classifier.
    rows = evidence.every_row(TASKS[0], **CLASSIFIED)
    _check_labels(rows)
    return np.mean(rows[f"f1_macro_{answer}"])


claim(
    "figure2",
    "K2.1",
    "heterogeneous share minus that of the next task, in points",
    distance_to_others,
    [case("mrpc", "lowest", high=0.0), case("qqp", "highest", low=0.0)],
    each=ALL,
    strict=False,
    of=_read_shares,
    printed=_read_shares_printed,
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

# ---- Figure 3: heads that relate a predicate and its arguments. Each claim has one number over
# all pretraining runs, as in the paper. Its interval is over sentences, half of which pick heads.

NAMED = {"L1H2": (1, 2), "L7H6": (7, 6)}


def above_other_heads(evidence: Evidence, head: str) -> pd.Series:
    """Subtract the score of each head that is not named. Both named heads are the two best where
    each is above all others."""
    rows = of_bert_base(evidence.relation_heads("base", "code_zip"))
    scores = rows.groupby(HEAD)["value"].mean()
    return scores[NAMED[head]] - scores.drop(list(NAMED.values()))


def _score_heads(evidence: Evidence, *_, way: str = "max_fe_to_lu") -> pd.Series:
    """Average the score by head."""
    return evidence.relation_heads("base", way).groupby(HEAD)["value"].mean()


def direction(evidence: Evidence) -> pd.Series:
    return _score_heads(evidence, way="max_lu_to_fe") - _score_heads(evidence)


def above_null(evidence: Evidence, _) -> pd.Series:
    """Measure how far each head's score is above the 99th percentile of its null. One of 144 heads
    is above it by chance."""
    rows = evidence.relation_heads("base", "max_fe_to_lu")
    return (rows["value"] - rows["null_99"]).groupby([rows[key] for key in HEAD]).mean()


def two_best(scores: pd.Series) -> np.ndarray:
    return (scores.rank(ascending=False, method="first") <= 2).to_numpy() / 2


def second_best(scores: pd.Series) -> np.ndarray:
    """Weigh the lesser of the two best heads by 1."""
    return (scores.rank(ascending=False, method="first") == 2).to_numpy().astype(float)


about_relations = partial(claim, "figure3", across=True)
about_relations(
    "K3.1",
    "score as the figure takes it, minus the largest of heads other than both",
    above_other_heads,
    NAMED,
    each=ALL,
    low=0.0,
)
about_relations(
    "K3.2",
    "score of the two best heads from predicate to argument minus that from argument to predicate",
    direction,
    each=two_best,
    picked_by=_score_heads,
    low=0.0,
)
about_relations(
    "K3.3",
    "score minus the 99th percentile of the same places in other sentences",
    above_null,
    [case("two best heads", each=second_best), case("some head", each=SOME)],
    picked_by=_score_heads,
    low=0.0,
)

# ---- Figure 5, and controls beside it: change of attention


def _read_curve_printed(published: Mapping, task: str, _) -> Curve:
    """Read the paper's only curve, of padded inputs."""
    means = published["figure5"]["tasks"][task]["layer_mean"]
    return Curve(dict(enumerate(means, 1)), len(means))


def lower_minus_last_sixth(curve: Curve, *_) -> dict[tuple[int, int], float]:
    """Subtract each layer of the last sixth from each layer below."""
    top = curve.part(11, 12, 12)
    lower = [layer for layer in range(1, curve.layers + 1) if layer not in top]
    return {(k, last): curve[k] - curve[last] for k in lower for last in top}


def distance_and_change(evidence: Evidence, task: str) -> Profiles:
    distance = evidence.curve(task, "displacement")
    cosine = evidence.curve(task, "crop")
    layers = range(1, distance.layers + 1)
    return Profiles([distance[k] for k in layers], [1 - cosine[k] for k in layers])


def inherited_minus_own(evidence: Evidence, task: str) -> float:
    rows = {"metric": "own_or_inherited", "measure": "cosine_distance", "head": 0}
    inherited = evidence.by_layer(task, variant="inherited", **rows)
    own = evidence.by_layer(task, variant="own", **rows)
    return (inherited - own).mean(11, 12, 12)


def made_minus_both(evidence: Evidence, task: str) -> float:
    rows = {"metric": "own_or_inherited", "measure": "rsa_distance"}
    made = evidence.by_layer(task, variant="made", **rows)
    both = evidence.by_layer(task, variant="both", **rows)
    return (made - both)[made.layers]


def made_by_one_minus_half_of_last(evidence: Evidence, task: str) -> dict[int, float]:
    """Subtract from what each layer's weights change alone half of what the last layer shows."""
    rows = {"metric": "own_or_inherited", "measure": "rsa_distance"}
    made = evidence.by_layer(task, variant="made", **rows)
    both = evidence.by_layer(task, variant="both", **rows)
    return {layer: made[layer] - both[both.layers] / 2 for layer in range(1, made.layers + 1)}


claim(
    "figure5",
    "K5.1",
    "least cosine below the last sixth of the layers minus the largest within it",
    lower_minus_last_sixth,
    [
        *(case(task, way) for task in TASKS if task != "qqp" for way in ("crop", "padded")),
        case("qqp", "crop", **NOT_MORE),
        case("qqp", "padded", **NOT_MORE),
    ],
    each=ALL,
    low=0.0,
    of=Evidence.curve,
    printed=_read_curve_printed,
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
claim(
    "own_or_inherited",
    "K5.4",
    "1 - RSA of the last layer's hidden states by its weights alone, minus that by its weights and"
    " its input",
    made_minus_both,
    TASKS,
    high=0.0,
)
claim(
    "own_or_inherited",
    "K5.5",
    "1 - RSA of a layer's hidden states by its weights alone, the largest of all layers, minus"
    " half of the last layer's by its weights and its input",
    made_by_one_minus_half_of_last,
    TASKS,
    each=ALL,
    high=0.0,
)

# ---- Figure 6: attention to special tokens; and to words, for which the paper has no figure

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


def _average_heads(evidence: Evidence, task: str, token: str, variant: str = "received") -> Curve:
    """Read the attention to a token, mean over heads, by layer."""
    where = {"metric": "attention_to", "stimuli": task, "token": token, "variant": variant}
    return evidence.by_layer(task, **where, head=0)


def _read_layer_means(evidence: Evidence, task: str) -> Callable[[str], Sequence[float]]:
    """Average the attention to a token by layer, as a function of the token."""
    return lambda token: [*_average_heads(evidence, task, token).values.values()]


def _read_layer_means_printed(published: Mapping, task: str) -> Callable[[str], Sequence[float]]:
    return lambda token: published["figure6"][token][task]["layer_mean"]


def centre(weights: Sequence[float]) -> float:
    """Average the number of the layer, weighted by attention."""
    layers = np.arange(1, len(weights) + 1)
    return np.average(layers, weights=weights)


def lead_of_sst2(evidence: Evidence, token: str) -> dict[str, float]:
    """Subtract the attention of each other task to a token from that of SST-2, means over layers
    and heads. The paper's reason is that inputs of SST-2 have one separator. The sum of two
    separators, `sep_sum`, removes that reason."""
    means = {task: np.mean(_read_layer_means(evidence, task)(token)) for task in TASKS}
    sst2 = means.pop("sst2")
    return {task: sst2 - mean for task, mean in means.items()}


@remember
def _read_heads(evidence: Evidence, task: str, token: str, before: bool = False) -> pd.Series:
    """Average the attention to a token by head."""
    rows = evidence.attention_to(task, token, before=before)
    return rows[rows["head"] > 0].groupby(HEAD)["value"].mean()


def share_of_special(evidence: Evidence, task: str, token: str) -> dict[tuple, float]:
    """Divide each head's attention by the largest to [CLS] or [SEP], of the head that has it in
    the pretrained model: it is picked on other data than the model's own."""
    kinds = ("cls", "sep")
    before = pd.concat({kind: _read_heads(evidence, task, kind, before=True) for kind in kinds})
    kind, *head = before.idxmax()
    special = _read_heads(evidence, task, kind)[tuple(head)]
    heads = _read_heads(evidence, task, token)
    what = "attention to [CLS] and [SEP]"
    return {head: ratio(value, special, what) for head, value in heads.items()}


def gains_of_heads(evidence: Evidence, task: str, token: str) -> pd.Series:
    after = _read_heads(evidence, task, token)
    return after - _read_heads(evidence, task, token, before=True)


claim(
    "figure6",
    "K6.1",
    "centre of attention to [SEP] minus that to [CLS], in layers (the mean layer, weighted by the"
    " attention that its heads give the token on average)",
    lambda means, _: centre(means("sep")) - centre(means("cls")),
    TASKS,
    low=0.0,
    of=_read_layer_means,
    printed=_read_layer_means_printed,
)
claim(
    "figure6",
    "K6.2",
    "[SEP] weight of SST-2 minus the largest of other tasks (attention to [SEP], mean over layers"
    " and heads; of several [SEP] `sep` takes the largest, `sep_sum` the sum)",
    lead_of_sst2,
    ["sep", case("sep_sum", **NOT_MORE)],
    each=ALL,
    low=0.0,
)
claim(
    "linguistic",
    "K6.3",
    "largest head's attention, relative to that of the head which attends most to [CLS] or [SEP]"
    " before fine-tuning",
    share_of_special,
    NOTICED,
    each=ALL,
    high=0.5,
    bounds=POSITIVE,
)
claim(
    "linguistic",
    "K6.4",
    "largest gain of a head in attention",
    gains_of_heads,
    NOTICED,
    each=SOME,
    low=0.01,
)

# ---- Figure 7: attention of [CLS] to each kind in the last layer, mean over heads


def _read_weights(evidence: Evidence, task: str, needed: str = "sep") -> dict[str, float]:
    """Read the weight that [CLS] gives each kind of token in the last layer. Kinds that no input
    has are left out, unless the kind is `needed`."""
    weights = {}
    for kind in (needed, *KINDS):
        try:
            means = _average_heads(evidence, task, kind, "from_cls")
        except NotTestableError:
            if kind == needed:
                raise
            continue
        weights[kind] = means[means.layers]
    return weights


def _read_weights_printed(published: Mapping, task: str) -> dict[str, float]:
    strips = published["figure7"]["tasks"][task]
    return {kind: float(np.mean(strips[kind])) for kind in KINDS}


def lead(weights: Mapping[str, float], kind: str) -> dict[str, float]:
    return {name: weights[kind] - weight for name, weight in weights.items() if name != kind}


OF_LAST = "in the last layer, mean over heads, minus the largest to another kind"
claim(
    "figure7",
    "K7.1",
    f"attention of [CLS] to [SEP] {OF_LAST} (pronouns, nouns, verbs, objects, subjects, negation,"
    " [CLS])",
    lambda weights, _: lead(weights, "sep"),
    [case(task, **NOT_MORE) if task in EXCEPTIONS else task for task in TASKS],
    each=ALL,
    low=0.0,
    of=_read_weights,
    printed=_read_weights_printed,
)
claim(
    "figure7",
    "K7.2",
    f"attention of [CLS] to punctuation {OF_LAST} (those of K7.1, and [SEP])",
    lambda evidence, task: lead(_read_weights(evidence, task, "punct"), "punct"),
    EXCEPTIONS,
    each=ALL,
    low=0.0,
)

# ---- Figures 8 and 9: heads, and layers, disabled. All gains are in points.

OTHER_HALF = "other half"
SHARED = [(4, 1), (2, 12)]  # heads that the paper names: (layer, head)


@remember
def _read_disabled_heads(evidence: Evidence, task: str) -> pd.DataFrame:
    rows = evidence.ablations(task)
    return rows[rows["head"] > 0]


def _read_gains_printed(published: Mapping, task: str, item: str = "figure8") -> np.ndarray:
    """Read the paper's gains in points, [layers, heads] or [layers], from counts of right answers
    if these follow from the panel."""
    panel = published[item]["tasks"][task]
    counts = panel.get("exact_correct", panel)
    scores = np.asarray(counts["matrix" if item == "figure8" else "layers"])
    return statistics.POINTS * (scores - counts["baseline"]) / counts.get("n", 1)


def gains_of_disabled_heads(evidence: Evidence, task: str, half: str = "") -> dict | float:
    """Average the gain of each disabled head. With `other half` one head of each run was chosen on
    one half of the examples, and its gain taken on the other."""
    if half:
        return evidence.ablations(task, "ablation_split_half")["delta"].mean()
    return _read_disabled_heads(evidence, task).groupby(HEAD)["delta"].mean()


def _read_largest_printed(published: Mapping, task: str, half: str = "") -> Published:
    if half:
        return Published()
    largest = _read_gains_printed(published, task).max()
    return Published(f"{largest:.2f} (digitised)", largest)


def _read_head_gains(evidence: Evidence, task: str, *_) -> pd.Series:
    heads = of_bert_base(_read_disabled_heads(evidence, task))
    return heads.groupby(HEAD)["delta"].mean()


def _read_head_gains_printed(published: Mapping, task: str, *_) -> pd.Series:
    gains = pd.DataFrame(_read_gains_printed(published, task)).stack()
    return gains.set_axis([(layer + 1, head + 1) for layer, head in gains.index])


def rank_of_the_shared(gains: pd.Series, _) -> int:
    return max((gains < gains[head]).sum() + 1 for head in SHARED)


def _read_layer_gains(evidence: Evidence, task: str = "rte") -> Curve:
    rows = evidence.ablations(task)
    layers = rows[(rows["head"] == 0) & (rows["layer"] > 0)]
    gains = layers.groupby("layer")["delta"].mean()
    return Curve(gains.to_dict(), int(gains.index.max()))


def _read_layer_gains_printed(published: Mapping, task: str = "rte") -> Curve:
    gains = _read_gains_printed(published, task, "figure9")
    return Curve(dict(enumerate(gains, 1)), len(gains))


claim(
    "figure8",
    "K8.1",
    "largest gain from disabling one head, in points",
    gains_of_disabled_heads,
    [case(task, low=0.1, each=SOME) for task in TASKS]
    + [case(task, OTHER_HALF, low=0.0, strict=True) for task in TASKS],
    strict=False,
    published=_read_largest_printed,
)
claim(
    "figure8",
    "K8.2",
    "mean gain over all heads, in points",
    lambda gains, _: gains.mean(),
    ["mrpc", "rte"],
    low=0.0,
    printed=_read_gains_printed,
    of=lambda evidence, task: _read_disabled_heads(evidence, task)["delta"],
)
claim(
    "figure8",
    "K8.3",
    "loss from disabling this head, in points",
    lambda gains, _, head: -gains[NAMED[head]],
    [case(task, head) for task in TASKS for head in NAMED],
    high=0.0,
    strict=False,
    of=_read_head_gains,
    printed=_read_head_gains_printed,
)
claim(
    "figure8",
    "K8.4",
    "rank of the less important of L4H1 and L2H12 among 144 heads",
    rank_of_the_shared,
    ["stsb", "rte"],
    high=14,
    strict=False,
    of=_read_head_gains,
    printed=_read_head_gains_printed,
    form="{} (digitised)",
    grid=True,
    inputs=False,
)
figure9 = partial(claim, "figure9", of=_read_layer_gains, printed=_read_layer_gains_printed)
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
    lambda gains, _: gains.values,
    ["qnli", "mnli"],
    each=ALL,
    low=-0.2,
    strict=False,
)
figure9(
    "K9.3",
    "largest gain from disabling one layer, in points",
    lambda gains, _: gains.values,
    TASKS[:5],
    each=SOME,
    low=0.0,
)
