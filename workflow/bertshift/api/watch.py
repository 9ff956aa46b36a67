"""`bertshift.Watch`, a callback of transformers' Trainer: how far a model is from a reference,
while it is trained."""

import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn
from tqdm.auto import tqdm
from transformers import TrainerCallback

from bertshift.api.along import Against, ask
from bertshift.api.course import Course
from bertshift.api.given import check_apart, check_weights, is_loaded
from bertshift.api.models import name_of, short_names
from bertshift.api.surroundings import plain_torch
from bertshift.api.texts import check_count
from bertshift.errors import UserError


class Watch(TrainerCallback):
    """Measure the model of a Trainer against a reference every some steps of its training.

    trainer: the Trainer, whose `log` gets the values as `bertshift/<measure>/layer_<number>`, and
    so what it reports to. reference: a folder, a name on the hub or a loaded model, which is run
    once as the training begins; left out, the model as it is then. every: steps between
    measurements; one is made as the training begins, and one at its end. budget: the share of the
    training time that measuring may take; a measurement that would exceed it, or leave too little
    for that at the end, is skipped and counted. None: no limit. The two passes as the training
    begins, of the reference and of the model, are counted, but always made. All else is as in
    `bertshift.along`.

    The training is the same, to the bit, as without it: a copy of the model is measured, and the
    states of random numbers are put back. For the time of the training, the copy is in memory and
    the reference's states are in a temporary folder. With several processes, the first one
    measures and the others wait. UserError, before the first step, for what `compare` refuses;
    later on a model that cannot be measured, such as one that has diverged, gives a warning.
    """

    def __init__(
        self,
        trainer: Any,
        texts: Any,
        reference: Any = None,
        *,
        every: int = 100,
        columns: str | Sequence[str] | None = None,
        measures: str | Callable | Iterable[str | Callable] = ("rsa", "cka"),
        max_length: int | None = None,
        tokens: int | None = None,
        tokenizer: Any = None,
        name: str = "texts",
        budget: float | None = 0.05,
    ):
        check_count("every", every, 1)
        if budget is not None and not 0 < budget <= 1:
            raise UserError(f"budget is {budget}; write a share of the time above 0, or None.")
        if not hasattr(trainer, "log"):
            raise UserError(
                f"the trainer is of type {type(trainer).__name__}; give transformers' Trainer, and"
                " add this callback to it with add_callback."
            )
        self._question = ask(texts, columns, measures, max_length, tokens, tokenizer, name)
        self._trainer, self._reference = trainer, reference
        self._every, self._budget = every, budget
        self._against: Against | None = None

    @property
    def course(self) -> Course:
        """What was measured up to now, with what it took. UserError before the training."""
        if self._against is None:
            raise UserError("nothing is measured yet; add this callback to a Trainer, and train.")
        return replace(self._against.course, notes=[*self._describe_cost()])

    @property
    def table(self) -> pd.DataFrame:
        """One row a step, measure and layer: step, measure, layer, value, low, high."""
        return self.course.table

    @property
    def report(self) -> list[str]:
        """What was found, and what measuring took, in some sentences."""
        return self.course.report

    def plot(self):
        """Draw each measure's change by layer and step, as `Course.plot` does."""
        return self.course.plot()

    def write(self, folder: str | Path) -> list[Path]:
        """Write tables and the picture, as `Course.write` does."""
        return self.course.write(folder)

    def on_train_begin(self, args, state, control, model=None, processing_class=None, **kwargs):
        """Run the reference, and measure the model for the first time."""
        if not state.is_world_process_zero:
            return
        self._started, self._spent, self._last_cost = perf_counter(), 0.0, 0.0
        self._first_step, self._skipped, self._failures = state.global_step, 0, []
        self._measurements, self._seen = 0, state.global_step
        with self._counting():
            self._begin(model, processing_class)
            self._measure(model, state.global_step)
        self._log(control)

    def on_step_end(self, args, state, control, model=None, **kwargs):
        """Measure the model, if it is time and the budget allows it."""
        if not state.is_world_process_zero:
            return
        is_end = state.global_step >= state.max_steps or control.should_training_stop
        if is_end or state.global_step % self._every == 0:
            self._try(model, state, control, is_end)

    def on_train_end(self, args, state, control, model=None, **kwargs):
        """Measure a model whose training was stopped early, and remove what is temporary."""
        if not state.is_world_process_zero:
            return
        # The best model that is loaded at the end is not that of the last step.
        if self._seen < state.global_step and not args.load_best_model_at_end:
            self._try(model, state, control, is_end=True)
        self._trained = perf_counter() - self._started - self._spent
        self._against.drop_twin()
        self._temporary.cleanup()

    def _begin(self, model: nn.Module, processing_class: Any) -> None:
        """Run the reference. UserError for models that cannot be compared."""
        reference = model if self._reference is None else self._reference
        check_weights(model, name_of(model))
        if is_loaded(self._reference):
            check_weights(reference, name_of(reference))
            check_apart([model], [reference])
        question = self._question
        if question.tokenizer is None:
            question = replace(question, tokenizer=processing_class)
        names = short_names([model], [reference])
        if self._reference is None:
            names = names[0].removesuffix(" (model)"), "its beginning"
        self._trained = None
        self._temporary = TemporaryDirectory(prefix="bertshift-")
        self._against = Against(
            reference, Path(self._temporary.name), question, names, tqdm(disable=True), model
        )

    def _try(self, model: nn.Module, state: Any, control: Any, is_end: bool) -> None:
        """Measure the model, unless it takes too long or cannot be measured."""
        self._seen = state.global_step
        if not self._fits(state, is_end):
            self._skipped += 1
            return
        try:
            with self._counting():
                self._measure(model, state.global_step)
        except UserError as error:
            self._failures.append(state.global_step)
            warnings.warn(f"step {state.global_step} is not measured: {error}", stacklevel=2)
        else:
            self._log(control)

    def _measure(self, model: nn.Module, step: int) -> None:
        begun = perf_counter()
        self._against.measure(model, step)
        self._last_cost = perf_counter() - begun
        self._measurements += 1

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Leave no trace on the training but the time, which is added up."""
        begun = perf_counter()
        try:
            with _keeping_random_numbers(), plain_torch():
                yield
        finally:
            self._spent += perf_counter() - begun

    def _fits(self, state: Any, is_end: bool) -> bool:
        """Tell whether a measurement as long as the last one is within the budget of the training
        up to now, and leaves enough of that of the whole for one at the end."""
        if self._budget is None:
            return True
        trained = perf_counter() - self._started - self._spent
        if self._spent + self._last_cost > self._budget * trained:
            return False
        if is_end:
            return True
        share = (state.global_step - self._first_step) / (state.max_steps - self._first_step)
        return self._spent + 2 * self._last_cost <= self._budget * trained / share

    def _log(self, control: Any) -> None:
        """Give the last values to the Trainer, which still logs its own."""
        table = self._against.last.table
        values = {
            f"bertshift/{row.measure}/layer_{row.layer}": float(row.value)
            for row in table.itertuples()
        }
        is_to_log = control.should_log
        self._trainer.log(values)
        control.should_log = is_to_log  # any log takes it back

    def _describe_cost(self) -> Iterator[str]:
        trained = self._trained
        if trained is None:  # the training goes on
            trained = perf_counter() - self._started - self._spent
        share = self._spent / trained
        yield (
            f"Measuring took {self._spent:.3g} s, {share:.1%} of the {trained:.3g} s of training:"
            f" {self._measurements} measurements, the last one in {self._last_cost:.3g} s."
        )
        if self._skipped:
            yield (
                f"{self._skipped} measurements would have exceeded the budget of"
                f" {self._budget:.0%} and were skipped; fewer texts or measures take less."
            )
        if self._failures:
            steps = ", ".join(map(str, self._failures))
            yield f"The model could not be measured at steps {steps}."


@contextmanager
def _keeping_random_numbers() -> Iterator[None]:
    """Put back the states of all generators of random numbers after the block."""
    python, numpy = random.getstate(), np.random.get_state()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
