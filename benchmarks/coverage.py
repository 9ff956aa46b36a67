"""How often an interval that is to hold the truth in 95 of 100 studies does so, in made
studies.

    PYTHONPATH=workflow python benchmarks/coverage.py [--studies 4000]

A study measures a number on R pretraining runs, S fine-tuning seeds of each, and B blocks of
inputs. One of the effects (runs, seeds, blocks) has a variance of 1, a block's times B, the others
.05. With one run the truth is that run's. Beside `rows.estimates` stand what is used elsewhere:
the multi-bootstrap (Sellam et al. 2022, section 4; percentiles of 1,000 draws of runs and blocks),
and the t interval over runs that takes the inputs for all there are.

A second table has measures near an end of their range, with 1, 2, 3 or 5 replicates that share
their inputs, cut into 20 blocks; beside the interval on the scale of the range stands that on the
measure's own.

A third table has designs that are far from normal. Runs, or blocks, are log-normal: their
logarithms have a variance of 1. One run in ten is higher by 10 standard deviations of the others.
Nearly all examples are right. The last column says how often one run is found to lie far from the
others (`statistics.is_far_off`).
"""

import argparse

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

from bertshift.files import BLOCKS
from bertshift.rows.blocks import outside
from bertshift.rows.estimates import estimate
from bertshift.rows.ranges import ANY, POSITIVE, RANGES, SHARE
from bertshift.rows.statistics import is_far_off

DESIGNS = [(3, 3, 50), (5, 5, 50), (1, 5, 50), (25, 1, 50), (2, 1, 50), (2, 5, 50)]
EFFECTS = ("runs", "seeds", "blocks")
SMALL, DRAWS, AT_ONCE = 0.05, 1000, 200


def studies(rng, number, runs, seeds, blocks, dominant):
    """Numbers [replicates, blocks, studies] and the truth [studies]."""
    sd = {effect: np.sqrt(1.0 if effect == dominant else SMALL) for effect in EFFECTS}
    of_run = rng.normal(0, sd["runs"], (runs, 1, 1, number))
    of_seed = rng.normal(0, sd["seeds"], (runs, seeds, 1, number))
    of_block = rng.normal(0, sd["blocks"] * np.sqrt(blocks), (blocks, number))
    rest = rng.normal(0, np.sqrt(SMALL * blocks), (runs, seeds, blocks, number))
    each = of_run + of_seed + of_block + rest
    return (each[0], of_run[0, 0, 0]) if runs == 1 else (each.mean(axis=1), np.zeros(number))


def by_estimates(numbers):
    blocks = numbers.shape[1]
    left_out = (numbers.sum(axis=1, keepdims=True) - numbers) / (blocks - 1)
    found = estimate(numbers.mean(axis=1), left_out=left_out)
    return found.low, found.high


def over_replicates(numbers):
    found = estimate(numbers.mean(axis=1))
    return found.low, found.high


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


# ---- Near the ends of a range. A replicate's own effect and an example's are normal, on a scale
# without ends.

REPLICATES = (1, 2, 3, 5)
RUN, EXAMPLE, REST = 0.15, 0.6, 0.4  # standard deviations, where the whole has about 1


def effects(rng, replicates, examples, number):
    """Draw the effects of runs [R, 1, studies], and those of examples plus the residual [R, n,
    studies]."""
    run = rng.normal(0, RUN, (replicates, 1, number))
    shared = rng.normal(0, EXAMPLE, (examples, number))
    return run, shared + rng.normal(0, REST, (replicates, examples, number))


def of_examples(statistic, *each):
    """The statistic of sums over examples, given what each adds to them [R, n, studies]: of all
    [R, studies], and without each block [R, BLOCKS, studies]."""
    sums = [one.reshape(len(one), BLOCKS, -1, one.shape[-1]).sum(axis=2) for one in each]
    return statistic(*(one.sum(1) for one in sums)), statistic(
        *(one.sum(1, keepdims=True) - one for one in sums)
    )


def without_each(each):
    """Means of numbers [R, BLOCKS, studies] without each block."""
    return (each.sum(axis=1, keepdims=True) - each) / (BLOCKS - 1)


def right(rng, share, replicates, examples, number):
    """Draw which examples are right [R, n, studies], and what share of all there are each run
    would have right [R, studies]."""
    run, rest = effects(rng, replicates, examples, number)
    sd = np.hypot(EXAMPLE, REST)
    middle = ndtri(share) * np.hypot(RUN, sd)
    return middle + run + rest > 0, ndtr((middle + run[:, 0]) / sd)


def mean(total, count):
    return total / count


def accuracy(rng, replicates, number):
    hits, truth = right(rng, 0.97, replicates, 200, number)
    return *of_examples(mean, hits, np.ones_like(hits, float)), truth, 0.97


def js(rng, replicates, number):
    """Draw studies of JS, a mean over log-normal examples."""
    run, rest = effects(rng, replicates, 280, number)
    whole = 0.002 * np.exp(-(RUN**2 + EXAMPLE**2 + REST**2) / 2)
    each = whole * np.exp(run + rest)
    truth = whole * np.exp(run[:, 0] + (EXAMPLE**2 + REST**2) / 2)
    return *of_examples(mean, each, np.ones_like(each)), truth, 0.002


def pearson(n, x, y, xx, yy, xy):
    return (n * xy - x * y) / np.sqrt((n * xx - x**2) * (n * yy - y**2))


