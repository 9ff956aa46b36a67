"""How many replicates and inputs give an interval of some half width?

With R replicates and T inputs, whose variance components are a of replicates, b of inputs and c of
the rest, as `estimates` has them,

    V_replicates = a / R + c / (R T)
    V_inputs     = b / T + c / (R T)
    half width   = t sqrt(a / R + b / T + c / (R T))

The components are estimated from the study at hand. A new study's variance over this estimate has
an F distribution, with the degrees of freedom of both studies; its quantile for ASSURANCE is taken
for each part, so that the new interval is as narrow as that in at least so many studies (Kupper
and Hafner 1989, "How appropriate are popular sample size formulas?").
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import fdtri, stdtrit

from bertshift.rows.blocks import LEVEL
from bertshift.rows.estimates import pseudo_values

ASSURANCE = 0.8
MOST = 1000  # times as many as there are: more is no plan


@dataclass(frozen=True)
class Study:
    """Numbers of several replicates, measured on the same inputs.

    values: [R]
    left_out: [R, B], without each block of the inputs
    inputs: T
    """

    values: np.ndarray
    left_out: np.ndarray
    inputs: int

    @property
    def replicates(self) -> int:
        return len(self.values)

    @property
    def blocks(self) -> int:
        return self.left_out.shape[1]

    @cached_property
    def components(self) -> tuple[float, float, float]:
        """The variances a of replicates, b of inputs and c of the rest. a and b may be below 0, as
        estimates are; a and c are 0 where there is one replicate, which says nothing of them."""
        count, blocks = self.left_out.shape
        numbers = pseudo_values(self.values, self.left_out)  # [R, B]
        of_inputs = numbers.mean(axis=0).var(ddof=1) / blocks
        if count < 2:
            return 0.0, of_inputs * self.inputs, 0.0
        of_replicates = numbers.mean(axis=1).var(ddof=1) / count
        rest = numbers - numbers.mean(axis=0) - numbers.mean(axis=1, keepdims=True)
        squares = ((rest + numbers.mean()) ** 2).sum()
        of_both = squares / ((count - 1) * (blocks - 1) * count * blocks)
        a = (of_replicates - of_both) * count
        b = (of_inputs - of_both) * self.inputs
        return a, b, of_both * count * self.inputs

    def half_width(self, replicates: float, inputs: float, assurance: float = 0.5) -> float:
        """Calculate the half width of an interval, which a new study has with probability
        `assurance` or more; .5 is about the one to be expected."""
        a, b, c = self.components
        rest = c / (replicates * inputs)
        parts = [(max(b / inputs + rest, 0.0), self.blocks - 1, self.blocks - 1)]
        if self.replicates > 1:
            parts.append((max(a / replicates + rest, 0.0), replicates - 1, self.replicates - 1))
        total = sum(variance for variance, _, _ in parts)
        if not total:
            return 0.0
        t = 0.0
        surely = []
        for variance, freedom, freedom_here in parts:
            t += variance / total * stdtrit(freedom, (1 + LEVEL) / 2)
            surely.append(variance * fdtri(freedom, freedom_here, assurance))
        variance_of_mean = max(sum(surely) - rest, *surely) if len(parts) > 1 else surely[0]
        return float(t * np.sqrt(variance_of_mean))

    def replicates_for(self, half_width: float) -> float:
        """Find the fewest replicates for a half width, with the same inputs. NaN where there is
        one replicate, which says nothing of others, and where MOST times as many are too few."""
        if self.replicates < 2:
            return np.nan
        return _fewest(
            lambda count: self._is_met(half_width, count, self.inputs), 2, MOST * self.replicates
        )

    def inputs_for(self, half_width: float) -> float:
        """Find the fewest inputs for a half width, with the same number of replicates; NaN where
        MOST times as many are too few."""
        return _fewest(
            lambda count: self._is_met(half_width, self.replicates, count), 1, MOST * self.inputs
        )

    def both_for(self, half_width: float) -> tuple[float, float]:
        """Find the fewest replicates for a half width, with as many inputs for each as there are;
        and that number of inputs. NaN as for `replicates_for`."""
        if self.replicates < 2:
            return np.nan, np.nan
        replicates = _fewest(
            lambda count: self._is_met(half_width, count, self._inputs_beside(count)),
            2,
            MOST * self.replicates,
        )
        return replicates, self._inputs_beside(replicates)

    def _inputs_beside(self, replicates: float) -> float:
        return np.ceil(replicates * self.inputs / self.replicates)

    def _is_met(self, half_width: float, replicates: float, inputs: float) -> bool:
        return self.half_width(replicates, inputs, ASSURANCE) <= half_width


def _fewest(is_enough: Callable[[int], bool], least: int, most: int) -> float:
    """Find the smallest number from `least` to `most` that is enough, as all larger ones are; NaN
    where none is."""
    if not is_enough(most):
        return np.nan
    numbers = range(least, most + 1)
    return float(numbers[bisect_left(numbers, True, key=is_enough)])
