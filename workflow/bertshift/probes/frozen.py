"""The score of an encoder that is not fine-tuned for a task, under heads that are not trained and
under linear probes.

Kovaleva et al. 2019, Table 1, column "pre-trained", is the score of one such head: a draw.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bertshift.data.examples import sample
from bertshift.data.provenance import describe_split
from bertshift.models.family import run
from bertshift.models.heads import SequenceClassifier
from bertshift.models.loading import load_encoder
from bertshift.models.tokenizer import load_tokenizer
from bertshift.probes import linear
from bertshift.rows.provenance import ORIGIN, of_runs
from bertshift.rows.scored import without_blocks
from bertshift.rows.table import Table, concat
from bertshift.seeds import seed_from
from bertshift.tasks.batching import Encoded, pad
from bertshift.tasks.inference import best_device, evaluated
from bertshift.tasks.loading import load_task
from bertshift.tasks.scores import is_constant
from bertshift.tasks.text_classification import TextClassification

CONSTANT, HEAD = "constant", "random_head"
FEATURES = ("pooled", "mean")
COLUMNS = [
    "metric",
    "model",
    "child",
    "task",
    "variant",
    "draw",
    "answer",
    "score",
    "headline",
    "init",
    "seed",
    "value",
    "l2",
    "n",
    *ORIGIN,
]


def frozen(
    task: Mapping,
    starts: Mapping[str, Mapping],
    rows: Mapping[str, Sequence[dict]],
    sidecar: Mapping,
    max_train: int | None = None,
) -> tuple[Table, dict[str, int]]:
    """Tabulate the scores of each encoder that models of a task start from, and count the examples
    used of each split.

    The table has the rows of `score_encoder`, with values without each block of examples.
    All development rows of the task score a probe.

    task: an entry of the configuration's tasks with its name, of kind classification or regression
    starts: {folder: {init, seed, heads}}, where `heads` are the seeds of the fine-tunings whose
        first heads are drawn
    max_train: how many of rows["train"] fit a probe, or all where there are fewer
    """
    classification = load_task(task, sidecar)
    limits = [size for size in (task.get("max_train"), max_train) if size is not None]
    sizes = {"train": min(limits, default=None), "dev": task.get("max_dev")}
    used = {
        split: sample(rows[split], size, task["dataset"], split) for split, size in sizes.items()
    }
    classification.check(used)
    tables = []
    for folder, start in starts.items():
        print(
            f"{classification.name}: {folder}, {len(start['heads'])} random heads and linear"
            " probes",
            file=sys.stderr,
        )
        scores = Table.of_records(
            score_encoder(classification, Path(folder), start["heads"], used)
        )
        tables.append(scores.assign(init=start["init"], seed=start["seed"]))
    table = concat(tables)
    headline = table["score"] == classification.metrics[0]
    table = table.assign(task=classification.name, headline=headline)
    return table, {split: len(examples) for split, examples in used.items()}


def score_encoder(
    task: TextClassification,
    folder: Path,
    heads: Sequence[int],
    used: Mapping[str, Sequence[dict]],
) -> Iterator[dict]:
    """Yield every score on used["dev"], and its `jackknife` values without each block of these
    examples, by variant.

    Variants: `constant`, one label for all inputs, or the mean target of a regression;
    `random_head`, the head with which fine-tuning from each of the seeds `heads` starts;
    `linear_probe_pooled` and `linear_probe_mean`, fitted to used["train"] on the head's input and
    on the mean of all tokens.

    `draw` counts labels or heads, `answer` is set where all inputs get the same one, `l2` is a
    probe's.
    """
    dev = used["dev"]

    def score_rows(
        variant: str, answers: np.ndarray, draw: int = 0, l2: float = np.nan
    ) -> Iterator[dict]:
        predictions = pd.DataFrame(task.columns(dev, answers))
        answer = str(predictions["prediction"][0]) if is_constant(answers) else ""
        without = without_blocks(task.metrics, predictions, task.labels)
        for name, value in task.score(dev, answers).items():
            yield {
                "metric": "frozen",
                "variant": variant,
                "draw": draw,
                "answer": answer,
                "score": name,
                "value": value,
                "l2": l2,
                "n": len(dev),
                "jackknife": without[name],
            }

    targets = task.targets(used["train"])
    classes = None if task.labels is None else len(task.labels)
    constants = [targets.mean()] if classes is None else range(classes)
    for draw, constant in enumerate(constants, 1):
        yield from score_rows(CONSTANT, np.full(len(dev), constant), draw)

    # A checkpoint without a pooler gets the one of the first fine-tuning.
    encoder = load_encoder(folder, seed=seed_from(heads[0], "pooler"))
    tokenizer = load_tokenizer(folder)
    models = [task.model(encoder, seed_from(seed, "head")) for seed in heads]
    models[0].to(best_device())  # and with it the encoder, which all share
    train_features, dev_features = (
        features(models[0], task.encode(used[split], tokenizer), tokenizer.pad_token_id)
        for split in ("train", "dev")
    )
    pooled = torch.from_numpy(dev_features["pooled"])
    for draw, model in enumerate(models, 1):
        with torch.inference_mode():
            logits = model.cpu().eval().logits(pooled).numpy()
        yield from score_rows(HEAD, task.decide(logits), draw)
    for kind in FEATURES:
        model, l2 = linear.probe(train_features[kind], targets, classes, task.dataset)
        answers = task.decide(model(dev_features[kind]))
        yield from score_rows(f"linear_probe_{kind}", answers, l2=l2)


@torch.inference_mode()
def features(
    model: SequenceClassifier, examples: Sequence[Encoded], pad_id: int
) -> dict[str, np.ndarray]:
    """Compute FEATURES, float32 [examples, width]: `pooled`, the head's input; `mean`, the last
    layer's mean over all tokens."""
    width = model.encoder.config.hidden_size
    values = {kind: np.empty((len(examples), width), np.float32) for kind in FEATURES}

    def pool_and_sum(inputs: dict) -> tuple[Tensor, Tensor]:
        states = run(model.encoder, **inputs)
        mask = inputs["attention_mask"]
        hidden = states.last_hidden_state.double()
        if mask is not None:
            hidden = hidden * mask[..., None]
        return model.pooled(states, mask).cpu(), hidden.sum(1).cpu()

    collate = partial(pad, pad_id=pad_id)
    for batch, (pooled, total) in evaluated(model, examples, collate, pool_and_sum):
        lengths = np.array([[len(examples[i])] for i in batch])
        values["pooled"][batch] = pooled
        values["mean"][batch] = total.numpy() / lengths
    return values


def with_provenance(
    table: pd.DataFrame, settings: Mapping, sidecar: Mapping, used: Mapping[str, int]
) -> pd.DataFrame:
    """Add to the table the columns that say where its numbers come from."""
    dev, train = (describe_split(sidecar, split, used[split]) for split in ("dev", "train"))
    return table.assign(
        model=settings["model"],
        child=settings["child"],
        scale=settings["scale"],
        **of_runs(table["init"], settings["checkpoints"]),
        data=f"{dev}; linear probes on {train}",
    )[COLUMNS]
