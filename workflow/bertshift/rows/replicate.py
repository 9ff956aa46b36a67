"""A replicate: the independent unit that a number was measured on.

It is a pretraining run, or a fine-tuning seed of one run; where two models are compared it may be
a pair of these. Texts have one spelling of it: `init1`, `seed2`, `init1-2`, `seed1-3`.
"""

import re
from typing import NamedTuple, Self

UNITS = {"init": "pretraining run", "seed": "seed"}
PAIRED = " pair"  # a unit that is two of UNITS
SPELLED = re.compile(r"(init|seed)(\d+)(?:-(\d+))?")


class Replicate(NamedTuple):
    """The pretraining run and the fine-tuning seed (0: none) of a model and, as `ref_init` and
    `ref_seed`, of what it is compared with; these are 0 where they are the model's own, or none.

    Units are `of_init` or `of_seed`, in which None stands for what does not tell them apart.
    """

    init: int | None
    seed: int | None
    ref_init: int = 0
    ref_seed: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a unit's spelling. ValueError for another text."""
        match = SPELLED.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not spelled as a replicate, such as init1 or seed1-2")
        kind, run, other = match.groups(default=0)
        if kind == "init":
            return cls(int(run), None, ref_init=int(other))
        return cls(None, int(run), ref_seed=int(other))

    @property
    def of_init(self) -> Self:
        """The pretraining run, or the pair of runs."""
        return self._replace(seed=None, ref_seed=0)

    @property
    def of_seed(self) -> Self:
        """The fine-tuning seed, or the pair of seeds."""
        return self._replace(init=None, ref_init=0)

    @property
    def kind(self) -> str:
        """What a unit is, one of UNITS or a pair of it."""
        return "init" if self.seed is None else "seed"

    @property
    def runs(self) -> tuple[int, ...]:
        """The numbers of a unit's one run, or of the two of a pair."""
        if self.seed is None:
            run, other = self.init, self.ref_init
        else:
            run, other = self.seed, self.ref_seed
        return (run, other) if other else (run,)

    @property
    def unit(self) -> str:
        """The name of the unit for a reader."""
        return UNITS[self.kind] + (PAIRED if len(self.runs) > 1 else "")

    def __str__(self) -> str:
        return self.kind + "-".join(map(str, self.runs))
