"""How far a job is, on stderr. It is here as no edit of it makes a job run again."""

import sys
import time
from datetime import timedelta

SECONDS = 5.0


class Lines:
    """Lines on stderr, at most one every few seconds."""

    def __init__(self):
        self.shown = time.monotonic()

    def is_due(self) -> bool:
        return time.monotonic() - self.shown >= SECONDS

    def tell(self, line: str) -> None:
        """Write the line, if it is time for one."""
        if self.is_due():
            self.shown = time.monotonic()
            print(line, file=sys.stderr, flush=True)


class TrainingLines(Lines):
    """The same of a training: its step, loss and speed, and the time that is left."""

    def __init__(self, title: str, step: int, total: int):
        super().__init__()
        self.title, self.first, self.total = title, step, total
        self.started = self.shown
        self.examples = 0

    def add(self, examples: int) -> None:
        self.examples += examples

    def tell_step(self, step: int, loss: float) -> None:
        seconds = time.monotonic() - self.started
        seconds_per_step = seconds / (step - self.first)
        remaining = timedelta(seconds=round(seconds_per_step * (self.total - step)))
        self.tell(
            f"{self.title}: step {step}/{self.total}  loss {loss:.4f}  "
            f"{self.examples / seconds:.0f} examples/s  {remaining} left"
        )