def rsa(rng, replicates, number):
    """A Pearson correlation over examples, of normal numbers; the second of a pair is in part the
    same in all runs."""
    run, rest = effects(rng, replicates, 400, number)
    rho = np.tanh(np.arctanh(0.99) + run)
    x = rng.normal(size=(1, 400, number))
    y = rho * x + np.sqrt(1 - rho**2) * rest / np.hypot(EXAMPLE, REST)
    x = np.broadcast_to(x, y.shape)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    whole = (np.tanh(np.arctanh(0.99) + RUN * nodes) * weights).sum() / weights.sum()
    return *of_examples(pearson, np.ones_like(y), x, y, x * x, y * y, x * y), rho[:, 0], whole


def matthews(rng, replicates, number):
    """Draw studies of Matthews correlation over two classes, each half of all examples.
    The truth is twice the share that is right, less 1."""
    hits, truth = right(rng, 0.55, replicates, 200, number)
    gold = rng.uniform(size=(1, 200, number)) < 0.5
    gold, said = np.broadcast_to(gold, hits.shape).astype(float), (gold == hits).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (
            *of_examples(pearson, np.ones_like(said), gold, said, gold, said, gold * said),
            2 * truth - 1,
            0.1,
        )


NEAR_ENDS = {
    "accuracy .97 of 200 examples": (accuracy, RANGES["accuracy"]),
    "RSA .99": (rsa, RANGES["rsa"]),
    "JS .002": (js, RANGES["js"]),
    "Matthews .1": (matthews, RANGES["mcc"]),
}


def near_ends(rng, asked):
    """The table of measures near an end: per hundred, how often the truth lies in the interval, on
    the scale of the range and on the measure's own, and how often the latter leaves the range."""
    print("measure\treplicates\ton its range\ton its own scale\tleaves the range")
    for name, (measure, ends) in NEAR_ENDS.items():
        for replicates in REPLICATES:
            found = np.zeros(3)
            for first in range(0, asked, AT_ONCE):
                values, left_out, truth, whole = measure(
                    rng, replicates, min(AT_ONCE, asked - first)
                )
                truth = truth[0] if replicates == 1 else whole  # one run speaks of itself alone
                one, other = (
                    estimate(values, left_out=left_out, bounds=scale) for scale in (ends, ANY)
                )
                found[:2] += [
                    ((of.low <= truth) & (truth <= of.high)).sum() for of in (one, other)
                ]
                found[2] += ((other.low < ends[0]) | (other.high > ends[1])).sum()
            print(
                name,
                replicates,
                *(f"{100 * share:.1f}" for share in found / asked),
                sep="\t",
                flush=True,
            )


# ---- Far from normal: values, those without each block or None, the truth.

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
    each = rng.lognormal(size=(1, BLOCKS, number)) + run
    truth = LOGNORMAL_MEAN + (run[0, 0] if replicates == 1 else 0)
    return each.mean(axis=1), without_each(each), truth


def nearly_all_right(rng, replicates, number):
    """Draw studies of an accuracy of .99 of 150 examples."""
    hits, truth = right(rng, 0.99, replicates, 150, number)
    values, left_out = (
        hits.mean(axis=1),
        np.stack([hits[:, rest].mean(axis=1) for rest in outside(150)], 1),
    )
    return values, left_out, truth[0] if replicates == 1 else 0.99


FAR_FROM_NORMAL = {
    "log-normal runs": (skewed_runs, (3, 5, 10, 25), {}),
    "log-normal runs, in a range": (skewed_runs, (3, 5, 10, 25), {"ends": POSITIVE}),
    "one run in ten far off": (runs_far_off, (3, 5, 10, 25), {}),
    "log-normal blocks": (skewed_blocks, (1, 2, 3, 5), {}),
    "log-normal blocks, in a range": (skewed_blocks, (1, 2, 3, 5), {"ends": POSITIVE}),
    "accuracy .99 of 150 examples": (
        nearly_all_right,
        REPLICATES,
        {"ends": SHARE, "examples": 150},
    ),
    "the same, their number unknown": (nearly_all_right, REPLICATES, {"ends": SHARE}),
}


def far_from_normal(rng, asked):
    """The table of designs that are far from normal, per hundred studies."""
    print("design\treplicates\tours\tone run far off")
    for name, (design, counts, known) in FAR_FROM_NORMAL.items():
        for replicates in counts:
            found = np.zeros(2)
            for first in range(0, asked, AT_ONCE):
                values, left_out, truth = design(rng, replicates, min(AT_ONCE, asked - first))
                one = estimate(values, left_out=left_out, **known)
                found[0] += ((one.low <= truth) & (truth <= one.high)).sum()
                found[1] += sum(map(is_far_off, values.T))
            print(
                name,
                replicates,
                *(f"{100 * share:.1f}" for share in found / asked),
                sep="\t",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=4000)
    asked, rng = parser.parse_args(), np.random.default_rng(1)
    print("runs\tseeds\tblocks\tdominant\t" + "\t".join(METHODS))
    for design in DESIGNS:
        for dominant in EFFECTS:
            hits = dict.fromkeys(METHODS, 0)
            for first in range(0, asked.studies, AT_ONCE):
                numbers, truth = studies(
                    rng, min(AT_ONCE, asked.studies - first), *design, dominant
                )
                for name, method in METHODS.items():
                    low, high = method(numbers)
                    hits[name] += int(((low <= truth) & (truth <= high)).sum())
            shares = "\t".join(f"{100 * hit / asked.studies:.1f}" for hit in hits.values())
            print(*design, dominant, shares, sep="\t", flush=True)
    near_ends(np.random.default_rng(2), asked.studies)
    far_from_normal(np.random.default_rng(3), asked.studies)
    error = 100 * stats.binom.std(asked.studies, 0.95) / asked.studies
    print(f"percent of {asked.studies} studies; the standard error of 95 is {error:.1f}")


if __name__ == "__main__":
    main()
