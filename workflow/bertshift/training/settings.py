from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Settings of a training, whose length is given by one of `epochs` and `steps`. The schema of
    the configuration has the range of each setting.

    epochs: at most this number, where `plateau` is set
    warmup: fraction of all steps with a rising learning rate
    epsilon: None takes the optimiser's own, 1e-8 for adamw, 1e-6 for bertadam
    norms_every: steps between rows of layers.tsv (0: none)
    checkpoint_minutes: time between checkpoints (0: only when told to stop)
    plateau: training ends after the first epoch whose mean loss is less than this share below the
        mean loss of two epochs before (None: never)
    lora_alpha, lora_dropout: of adapters (`models.lora`); None for a model without any
    code: a digest of the code that trains; runs of other code are trained again
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
