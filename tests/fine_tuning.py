"""Fine-tuning from what a test has made, in one call."""

from pathlib import Path

from bertshift.data.examples import sample
from bertshift.models.tokenizer import load_tokenizer
from bertshift.tasks.loading import load_task
from bertshift.training import finetuning


def finetune(task, rows, sidecar, start, folder, settings, seed, **how):
    inputs = finetuning.Inputs(task, rows, sidecar, start)
    return finetuning.finetune(inputs, start, folder, settings, seed, **how)


def score_untrained(task, rows, sidecar, start, seed):
    """Scores on dev of the encoder in `start` under a head that was never trained."""
    the_task = load_task(task, sidecar, rows.get("train", ()))
    dev = sample(rows.get("dev", ()), task.get("max_dev"), task["dataset"], "dev")
    model = finetuning.starting_model(the_task, Path(start), seed)
    return finetuning.evaluate(the_task, model, dev, load_tokenizer(start))[0]
