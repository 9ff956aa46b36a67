"""How probes are trained. The schema of the configuration has the range of each setting."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """The seeds of the probes that are trained on one run.

    A run of a model has `probe_seeds` probes, a pretrained model at least `parent_seeds`. The
    settings are those of a pretrained model if `pretrained` is true.
    """

    probe_seeds: int = 3
    parent_seeds: int = 1
    pretrained: bool = False

    @property
    def seeds(self) -> range:
        """List the seeds of all probes, counted from 1."""
        return range(1, max(self.probe_seeds, self.parent_seeds) + 1)

    def seeds_of(self, seed: int) -> list[int]:
        """List the seeds of the probes on the run of fine-tuning seed `seed`, 0 if there is none.

        A pretrained model has all of `seeds`. Each fine-tuning seed has `probe_seeds` of them,
        beginning with another one. Probes of one seed start from the same weights and therefore
        resemble each other, even on two models. If all runs had the same probe, the spread of the
        runs would not contain the variance due to the probe's seed.
        """
        if self.pretrained:
            return list(self.seeds)
        first = max(seed, 1) - 1
        return sorted((first + k) % len(self.seeds) + 1 for k in range(self.probe_seeds))


@dataclass(frozen=True, kw_only=True)
class ProbeSettings(Seeds):
    """How edge probes are trained; the defaults are jiant's, which Merchant et al. 2020 follow
    (section 4.1).

    Every `validate_every` steps a probe is scored on the development records. Its learning rate is
    multiplied by `decay` after more than `decay_patience` validations without a better score; it
    stops after `patience` of them, below `min_learning_rate`, or at `max_steps`, and keeps its
    best weights.

    max_train, max_test: sizes of random samples of the records, the same for every model; None for
        all
    max_dev: the number of first development records
    tasks: other values for one task, as {"spr": {"validate_every": 100, "max_steps": 10000}}
        (jiant has these two for SPR and relations, and 1000 and 250000 for the other tasks)
    """

    width: int = 256
    input_dropout: float = 0.2
    hidden_dropout: float = 0.3
    learning_rate: float = 1e-4
    min_learning_rate: float = 1e-6
    decay: float = 0.5
    decay_patience: int = 5
    max_grad_norm: float = 5.0
    batch_records: int = 32
    max_steps: int = 250_000
    validate_every: int = 1000
    patience: int = 20
    max_train: int | None = None
    max_dev: int = 5000
    max_test: int | None = None
    tasks: Mapping[str, Mapping] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int | None]:
        """Map each split to the largest number of records that are read."""
        return {"train": self.max_train, "dev": self.max_dev, "test": self.max_test}

    def of(self, task: str) -> "ProbeSettings":
        """Select the settings of one task."""
        return replace(self, tasks={}, **self.tasks.get(task, {}))


EPOCHS = 5
FEWEST_STEPS = 100  # jiant's interval of validation on its two small corpora, its shortest


@dataclass(frozen=True, kw_only=True)
class CodeSettings(ProbeSettings):
    """The settings of probes by minimum description length: those of ProbeSettings, and portions,
    the fractions of the training records at which the blocks end, the last one 1.

    A probe of few records is validated more often than every `validate_every` steps: after EPOCHS
    passes over its records, or FEWEST_STEPS if these are more. Voita and Titov always validate
    every 1000 steps, which are 500 passes over 64 records, and stop after ten such intervals.
    """

    patience: int = 10
    portions: tuple[float, ...] = (
        0.001,
        0.002,
        0.004,
        0.008,
        0.016,
        0.032,
        0.0625,
        0.125,
        0.25,
        0.5,
        1,
    )

    def learning_from(self, records: float) -> "CodeSettings":
        """Adapt the settings to a probe that is trained on this number of records."""
        steps = max(FEWEST_STEPS, int(EPOCHS * records / self.batch_records))
        return replace(self, validate_every=min(self.validate_every, steps))


@dataclass(frozen=True, kw_only=True)
class StructuralSettings(Seeds):
    """How structural probes are trained; the defaults are those of Hewitt and Manning's own
    experiments.

    After every epoch without a better dev loss the learning rate falls to a tenth; training ends
    after `patience` of them in a row, or `epochs`, and keeps the best weights.

    rank: columns of B; None for the width of the encoder
    max_train: size of a random sample of the training sentences, the same for every model; None
        for all
    """

    rank: int | None = None
    epochs: int = 40
    batch_size: int = 20
    learning_rate: float = 1e-3
    patience: int = 5
    max_train: int | None = None
    probe_seeds: int = 1
