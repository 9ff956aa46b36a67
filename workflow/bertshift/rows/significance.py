"""Tests whether one of many changes to a model matters, on predictions for the same examples, in
float64."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
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
    lost = (before & ~after).sum(-1)
    gained = (~before & after).sum(-1)
    p = binom.cdf(np.minimum(lost, gained), lost + gained, 0.5)
    return np.minimum(1, 2 * p)


def of_least_certain(replicates, difference: str) -> pd.DataFrame:
    """Combine the tests of each group of `replicates`, a groupby, into one: the largest `p` and
    the smallest `n`.

    Replicates whose column `difference` differs in direction are no evidence of either direction:
    their p is 1.
    """
    tests = replicates.agg(
        p=("p", "max"), n=("n", "min"), least=(difference, "min"), most=(difference, "max")
    )
    differ_in_sign = (tests.pop("least") < 0) & (tests.pop("most") > 0)
    tests["p"] = tests["p"].mask(differ_in_sign & tests["p"].notna(), 1.0)
    return tests


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
    """A score that is a function of sums over examples, which is fast to compute for many samples
    of them.

    features: gold and predictions [..., examples] -> [..., examples, k]. combine: their means
    [..., k] -> [...].
    """

    features: Callable[[np.ndarray, np.ndarray], np.ndarray]
    combine: Callable[[np.ndarray], np.ndarray]

    def of(self, gold: np.ndarray, predicted: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function from how many times each example counts [samples, examples] to the
        scores [samples, models], for gold [examples] and predicted [models, examples]."""
        gold = np.broadcast_to(gold, predicted.shape)
        features = self.features(gold, predicted).astype(float)
        models, examples, k = features.shape
        flat = np.moveaxis(features, 1, 0).reshape(examples, models * k)

        def scores(times: np.ndarray) -> np.ndarray:
            means = times.astype(float) @ flat / times.sum(1, keepdims=True)
            return self.combine(means.reshape(len(times), models, k))

        return scores

    def gains(
        self, gold: np.ndarray, before: np.ndarray, after: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function from how many times each example counts [samples, examples] to what
        the models `after` score more than `before` [samples, models]."""
        scores = self.of(gold, np.stack([before, *after]))

        def gains(times: np.ndarray) -> np.ndarray:
            values = scores(times)
            return values[:, 1:] - values[:, :1]

        return gains


def _take_mean(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _divide(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    """Divide; 0 where there is nothing to divide by, as in tasks.scores."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _count_positives(gold, predicted):
    """Count for each example whether gold and prediction are both class 1, and how many of the two
    are."""
    gold, predicted = gold == 1, predicted == 1
    return np.stack([gold & predicted, gold * 1 + predicted], -1)


def _f1(means):
    return _divide(2 * means[..., 0], means[..., 1])


def _pair_classes(gold, predicted):
    """Mark the cell of each example in the confusion matrix, [..., classes ** 2]."""
    classes = np.union1d(gold, predicted)
    is_gold = gold[..., None] == classes
    is_predicted = predicted[..., None] == classes
    cells = is_gold[..., :, None] & is_predicted[..., None, :]
    return cells.reshape(*gold.shape, -1)


def _confusion_matrix(means):
    classes = round(means.shape[-1] ** 0.5)
    return means.reshape(*means.shape[:-1], classes, classes)


def _matthews(means):
    confusion = _confusion_matrix(means)
    gold = confusion.sum(-1)
    predicted = confusion.sum(-2)
    right = np.trace(confusion, axis1=-2, axis2=-1)
    covariance = right - (gold * predicted).sum(-1)
    gold_variance = 1 - (gold**2).sum(-1)
    predicted_variance = 1 - (predicted**2).sum(-1)
    return _divide(covariance, np.sqrt(gold_variance * predicted_variance))


def _macro_f1(means):
    confusion = _confusion_matrix(means)
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    gold_or_predicted = confusion.sum(-1) + confusion.sum(-2)
    f1 = _divide(2 * right, gold_or_predicted)
    classes = (gold_or_predicted > 0).sum(-1).astype(float)
    return _divide(f1.sum(-1), classes)


def _moments(gold, predicted):
    # Centred, or the difference of two large sums would be lost in their last digits.
    x = gold - gold.mean(-1, keepdims=True)
    y = predicted - predicted.mean(-1, keepdims=True)
    return np.stack([x, y, x * x, y * y, x * y], -1)


def _correlation(means):
    x, y, xx, yy, xy = np.moveaxis(means, -1, 0)
    variances = (xx - x * x) * (yy - y * y)
    return _divide(xy - x * y, np.sqrt(np.maximum(variances, 0)))


def _rank_moments(gold, predicted):
    return _moments(rankdata(gold, axis=-1), rankdata(predicted, axis=-1))


# `mean` is for predictions that are scores themselves. A Spearman correlation of a sample takes
# ranks among all examples.
SCORES = {
    "mean": Score(lambda gold, predicted: predicted[..., None], _take_mean),
    "accuracy": Score(lambda gold, predicted: (gold == predicted)[..., None], _take_mean),
    "f1": Score(_count_positives, _f1),
    "macro_f1": Score(_pair_classes, _macro_f1),
    "mcc": Score(_pair_classes, _matthews),
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
    gains_of = score.gains(gold, before, after)
    not_better = np.zeros(len(after))
    not_worse = np.zeros(len(after))
    for times in samples(len(gold), draws, "paired bootstrap", name):
        gains = gains_of(times)
        not_better += (gains <= ROUNDING).sum(0)
        not_worse += (gains >= -ROUNDING).sum(0)
    one_sided = (1 + np.minimum(not_better, not_worse)) / (draws + 1)
    return np.minimum(1, 2 * one_sided)


def samples(
    examples: int, draws: int, *name: str, drawn_at_once: int = DRAWN_AT_ONCE
) -> Iterator[np.ndarray]:
    """Yield blocks [samples, examples] of how often each example was drawn, `draws` samples in
    all.

    Samples depend on `name`, not on `drawn_at_once`, the most examples of a block (24 bytes each,
    while it is made).
    """
    rng = np.random.default_rng(seed_from(*name))
    block = max(1, drawn_at_once // examples)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        drawn = rng.integers(examples, size=(size, examples))
        # Each sample counts in cells of its own.
        cells = drawn + examples * np.arange(size)[:, None]
        yield np.bincount(cells.ravel(), minlength=size * examples).reshape(size, examples)


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
    gains_of = score.gains(gold, before, after)
    rng = np.random.default_rng(seed_from("split half", name))
    half = np.arange(len(gold)) < len(gold) // 2
    halves = rng.permuted(np.tile(half, (splits, 1)), axis=1)
    best = gains_of(halves).argmax(1)
    return gains_of(~halves)[np.arange(splits), best]
