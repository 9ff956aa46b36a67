"""The records of a training: steps.tsv and layers.tsv."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bertshift.errors import UserError
from bertshift.files import write_tsv

# Reading a loss waits for the GPU, so a GPU's losses are read for many steps at once.
STEPS_BETWEEN_READS = {"cpu": 1, "cuda": 100}


class Log:
    """The rows of steps.tsv and layers.tsv, until they are written."""

    def __init__(self, run_dir: Path, total: int):
        self.run_dir, self.total = run_dir, total
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.unread: list[Tensor] = []
        # Each [1 + 3 * layers] float64: the step, then gradient norms, update norms and distances.
        self.norms: list[Tensor] = []

    def add(self, loss: Tensor, rate: float) -> None:
        self.rates.append(rate)
        self.unread.append(loss.float())
        if len(self.unread) >= STEPS_BETWEEN_READS[loss.device.type]:
            self.read()

    def read(self) -> list[float]:
        """Read all losses so far; waits for the GPU."""
        if not self.unread:
            return self.losses
        values = torch.stack(self.unread).tolist()
        self.unread.clear()
        for value in values:
            if not math.isfinite(value):
                raise UserError(
                    f"the loss of {self.run_dir} is {value} at step {len(self.losses) + 1} of"
                    f" {self.total}, at learning rate {self.rates[len(self.losses)]:g}; lower"
                    " learning_rate, raise warmup, or set precision to float32."
                )
            self.losses.append(value)
        return self.losses

    def state(self) -> dict:
        self.read()
        return {
            "steps": torch.tensor([self.losses, self.rates], dtype=torch.float64),
            "norms": torch.stack(self.norms) if self.norms else None,
        }

    def resume(self, state: dict, device: torch.device) -> None:
        self.losses, self.rates = state["steps"].tolist()
        if state["norms"] is not None:
            self.norms = list(state["norms"].to(device))

    def write(self, layers: list[str]) -> None:
        self.read()
        steps = {
            "step": range(1, len(self.losses) + 1),
            "loss": self.losses,
            "learning_rate": self.rates,
        }
        write_tsv(self.run_dir / "steps.tsv", pd.DataFrame(steps))
        rows = torch.stack(self.norms).cpu().numpy() if self.norms else np.zeros((0, 1))
        norms = rows[:, 1:].reshape(len(rows), 3, len(layers))
        columns = {
            "step": np.repeat(rows[:, 0].astype(int), len(layers)),
            "layer": layers * len(rows),
            "gradient_norm": norms[:, 0].ravel(),
            "update_norm": norms[:, 1].ravel(),
            "distance_from_start": norms[:, 2].ravel(),
        }
        write_tsv(self.run_dir / "layers.tsv", pd.DataFrame(columns))
