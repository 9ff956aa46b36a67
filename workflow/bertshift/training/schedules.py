"""Learning-rate schedules: pure functions from the number of updates already made to a factor in [0, 1]."""

from collections.abc import Callable


def _count(fraction: float, total: int) -> int:
    # Without the margin .29 * 100 would count 28.
    return int(fraction * total + 1e-9)


def constant(step: int, total: int, warmup: float) -> float:
    """1, after a linear rise over the warmup."""
    rise = _count(warmup, total)
    return step / rise if step < rise else 1.0


def linear(step: int, total: int, warmup: float) -> float:
    """Linear rise from 0 over the warmup, then a line from 1 at its end to 0 at `total` (as run_glue has it)."""
    rise = _count(warmup, total)
    return step / rise if step < rise else max(0.0, (total - step) / max(1, total - rise))


def bert_linear(step: int, total: int, warmup: float) -> float:
    """Devlin et al. 2019 (google-research/bert, optimization.py): as `linear`, but the decay is the line from 1 at
    step 0, so the rate drops by the warmup fraction when the warmup ends."""
    rise = _count(warmup, total)
    return step / rise if step < rise else max(0.0, 1 - step / total)


def slanted_triangular(step: int, total: int, warmup: float, ratio: float = 32) -> float:
    """Howard & Ruder 2018, equation 3: p rises to 1 at cut = warmup * total and falls to 0 at `total`;
    the factor is (1 + p (ratio - 1)) / ratio, so it starts and ends at 1 / ratio, not at 0."""
    cut = _count(warmup, total)
    p = step / cut if step < cut else max(0.0, 1 - (step - cut) / max(1, total - cut))
    return (1 + p * (ratio - 1)) / ratio


SCHEDULE: dict[str, Callable[[int, int, float], float]] = {
    "linear": linear,
    "bert_linear": bert_linear,
    "slanted_triangular": slanted_triangular,
    "constant": constant,
}
