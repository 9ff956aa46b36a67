"""Claims of Kovaleva et al. 2019 on attention to special tokens and to kinds of words."""

from collections.abc import Callable, Mapping

import numpy as np

from bertshift.claims.deciding import claim
from bertshift.claims.evidence import Evidence, NotTestableError, ratio

_SIX, _SEVEN, _WORDS = "kovaleva2019/figure6", "kovaleva2019/figure7", "kovaleva2019/linguistic"
TASKS = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]
EXCEPTIONS = ("stsb", "rte", "qnli")
KINDS = ("pron", "noun", "verb", "obj", "subj", "neg", "cls", "sep")  # of the paper's Figure 7
NOTICED = ["mrpc, noun", "mrpc, obj", "rte, noun", "rte, obj", "qqp, noun", "qqp, obj", "qnli, neg"]
NOT_MORE = {"low": -np.inf, "high": 0.0, "strict": False}


# ---- Figure 6


def _layer_means(evidence: Evidence, task: str, token: str) -> np.ndarray:
    rows = evidence.attention_to(task, token)
    return rows[rows["head"] == 0].groupby("layer")["value"].mean().to_numpy()


def _centre(means: np.ndarray) -> float:
    """The layer around which attention lies."""
    return float(np.average(np.arange(1, len(means) + 1), weights=means))


def _digitised(number: Callable[[Mapping, str], float]) -> Callable[[Mapping, str], str]:
    """The same number of the paper's panels, in words."""
    return lambda published, task: f"{number(published, task):.2f} (digitised)"


@_digitised
def _distance_digitised(published, task):
    sep, cls = (np.array(published["figure6"][token][task]["layer_mean"]) for token in ("sep", "cls"))
    return _centre(sep) - _centre(cls)


@claim(
    _SIX, "K6.1", "centre of attention to [SEP] minus that to [CLS], in layers", TASKS, low=0.0,
    published=_distance_digitised,
)  # fmt: skip
def early_cls_late_sep(evidence, task):
    return _centre(_layer_means(evidence, task, "sep")) - _centre(_layer_means(evidence, task, "cls"))


@claim(
    _SIX,
    "K6.2",
    "[SEP] weight of SST-2 minus the largest of other tasks",
    ["sep", ("sep_sum", NOT_MORE)],
    low=0.0,
)
def one_sep_gets_more(evidence, token):
    """`sep_sum`: where two are added up, what they say is the reason is gone."""
    means = {task: _layer_means(evidence, task, token).mean() for task in TASKS}
    return float(means.pop("sst2") - max(means.values()))


# ---- Words, of which there is no figure


def _heads(evidence: Evidence, task: str, token: str, before: bool = False):
    rows = evidence.attention_to(task, token, before=before)
    return rows[rows["head"] > 0].groupby(["layer", "head"])["value"].mean()


@claim(_WORDS, "K6.3", "largest head's attention, relative to [CLS] or [SEP]", NOTICED, high=0.5)
def words_get_little(evidence, task, token):
    special = max(_heads(evidence, task, other).max() for other in ("cls", "sep"))
    return ratio(_heads(evidence, task, token).max(), special, "attention to [CLS] and [SEP]")


@claim(_WORDS, "K6.4", "largest gain of a head in attention", NOTICED, low=0.01)
def some_head_gains(evidence, task, token):
    return float((_heads(evidence, task, token) - _heads(evidence, task, token, before=True)).max())


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


@_digitised
def _lead_digitised(published, task):
    strips = published["figure7"]["tasks"][task]
    return _lead({kind: float(np.mean(strips[kind])) for kind in KINDS}, "sep")


@claim(
    _SEVEN, "K7.1", "attention of [CLS] to [SEP] minus that to the next kind",
    [(task, NOT_MORE) if task in EXCEPTIONS else task for task in TASKS], low=0.0, published=_lead_digitised,
)  # fmt: skip
def cls_attends_to_sep(evidence, task):
    return _lead(_weights(evidence, task, "sep"), "sep")


@claim(_SEVEN, "K7.2", "attention of [CLS] to punctuation minus that to the next kind", EXCEPTIONS, low=0.0)
def punctuation_instead(evidence, task):
    return _lead(_weights(evidence, task, "punct"), "punct")
