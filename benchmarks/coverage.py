"""How often an interval that should hold the truth in 95 of 100 studies does so, in made-up
studies.

    PYTHONPATH=workflow python benchmarks/coverage.py [--studies 4000]

A study measures a number on R pretraining runs, S fine-tuning seeds of each, and B blocks of
inputs. One of the effects (runs, seeds, blocks) has a variance of 1, a block's times B, the others
.05. With one run the truth is that run's. `rows.estimates` is compared with what others use: the
multi-bootstrap (Sellam et al. 2022, section 4; percentiles of 1,000 draws of runs and blocks), and
the t interval over runs that takes the inputs for all there are.

A second table has measures near an end of their range, with 1, 2, 3 or 5 replicates that share
their inputs, cut into 20 blocks. It has the interval on the scale of the range, and that on the
measure's own scale.

A third table has designs that are far from normal. Runs, or blocks, are log-normal: their
logarithms have a variance of 1. One run in ten is higher by 10 standard deviations of the others.
Nearly all examples are right. The last column says how often one run is found to lie far from the
others (`statistics.is_far_off`).

A fourth table has wrong verdicts where the truth lies at a claim's bound, so that neither verdict
is right: no rule should hold, or fail, in more than 2.5 of 100 studies. Beside each rule stands a
simpler one: every case by itself, or the t interval over replicates of the largest number of each.
"""

import argparse

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

from bertshift.files import BLOCKS
from bertshift.measures import ANY, CORRELATION, POSITIVE, SHARE
from bertshift.rows.blocks import outside
from bertshift.rows.estimates import estimate
from bertshift.rows.ranges import RANGES
from bertshift.rows.replicate import Replicate
from bertshift.rows.statistics import is_far_off
from bertshift.verdicts.deciding import ALL, SOME, Claim, measure_sample
from bertshift.verdicts.multiplicity import p_over
from bertshift.verdicts.samples import Replicates
from bertshift.verdicts.testing import (
    ERROR,
    PValues,
    has_width,
    of_all,
    p_of_interval,
    p_of_permutations,
    p_of_signs,
)

DESIGNS = [(3, 3, 50), (5, 5, 50), (1, 5, 50), (25, 1, 50), (2, 1, 50), (2, 5, 50)]
EFFECTS = ("runs", "seeds", "blocks")
SMALL, DRAWS, AT_ONCE = 0.05, 1000, 200


def draw_studies(rng, number, runs, seeds, blocks, dominant):
    """Draw numbers [replicates, blocks, studies] and the truth [studies]."""
    sd = {effect: np.sqrt(1.0 if effect == dominant else SMALL) for effect in EFFECTS}
    of_run = rng.normal(0, sd["runs"], (runs, 1, 1, number))
    of_seed = rng.normal(0, sd["seeds"], (runs, seeds, 1, number))
    of_block = rng.normal(0, sd["blocks"] * np.sqrt(blocks), (blocks, number))
    residual = rng.normal(0, np.sqrt(SMALL * blocks), (runs, seeds, blocks, number))
    numbers = of_run + of_seed + of_block + residual
    if runs == 1:
        return numbers[0], of_run[0, 0, 0]
    return numbers.mean(axis=1), np.zeros(number)


def batches(studies):
    """Cut the number of studies into batches."""
    return [min(AT_ONCE, studies - first) for first in range(0, studies, AT_ONCE)]


def count_hits(low, high, truth):
    return int(((low <= truth) & (truth <= high)).sum())


def print_row(*cells):
    print(*cells, sep="\t", flush=True)


def percent(count, studies):
    return f"{100 * count / studies:.1f}"


def by_estimates(numbers):
    interval = estimate(numbers.mean(axis=1), left_out=means_without_blocks(numbers))
    return interval.low, interval.high


def means_without_blocks(numbers):
    """Return means of numbers [R, blocks, studies] without each block."""
    total = numbers.sum(axis=1, keepdims=True)
    return (total - numbers) / (numbers.shape[1] - 1)


def over_replicates(numbers):
    interval = estimate(numbers.mean(axis=1))
    return interval.low, interval.high


