"""How often two intervals of RSA hold the truth: ours, and the crossed bootstrap of rsatoolbox.

    pip install rsatoolbox
    PYTHONPATH=workflow python benchmarks/crossed_bootstrap.py [--studies 400] [--theirs 40]

A study has states of texts in a reference model, and in R fine-tuned ones: each state x becomes
x + a W x + b e, with a matrix W of the model's own and noise e of the text's own. The truth is RSA
of all models on all texts, taken from 200 models on 4,000 texts. Ours is `rows.estimates` on the
values without each of 20 blocks of texts. rsatoolbox (Schütt et al. 2023, eLife) draws models and
texts with replacement, and corrects the variance for both; as it takes a thousand times as long,
it gets the first studies alone.
"""

import argparse
import io
import time
import warnings
from contextlib import redirect_stderr

import numpy as np
from scipy import stats

from bertshift.measures import CORRELATION
from bertshift.metrics.rsa import correlations, own_sums, rsa, similarity_rows
from bertshift.rows.estimates import estimate

TEXTS, BLOCKS, WIDTH, DRAWS = 60, 20, 10, 200
# R, a, b: models that differ much, texts that differ much, and both.
DESIGNS = [(3, 0.6, 0.1), (5, 0.6, 0.1), (3, 0.1, 0.6), (5, 0.1, 0.6), (5, 0.4, 0.4)]


def draw_states(rng, runs, texts, a, b):
    """Draw the reference's states [texts, WIDTH] and the models' [runs, texts, WIDTH]."""
    reference = rng.normal(size=(texts, WIDTH))
    matrices = rng.normal(size=(runs, WIDTH, WIDTH)) / WIDTH**0.5
    noise = rng.normal(size=(runs, texts, WIDTH))
    return reference, reference + a * reference @ matrices + b * noise


def find_truth(rng, a, b):
    values = []
    for _ in range(200):
        reference, [model] = draw_states(rng, 1, 4000, a, b)
        values.append(rsa(model, reference))
    return np.mean(values)


def our_interval(reference, models):
    parts = np.array_split(np.arange(len(reference)), BLOCKS)
    blocks = [slice(part[0], part[-1] + 1) for part in parts]
    v = similarity_rows(reference)
    values = []
    for model in models:
        u = similarity_rows(model)
        values.append(correlations(u, v, own_sums(u, blocks), own_sums(v, blocks), blocks))
    values = np.array(values)
    found = estimate(values[:, 0], left_out=values[:, 1:], bounds=CORRELATION)
    return float(found.low), float(found.high)


def their_interval(reference, models):
    from rsatoolbox.inference import eval_dual_bootstrap
    from rsatoolbox.model import ModelFixed
    from rsatoolbox.rdm import RDMs

    def distances(states):
        unit = states / np.linalg.norm(states, axis=1, keepdims=True)
        return 1 - (unit @ unit.T)[np.triu_indices(len(states), 1)]

    model = ModelFixed("reference", RDMs(distances(reference)[None]))
    data = RDMs(np.array([distances(states) for states in models]))
    result = eval_dual_bootstrap(model, data, method="corr", N=DRAWS)
    low, high = result.get_ci(0.95)
    return float(low[0]), float(high[0])


def measure(interval, studies, truth):
    """Return the share of studies whose interval holds the truth, in percent, the intervals'
    median width, and the mean milliseconds of one."""
    started = time.perf_counter()
    bounds = np.array([interval(*states) for states in studies])
    seconds = time.perf_counter() - started
    held = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
    width = np.median(bounds[:, 1] - bounds[:, 0])
    return f"{100 * held.mean():.1f}\t{width:.3f}\t{1000 * seconds / len(studies):.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--theirs", type=int, default=40, help="0: ours alone")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(1)
    np.random.seed(1)  # rsatoolbox draws from numpy's global generator
    print("runs", "a", "b", "RSA", "interval", "holds the truth, %", "width", "ms", sep="\t")
    for runs, a, b in DESIGNS:
        truth = find_truth(rng, a, b)
        studies = [draw_states(rng, runs, TEXTS, a, b) for _ in range(arguments.studies)]
        rows = {"ours": measure(our_interval, studies, truth)}
        if few := studies[: arguments.theirs]:
            rows["ours, the same few"] = measure(our_interval, few, truth)
            with redirect_stderr(io.StringIO()):  # progress of each bootstrap
                rows["rsatoolbox"] = measure(their_interval, few, truth)
        for name, numbers in rows.items():
            print(runs, a, b, f"{truth:.3f}", name, numbers, sep="\t", flush=True)
    errors = [
        f"{100 * stats.binom.std(number, 0.95) / number:.1f} of {number}"
        for number in (arguments.studies, arguments.theirs)
        if number
    ]
    print(f"studies of {TEXTS} texts; the standard error of 95 % is {' and '.join(errors)}")


if __name__ == "__main__":
    main()
