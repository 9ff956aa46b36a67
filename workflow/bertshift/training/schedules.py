"""Learning-rate schedules: pure functions from the number of updates already made to a factor in
[0, 1]."""

from collections.abc import Callable


def _warmup_steps(warmup: float, total: int) -> int:
    # Without the margin .29 * 100 would count 28.
    return int(warmup * total + 1e-9)


def constant(step: int, total: int, warmup: float) -> float:
    """Return 1, after a linear rise over the warmup."""
    rise = _warmup_steps(warmup, total)
    return step / rise if step < rise else 1.0


def linear(step: int, total: int, warmup: float) -> float:
    """Compute a linear rise from 0 over the warmup, then a line from 1 at its end to 0 at `total`
    (as in run_glue).

    With a warmup of .1 it is the slanted triangle of Hao et al. 2020; the triangle of Howard &
    Ruder 2018 ends at 1/32, not 0.
    """
    rise = _warmup_steps(warmup, total)
    if step < rise:
        return step / rise
    return max(0.0, (total - step) / max(1, total - rise))


def bert_linear(step: int, total: int, warmup: float) -> float:
    """Compute the factor of Devlin et al. 2019 (google-research/bert, optimization.py): as
    `linear`, but the decay is the line from 1 at step 0, so the rate drops by the warmup fraction
    when the warmup ends."""
    rise = _warmup_steps(warmup, total)
    return step / rise if step < rise else max(0.0, 1 - step / total)


SCHEDULE: dict[str, Callable[[int, int, float], float]] = {
    "linear": linear,
    "bert_linear": bert_linear,
    "constant": constant,
}