def multi_bootstrap(numbers):
    rng, (runs, blocks, _) = np.random.default_rng(2), numbers.shape
    drawn_runs = rng.multinomial(runs, np.full(runs, 1 / runs), DRAWS) / runs
    drawn_blocks = rng.multinomial(blocks, np.full(blocks, 1 / blocks), DRAWS) / blocks
    means = np.einsum("dr,rbn,db->dn", drawn_runs, numbers, drawn_blocks, optimize=True)
    return np.quantile(means, [0.025, 0.975], axis=0)


METHODS = {
    "ours": by_estimates,
    "t over replicates": over_replicates,
    "multi-bootstrap": multi_bootstrap,
}


# ---- Near the ends of a range. The effects of replicates and of examples are normal, on a scale
# without ends.

REPLICATES = (1, 2, 3, 5)
RUN, EXAMPLE, RESIDUAL = 0.15, 0.6, 0.4  # standard deviations


def effects(rng, replicates, examples, number):
    """Draw the effects of runs [R, 1, studies], and those of examples plus the residual
    [R, n, studies]."""
    run = rng.normal(0, RUN, (replicates, 1, number))
    shared = rng.normal(0, EXAMPLE, (examples, number))
    return run, shared + rng.normal(0, RESIDUAL, (replicates, examples, number))


def from_sums(statistic, *terms):
    """Compute the statistic of sums over examples, given what each adds to them [R, n, studies]:
    of all [R, studies], and without each block [R, BLOCKS, studies]."""
    sums = [sum_by_block(term) for term in terms]
    totals = [of_blocks.sum(axis=1, keepdims=True) for of_blocks in sums]
    rests = [total - of_blocks for total, of_blocks in zip(totals, sums)]
    return statistic(*[total[:, 0] for total in totals]), statistic(*rests)


def sum_by_block(term):
    replicates, _, number = term.shape
    return term.reshape(replicates, BLOCKS, -1, number).sum(axis=2)


def draw_right(rng, share, replicates, examples, number):
    """Draw which examples are right [R, n, studies], and what share of all there are each run
    would have right [R, studies]."""
    run, of_examples = effects(rng, replicates, examples, number)
    sd = np.hypot(EXAMPLE, RESIDUAL)
    middle = ndtri(share) * np.hypot(RUN, sd)
    return middle + run + of_examples > 0, ndtr((middle + run[:, 0]) / sd)


# Each of these functions draws studies: values, values without each block, each run's truth, and
# the truth over all runs.


def mean(total, count):
    return total / count


def accuracy(rng, replicates, number):
    hits, truth = draw_right(rng, 0.97, replicates, 200, number)
    values, left_out = from_sums(mean, hits, np.ones_like(hits, float))
    return values, left_out, truth, 0.97


def js(rng, replicates, number):
    """Draw studies of JS, a mean over log-normal examples."""
    run, of_examples = effects(rng, replicates, 280, number)
    scale = 0.002 * np.exp(-(RUN**2 + EXAMPLE**2 + RESIDUAL**2) / 2)
    divergences = scale * np.exp(run + of_examples)
    values, left_out = from_sums(mean, divergences, np.ones_like(divergences))
    truth = scale * np.exp(run[:, 0] + (EXAMPLE**2 + RESIDUAL**2) / 2)
    return values, left_out, truth, 0.002


def pearson(n, x, y, xx, yy, xy):
    return (n * xy - x * y) / np.sqrt((n * xx - x**2) * (n * yy - y**2))


def rsa(rng, replicates, number):
    """Draw studies of a Pearson correlation over examples, of normal numbers; the second of a pair
    is in part the same in all runs."""
    run, of_examples = effects(rng, replicates, 400, number)
    rho = np.tanh(np.arctanh(0.99) + run)
    x = rng.normal(size=(1, 400, number))
    y = rho * x + np.sqrt(1 - rho**2) * of_examples / np.hypot(EXAMPLE, RESIDUAL)
    x = np.broadcast_to(x, y.shape)
    values, left_out = from_sums(pearson, np.ones_like(y), x, y, x * x, y * y, x * y)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    truth_over_runs = (np.tanh(np.arctanh(0.99) + RUN * nodes) * weights).sum() / weights.sum()
    return values, left_out, rho[:, 0], truth_over_runs


