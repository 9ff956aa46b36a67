"""How often is an interval as narrow as `rows.design` says that it will be? A table on stdout, in
per cent of simulated studies: of new ones with what it says, and, as the simple rule, with the
numbers by which the width is only expected.

    PYTHONPATH=workflow python benchmarks/design.py [--studies N]
"""

import argparse

import numpy as np
import pandas as pd

from bertshift.rows import design
from bertshift.rows.blocks import left_out
from bertshift.rows.design import Study
from bertshift.rows.estimates import estimate

REPLICATES, INPUTS, BLOCKS = 6, 200, 20
NARROWER = 0.75
MOST = 1e6  # numbers that a study may have here
# What is asked for, and the standard deviations of replicates, of inputs and of both.
QUESTIONS = {"replicates": (1.0, 0.5, 0.5), "inputs": (0.05, 5.0, 1.0), "both": (0.5, 5.0, 10.0)}


def draw(generator: np.random.Generator, replicates: int, inputs: int, parts: tuple) -> Study:
    """Draw a study of means over inputs."""
    of_replicates, of_inputs, of_both = parts
    numbers = of_replicates * generator.normal(size=(replicates, 1))
    numbers = numbers + of_inputs * generator.normal(size=inputs)
    numbers += of_both * generator.normal(size=(replicates, inputs))
    sums = numbers.reshape(replicates, BLOCKS, -1)
    counts = np.full((replicates, BLOCKS), sums.shape[2])
    return Study(numbers.mean(axis=1), left_out(sums.sum(axis=2), counts), inputs)


def half_width(study: Study) -> float:
    interval = estimate(study.values, left_out=study.left_out)
    return (interval.high - interval.low) / 2


def answer(study: Study, question: str, wanted: float) -> tuple[float, float]:
    """Return the numbers of replicates and inputs; NaN where there is no answer."""
    if question == "replicates":
        return study.replicates_for(wanted), study.inputs
    if question == "inputs":
        return study.replicates, study.inputs_for(wanted)
    return study.both_for(wanted)


def count_met(question: str, studies: int) -> float:
    """Count the new studies that are as narrow as wanted, in per cent."""
    generator = np.random.default_rng(0)
    parts = QUESTIONS[question]
    met = []
    for _ in range(studies):
        study = draw(generator, REPLICATES, INPUTS, parts)
        wanted = NARROWER * half_width(study)
        replicates, inputs = answer(study, question, wanted)
        if replicates * inputs < MOST:
            whole_blocks = BLOCKS * int(np.ceil(inputs / BLOCKS))
            new = draw(generator, int(replicates), whole_blocks, parts)
            met.append(half_width(new) <= wanted)
    return 100 * np.mean(met)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    rows = []
    for question in QUESTIONS:
        ours = count_met(question, studies)
        assurance, design.ASSURANCE = design.ASSURANCE, 0.5
        rows.append((question, ours, count_met(question, studies)))
        design.ASSURANCE = assurance
    table = pd.DataFrame(rows, columns=["more", "ours", "simple rule"])
    print(table.round(1).to_string(index=False))


if __name__ == "__main__":
    main()
