import numpy as np
import pytest

from bertshift.rows.blocks import left_out
from bertshift.rows.design import ASSURANCE, Study
from bertshift.rows.estimates import estimate

BLOCKS = 20


def draw(generator, replicates, inputs, of_replicates=1.0, of_inputs=10.0, of_both=10.0):
    """A study of means over inputs, whose parts have these standard deviations."""
    numbers = (
        of_replicates * generator.normal(size=(replicates, 1))
        + of_inputs * generator.normal(size=inputs)
        + of_both * generator.normal(size=(replicates, inputs))
    )
    sums = numbers.reshape(replicates, BLOCKS, -1)
    without = left_out(sums.sum(axis=2), np.full((replicates, BLOCKS), sums.shape[2]))
    return Study(numbers.mean(axis=1), without, inputs)


def half_width(study):
    interval = estimate(study.values, left_out=study.left_out)
    return (interval.high - interval.low) / 2


@pytest.mark.parametrize("replicates", [1, 2, 5])
def test_the_half_width_of_the_study_itself_is_that_of_its_interval(replicates):
    """Without assurance: the F quantile of 1/2 is 1 where both studies are one."""
    study = draw(np.random.default_rng(0), replicates, 200)
    assert study.half_width(replicates, 200) == pytest.approx(half_width(study), rel=1e-9)


def test_components_are_those_that_were_drawn():
    generator = np.random.default_rng(0)
    found = [draw(generator, 8, 400).components for _ in range(200)]
    assert np.mean(found, axis=0) == pytest.approx([1.0, 100.0, 100.0], rel=0.1)


# An answer, and the parts of a study in which most have one.
ANSWERS = {
    "replicates": (
        lambda study, wanted: (study.replicates_for(wanted), study.inputs),
        {"of_replicates": 1.0, "of_inputs": 0.5, "of_both": 0.5},
    ),
    "inputs": (
        lambda study, wanted: (study.replicates, study.inputs_for(wanted)),
        {"of_replicates": 0.05, "of_inputs": 5.0, "of_both": 1.0},
    ),
    "both": (
        lambda study, wanted: study.both_for(wanted),
        {"of_replicates": 0.5, "of_inputs": 5.0, "of_both": 10.0},
    ),
}


@pytest.mark.parametrize("answer, parts", ANSWERS.values(), ids=ANSWERS)
def test_what_it_says_meets_the_half_width_in_four_of_five_studies(answer, parts):
    """200 studies have a standard error of 3 %."""
    generator = np.random.default_rng(0)
    met = []
    for _ in range(200):
        study = draw(generator, 6, 200, **parts)
        wanted = 0.75 * half_width(study)
        replicates, inputs = answer(study, wanted)
        if replicates * inputs < 1e6:  # else no answer, or more than can be drawn here
            inputs = BLOCKS * int(np.ceil(inputs / BLOCKS))
            met.append(half_width(draw(generator, int(replicates), inputs, **parts)) <= wanted)
    assert len(met) > 190 and np.mean(met) >= ASSURANCE - 0.06


def test_one_replicate_says_nothing_of_others():
    study = draw(np.random.default_rng(0), 1, 200)
    wanted = half_width(study) / 2
    assert np.isnan(study.replicates_for(wanted)) and np.isnan(study.both_for(wanted)).all()
    assert 800 <= study.inputs_for(wanted) < 1600  # four times as many, and for a wider new one


def test_what_no_number_of_inputs_can_do_is_nan():
    study = draw(np.random.default_rng(0), 3, 200, of_replicates=5.0, of_inputs=0.1)
    assert np.isnan(study.inputs_for(half_width(study) / 2))
    assert study.replicates_for(half_width(study) / 2) > 3