def matthews(rng, replicates, number):
    """Draw studies of Matthews correlation over two classes, each half of all examples.
    The truth is twice the share that is right, less 1."""
    hits, share = draw_right(rng, 0.55, replicates, 200, number)
    gold = rng.uniform(size=(1, 200, number)) < 0.5
    predicted = (gold == hits).astype(float)
    gold = np.broadcast_to(gold, hits.shape).astype(float)
    terms = np.ones_like(predicted), gold, predicted, gold, predicted, gold * predicted
    with np.errstate(invalid="ignore", divide="ignore"):
        values, left_out = from_sums(pearson, *terms)
    return values, left_out, 2 * share - 1, 0.1


NEAR_ENDS = {
    "accuracy .97 of 200 examples": (accuracy, RANGES["accuracy"]),
    "RSA .99": (rsa, RANGES["rsa"]),
    "JS .002": (js, RANGES["js"]),
    "Matthews .1": (matthews, RANGES["mcc"]),
}


def near_ends(rng, studies):
    """Print the table of measures near an end: per hundred, how often the truth lies in the
    interval, on the scale of the range and on the measure's own, and how often the latter leaves
    the range."""
    print("measure\treplicates\ton its range\ton its own scale\tleaves the range")
    for name, (measure, ends) in NEAR_ENDS.items():
        for replicates in REPLICATES:
            hits = hits_unbounded = outside_range = 0
            for number in batches(studies):
                values, left_out, truth_of_runs, truth = measure(rng, replicates, number)
                if replicates == 1:  # one run estimates its own truth alone
                    truth = truth_of_runs[0]
                bounded = estimate(values, left_out=left_out, bounds=ends)
                unbounded = estimate(values, left_out=left_out, bounds=ANY)
                hits += count_hits(bounded.low, bounded.high, truth)
                hits_unbounded += count_hits(unbounded.low, unbounded.high, truth)
                outside_range += ((unbounded.low < ends[0]) | (unbounded.high > ends[1])).sum()
            counts = (hits, hits_unbounded, outside_range)
            print_row(name, replicates, *[percent(count, studies) for count in counts])


# ---- Far from normal. A design draws values, those without each block or None, and the truth.

FAR, HOW_FAR = 0.1, 10.0
LOGNORMAL_MEAN = np.exp(0.5)


def skewed_runs(rng, replicates, number):
    return rng.lognormal(size=(replicates, number)), None, LOGNORMAL_MEAN


def runs_far_off(rng, replicates, number):
    far = rng.uniform(size=(replicates, number)) < FAR
    return rng.normal(size=far.shape) + HOW_FAR * far, None, HOW_FAR * FAR


def skewed_blocks(rng, replicates, number):
    """Draw blocks with log-normal effects, the same for all runs, whose own are normal and
    small."""
    run = rng.normal(0, np.sqrt(SMALL / BLOCKS), (replicates, 1, number))
    numbers = rng.lognormal(size=(1, BLOCKS, number)) + run
    truth = LOGNORMAL_MEAN + run[0, 0] if replicates == 1 else LOGNORMAL_MEAN
    return numbers.mean(axis=1), means_without_blocks(numbers), truth


def nearly_all_right(rng, replicates, number):
    """Draw studies of an accuracy of .99 of 150 examples."""
    hits, truth = draw_right(rng, 0.99, replicates, 150, number)
    left_out = np.stack([hits[:, rest].mean(axis=1) for rest in outside(150)], 1)
    return hits.mean(axis=1), left_out, truth[0] if replicates == 1 else 0.99


