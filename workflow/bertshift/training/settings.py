import math
from dataclasses import asdict, dataclass
from typing import Literal

from bertshift.errors import UserError

SCHEDULES = ("linear", "bert_linear", "constant")
OPTIMIZERS = ("adamw", "bertadam")
PRECISIONS = ("auto", "float32", "bfloat16")


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How to train; exactly one of `epochs` and `steps` says for how long.

    `warmup` is the fraction of all steps with a rising learning rate; `norms_every` counts the
    steps between rows of layers.tsv (0: none); `checkpoint_minutes` is the time between
    checkpoints (0: only when told to stop). `plateau` ends training after the first epoch whose
    mean loss is less than this share below that of two epochs before (None: never); `epochs` is
    then the most. `epsilon` None takes the optimiser's own: 1e-8 for adamw, 1e-6 for bertadam.
    `lora_alpha` and `lora_dropout` are those of adapters (`models.lora`); None for a model without
    any. `code` is a digest of the code that trains: what another began or finished is begun again.
    """

    learning_rate: float
    batch_size: int
    epochs: float | None = None
    steps: int | None = None
    warmup: float = 0.1
    schedule: Literal["linear", "bert_linear", "constant"] = "linear"
    optimizer: Literal["adamw", "bertadam"] = "adamw"
    weight_decay: float = 0.01
    beta2: float = 0.999
    epsilon: float | None = None
    max_grad_norm: float = 1.0
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    norms_every: int = 0
    checkpoint_minutes: float = 10.0
    plateau: float | None = None
    lora_alpha: float | None = None
    lora_dropout: float | None = None
    code: str = ""

    def __post_init__(self):
        def require(good: bool, key: str, rule: str) -> None:
            if not good:
                raise UserError(
                    f"training setting {key} is {getattr(self, key)!r}; write {rule} instead."
                )

        def choose(key: str, values: tuple[str, ...]) -> None:
            require(getattr(self, key) in values, key, f"one of {', '.join(values)}")

        # Written so that NaN fails too.
        require(
            0 < self.learning_rate < math.inf, "learning_rate", "a positive number such as 2e-5"
        )
        require(self.batch_size >= 1, "batch_size", "a whole number from 1 up")
        if (self.epochs is None) == (self.steps is None):
            raise UserError(
                f"training settings have epochs {self.epochs!r} and steps {self.steps!r}; give"
                " exactly one of them."
            )
        require(
            self.epochs is None or 0 < self.epochs < math.inf,
            "epochs",
            "a positive number such as 3",
        )
        require(self.steps is None or self.steps >= 1, "steps", "a whole number from 1 up")
        require(0 <= self.warmup <= 1, "warmup", "a fraction of all steps between 0 and 1")
        require(0 <= self.weight_decay < math.inf, "weight_decay", "0 or a positive number")
        require(0 <= self.beta2 < 1, "beta2", "a number from 0 up to, but below, 1, such as 0.999")
        require(
            self.epsilon is None or self.epsilon > 0, "epsilon", "a positive number such as 1e-8"
        )
        require(
            self.max_grad_norm >= 0, "max_grad_norm", "0 for no clipping, or a positive number"
        )
        require(self.norms_every >= 0, "norms_every", "0 for no norms, or a number of steps")
        require(self.checkpoint_minutes >= 0, "checkpoint_minutes", "0 or a number of minutes")
        require(
            self.plateau is None or 0 < self.plateau < 1,
            "plateau",
            "a share between 0 and 1, such as 0.01",
        )
        choose("schedule", SCHEDULES)
        choose("optimizer", OPTIMIZERS)
        choose("precision", PRECISIONS)

    def total_steps(self, batches_per_epoch: int) -> int:
        """Count the updates; a fractional number of epochs is rounded to whole updates, at least
        one."""
        if self.steps is not None:
            return self.steps
        return max(1, round(self.epochs * batches_per_epoch))

    def result_settings(self) -> dict:
        """Select the settings that a run's numbers depend on: all but how often it is
        checkpointed."""
        return {key: value for key, value in asdict(self).items() if key != "checkpoint_minutes"}
