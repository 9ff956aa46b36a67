"""Does one of many changes to a model matter? Tests on predictions for the same examples, in
float64."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, false_discovery_control, rankdata

from bertshift.seeds import seed_from

# With fewer draws no p is small enough to survive a correction for 144 heads.
DRAWS = 10_000
SPLITS = 1_000
DRAWN_AT_ONCE = 10_000_000
ROUNDING = 1e-12  # a difference that sums of equal numbers in another order can make


def mcnemar(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Calculate the exact two-sided p of "as many examples turn right as turn wrong" (McNemar
    1947, binomial); 1 where none turns.

    before [examples], after [..., examples]: is the prediction right?
    """
    lost, gained = (before & ~after).sum(-1), (~before & after).sum(-1)
    return np.minimum(1, 2 * binom.cdf(np.minimum(lost, gained), lost + gained, 0.5))


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Calculate the false discovery rate at which each of these tests is just significant
    (Benjamini & Hochberg 1995).

    NaN, where nothing could be tested, stays NaN and counts as no test.
    """
    p = np.asarray(p, float)
    q = np.full_like(p, np.nan)
    tested = ~np.isnan(p)
    q[tested] = false_discovery_control(p[tested])
    return q


@dataclass(frozen=True)
class Score:
    """A score that is a function of sums over examples, so that it is quickly had for many samples
    of them.

    features: gold and predictions [..., examples] -> [..., examples, k]. combine: their means
    [..., k] -> [...].
    """

    features: Callable[[np.ndarray, np.ndarray], np.ndarray]
    combine: Callable[[np.ndarray], np.ndarray]

    def of(self, gold: np.ndarray, said: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Prepare gold [examples] and said [models, examples]: a function from how many times each
        example counts [samples, examples] to the scores [samples, models]."""
        features = self.features(np.broadcast_to(gold, said.shape), said).astype(float)
        models, examples, k = features.shape
        flat = np.moveaxis(features, 1, 0).reshape(examples, models * k)

        def scores(times: np.ndarray) -> np.ndarray:
            means = times.astype(float) @ flat / times.sum(1, keepdims=True)
            return self.combine(means.reshape(len(times), models, k))

        return scores


def _first(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    """Divide; 0 where there is nothing to divide by, as in tasks.scores."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _hits(gold, said):
    """Tell for each example whether gold and prediction are both class 1, and how many of the two
    are."""
    return np.stack([(gold == 1) & (said == 1), (gold == 1) * 1 + (said == 1)], -1)


def _confusion(gold, said):
    classes = np.union1d(gold, said)
    pairs = (gold[..., None] == classes)[..., :, None] & (said[..., None] == classes)[..., None, :]
    return pairs.reshape(*gold.shape, -1)


def _matthews(means):
    classes = round(means.shape[-1] ** 0.5)
    table = means.reshape(*means.shape[:-1], classes, classes)
    gold, said = table.sum(-1), table.sum(-2)
    return _ratio(
        np.trace(table, axis1=-2, axis2=-1) - (gold * said).sum(-1),
        np.sqrt((1 - (gold**2).sum(-1)) * (1 - (said**2).sum(-1))),
    )


def _macro_f1(means):
    classes = round(means.shape[-1] ** 0.5)
    table = means.reshape(*means.shape[:-1], classes, classes)
    right, either = np.diagonal(table, axis1=-2, axis2=-1), table.sum(-1) + table.sum(-2)
    return _ratio(_ratio(2 * right, either).sum(-1), (either > 0).sum(-1).astype(float))


def _moments(gold, said):
    # Centred, or the difference of two large sums would be lost in their last digits.
    x, y = (values - values.mean(-1, keepdims=True) for values in (gold, said))
    return np.stack([x, y, x * x, y * y, x * y], -1)


def _correlation(means):
    x, y, xx, yy, xy = np.moveaxis(means, -1, 0)
    return _ratio(xy - x * y, np.sqrt(np.maximum((xx - x * x) * (yy - y * y), 0)))


def _rank_moments(gold, said):
    return _moments(rankdata(gold, axis=-1), rankdata(said, axis=-1))


# `mean` is for predictions that are scores themselves. A Spearman correlation of a sample takes
# ranks among all examples.
SCORES = {
    "mean": Score(lambda gold, said: said[..., None], _first),
    "accuracy": Score(lambda gold, said: (gold == said)[..., None], _first),
    "f1": Score(_hits, lambda means: _ratio(2 * means[..., 0], means[..., 1])),
    "macro_f1": Score(_confusion, _macro_f1),
    "mcc": Score(_confusion, _matthews),
    "pearson": Score(_moments, _correlation),
    "spearman": Score(_rank_moments, _correlation),
}


def paired_bootstrap(
    score: Score,
    gold: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    name: str,
    draws: int = DRAWS,
) -> np.ndarray:
    """Calculate the two-sided p [models] of "no difference", from samples of the examples with
    replacement, the same for all models.

    gold, before [examples]; after [models, examples]; `name` is what the samples depend on. The
    least p is 2 / (draws + 1).
    """
    scores = score.of(gold, np.stack([before, *after]))
    not_better, not_worse = np.zeros(len(after)), np.zeros(len(after))
    for times in samples(len(gold), draws, "paired bootstrap", name):
        found = scores(times)
        gains = found[:, 1:] - found[:, :1]
        not_better += (gains <= ROUNDING).sum(0)
        not_worse += (gains >= -ROUNDING).sum(0)
    return np.minimum(1, 2 * (1 + np.minimum(not_better, not_worse)) / (draws + 1))


def samples(
    examples: int, draws: int, *name: str, drawn_at_once: int = DRAWN_AT_ONCE
) -> Iterator[np.ndarray]:
    """Yield blocks [samples, examples] of how often each example was drawn, `draws` samples in
    all.

    Samples depend on `name`, not on `drawn_at_once`, the most examples of a block (24 bytes each,
    while it is made).
    """
    rng = np.random.default_rng(seed_from(*name))
    at_once = max(1, drawn_at_once // examples)
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        drawn = rng.integers(examples, size=(size, examples)) + examples * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * examples).reshape(size, examples)


def split_half(
    score: Score,
    gold: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    name: str,
    splits: int = SPLITS,
) -> np.ndarray:
    """Measure, on one random half of the examples, the gain of the model that gains most on the
    other half: [splits].

    The gain of the best of many models on the examples that it was chosen on is too large by what
    chance adds to the best: the winner's curse. Arguments are those of `paired_bootstrap`.
    """
    scores = score.of(gold, np.stack([before, *after]))
    rng = np.random.default_rng(seed_from("split half", name))
    chosen_on = rng.permuted(np.tile(np.arange(len(gold)) < len(gold) // 2, (splits, 1)), axis=1)
    first, second = (
        found[:, 1:] - found[:, :1] for found in (scores(chosen_on), scores(~chosen_on))
    )
    return np.take_along_axis(second, first.argmax(1)[:, None], 1)[:, 0]