FAR_FROM_NORMAL = {
    "log-normal runs": (skewed_runs, (3, 5, 10, 25), {}),
    "log-normal runs, in a range": (skewed_runs, (3, 5, 10, 25), {"bounds": POSITIVE}),
    "one run in ten far off": (runs_far_off, (3, 5, 10, 25), {}),
    "log-normal blocks": (skewed_blocks, (1, 2, 3, 5), {}),
    "log-normal blocks, in a range": (skewed_blocks, (1, 2, 3, 5), {"bounds": POSITIVE}),
    "accuracy .99 of 150 examples": (
        nearly_all_right,
        REPLICATES,
        {"bounds": SHARE, "examples": 150},
    ),
    "the same, their number unknown": (nearly_all_right, REPLICATES, {"bounds": SHARE}),
}


def far_from_normal(rng, studies):
    """Print the table of designs that are far from normal, per hundred studies."""
    print("design\treplicates\tours\tone run far off")
    for name, (design, counts, options) in FAR_FROM_NORMAL.items():
        for replicates in counts:
            hits = far_off = 0
            for number in batches(studies):
                values, left_out, truth = design(rng, replicates, number)
                interval = estimate(values, left_out=left_out, **options)
                hits += count_hits(interval.low, interval.high, truth)
                far_off += sum(map(is_far_off, values.T))
            print_row(name, replicates, percent(hits, studies), percent(far_off, studies))


def normal_designs(rng, studies):
    """Print the table of normal designs, per hundred studies."""
    print_row("runs", "seeds", "blocks", "dominant", *METHODS)
    for design in DESIGNS:
        for dominant in EFFECTS:
            hits = dict.fromkeys(METHODS, 0)
            for number in batches(studies):
                numbers, truth = draw_studies(rng, number, *design, dominant)
                for name, interval in METHODS.items():
                    low, high = interval(numbers)
                    hits[name] += count_hits(low, high, truth)
            print_row(*design, dominant, *[percent(count, studies) for count in hits.values()])


# ---- Wrong verdicts at the bound. A design makes the p-values of one study, by the simple rule
# and by ours.

RUNS = 3
HEADS, GAIN = 72, 0.01


def number_claim(**criterion):
    return Claim("made", "made", None, "a number", **criterion)


def make_sample(values, left_out=None):
    seeds = [Replicate(None, run) for run in range(1, len(values) + 1)]
    labels = tuple(range(values.shape[1])) if values.ndim > 1 else ()
    return Replicates(seeds, values, left_out, None, labels)


def over_cases(rng, cases):
    """Make a claim over all of some cases, each of them at its bound."""
    numbers = rng.normal(size=(cases, RUNS))
    p = [p_of_interval(estimate(values), 0.0, np.inf) for values in numbers]
    holds, fails = zip(*p, strict=True)
    return PValues(max(holds), min(fails)), p_over(holds, fails, ALL)


def on_a_grid(rng, runs):
    """Make layers of peaks, half of them at 6 or 7, and half at 11 or 12; 9 and up holds."""
    layers = np.where(rng.uniform(size=runs) < 0.5, 6.0, 11.0) + (rng.uniform(size=runs) < 0.5)
    claim = number_claim(low=9.0, grid=True)
    mean = estimate(layers)
    if has_width(mean):
        by_mean = p_of_interval(mean, claim.low, claim.high)
    else:  # five that agree decide
        agree = 0.0 if runs >= 5 else 1.0
        by_mean = PValues(agree, 1.0) if claim.holds(mean.mean) else PValues(1.0, agree)
    return by_mean, measure_sample(claim, make_sample(layers)).p


def of_candidates(rng, claim, sizes, deviation, truth):
    """Make numbers of runs and candidates, on 20 blocks that matter little."""
    numbers = truth + deviation * rng.normal(size=sizes)
    effects = deviation * rng.normal(size=(sizes[0], BLOCKS, sizes[1]))
    effects -= effects.mean(axis=1, keepdims=True)
    left_out = numbers[:, None] - effects / (BLOCKS - 1)
    largest = estimate(numbers.max(axis=1))
    by_largest = p_of_interval(largest, claim.low, claim.high)
    return by_largest, measure_sample(claim, make_sample(numbers, left_out)).p


