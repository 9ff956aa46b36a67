import pytest

from bertshift.training.schedules import SCHEDULE, bert_linear, constant, linear


def test_linear_is_a_triangle():
    assert [linear(step, 10, 0.2) for step in range(11)] == pytest.approx(
        [0, 0.5, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0]
    )


def test_bert_decay_is_taken_at_the_absolute_step():
    """google-research/bert: the line runs from 1 at step 0, so the warmup ends at 1 and decay goes
    on from .8."""
    assert [bert_linear(step, 10, 0.2) for step in range(5)] == pytest.approx(
        [0, 0.5, 0.8, 0.7, 0.6]
    )


def test_no_warmup_starts_at_the_full_rate():
    assert all(SCHEDULE[name](0, 5, 0) == 1 for name in SCHEDULE)
    assert constant(3, 5, 0.5) == 1
    assert linear(29, 100, 0.29) == 1  # 0.29 * 100 is 28.999999999999996
