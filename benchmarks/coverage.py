"""How often an interval that is to hold the truth in 95 of 100 studies does so, in made studies.

    PYTHONPATH=workflow python benchmarks/coverage.py [--studies 4000]

A study measures a number on R pretraining runs, S fine-tuning seeds of each, and B blocks of inputs. One of the effects
(runs, seeds, blocks) has a variance of 1, a block's times B, the others .05. With one run the truth is that run's. Beside
`rows.estimates` stand what is used elsewhere: the multi-bootstrap (Sellam et al. 2022, section 4; percentiles of 1,000
draws of runs and blocks), and the t interval over runs that takes the inputs for all there are.
"""

import argparse

import numpy as np
from scipy import stats

from bertshift.rows.estimates import estimate

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


METHODS = {"ours": by_estimates, "t over replicates": over_replicates, "multi-bootstrap": multi_bootstrap}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=4000)
    asked, rng = parser.parse_args(), np.random.default_rng(1)
    print("runs\tseeds\tblocks\tdominant\t" + "\t".join(METHODS))
    for design in DESIGNS:
        for dominant in EFFECTS:
            hits = dict.fromkeys(METHODS, 0)
            for first in range(0, asked.studies, AT_ONCE):
                numbers, truth = studies(rng, min(AT_ONCE, asked.studies - first), *design, dominant)
                for name, method in METHODS.items():
                    low, high = method(numbers)
                    hits[name] += int(((low <= truth) & (truth <= high)).sum())
            shares = "\t".join(f"{100 * hit / asked.studies:.1f}" for hit in hits.values())
            print(*design, dominant, shares, sep="\t", flush=True)
    error = 100 * stats.binom.std(asked.studies, 0.95) / asked.studies
    print(f"percent of {asked.studies} studies; the standard error of 95 is {error:.1f}")


if __name__ == "__main__":
    main()