def best_of_heads(rng, deviation):
    """Make gains of 72 heads, all of which are at the bound above which some shall be."""
    claim = number_claim(low=GAIN, each=SOME)
    return of_candidates(rng, claim, (RUNS, HEADS), deviation, GAIN)


def best_gain_of_nothing(rng, deviation):
    """Make gains of 72 heads, all of which are 0, and some of which shall be above a bound."""
    claim = number_claim(low=GAIN, each=SOME)
    return of_candidates(rng, claim, (RUNS, HEADS), deviation, 0.0)


def largest_of_layers(rng, layers):
    """Make distances of layers, all of which are at the bound below which they shall be."""
    claim = number_claim(high=0.0, each=ALL)
    return of_candidates(rng, claim, (RUNS, layers), 1.0, 0.0)


def along_layers(rng, layers):
    """Make two unrelated profiles over layers, which seeds have in common but for a tenth."""
    profiles = rng.normal(size=(2, 1, layers)) + 0.1 * rng.normal(size=(2, RUNS, layers))
    first, second = stats.rankdata(profiles, axis=2)
    correlations = [np.corrcoef(*pair)[0, 1] for pair in zip(first, second, strict=True)]
    seeds = [Replicate(None, run) for run in range(1, RUNS + 1)]
    mean = estimate(correlations, bounds=CORRELATION)
    chance = p_of_permutations(*profiles.mean(axis=1))
    if not has_width(mean):
        by_seeds = p_of_signs([value > 0 for value in correlations], seeds)
    else:
        by_seeds = p_of_interval(mean, 0.0, np.inf)
    pairs = zip(by_seeds, chance, strict=True)
    return by_seeds, PValues(*[of_all(pair) for pair in pairs])


def beside_a_null(rng, runs):
    """Make numbers of a model and of a null without a difference. The simple rule says that the
    model has more where the null's number is below the claim's bound, here the true value."""
    model, null = rng.normal(size=(2, runs))
    by_points = PValues(float(null.mean() > 0), 1.0)
    more = measure_sample(number_claim(low=0.0), make_sample(model - null)).p
    return by_points, PValues(more.holds, 1.0)


AT_THE_BOUND = {
    "claim over all cases, their number": (over_cases, (2, 4, 7, 14)),
    "layer of a peak, runs": (on_a_grid, (3, 5, 6, 12)),
    "largest over layers, their number": (largest_of_layers, (6, 12, 24)),
    "best of 72 heads at the bound, deviation of seeds": (best_of_heads, (0.005, 0.01)),
    "best of 72 heads at 0, deviation of seeds": (best_gain_of_nothing, (0.005, 0.01)),
    "correlation over layers, their number": (along_layers, (6, 12)),
    "more than a null, runs": (beside_a_null, (3, 5)),
}


def wrong_at_the_bound(rng, studies):
    """Print the table of wrong verdicts at the bound, per hundred studies."""
    print_row("design", "size", "simple: holds", "fails", "ours: holds", "fails")
    for name, (design, sizes) in AT_THE_BOUND.items():
        for size in sizes:
            wrong = np.zeros(4, int)
            for _ in range(studies):
                simple, ours = design(rng, size)
                wrong += np.array([*simple, *ours]) < ERROR
            print_row(name, size, *[percent(count, studies) for count in wrong])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=4000)
    studies = parser.parse_args().studies
    normal_designs(np.random.default_rng(1), studies)
    near_ends(np.random.default_rng(2), studies)
    far_from_normal(np.random.default_rng(3), studies)
    few = max(1, studies // 10)
    wrong_at_the_bound(np.random.default_rng(4), few)
    print(
        f"percent of {studies} studies; the standard error of 95 is {standard_error(studies, 95)};"
        f" in the fourth table of {few}, the one of 2.5 is {standard_error(few, 2.5)}"
    )


def standard_error(studies, expected):
    """Calculate the standard error, in percent of the studies, of a share that is expected."""
    return f"{100 * stats.binom.std(studies, expected / 100) / studies:.1f}"


if __name__ == "__main__":
    main()
