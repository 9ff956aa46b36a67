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
from bertshift.rows.blocks import JACKKNIFE_COLUMNS, in_columns
from bertshift.rows.provenance import ORIGIN, of_runs
from bertshift.rows.scored import without_blocks
from bertshift.seeds import seed_from
from bertshift.tasks.batching import Encoded, pad
from bertshift.tasks.inference import best_device, evaluated
from bertshift.tasks.loading import load_task
from bertshift.tasks.scores import is_constant
from bertshift.tasks.text_classification import TextClassification

CONSTANT, HEAD = "constant", "random_head"
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
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Tabulate the rows of `replicate` for each encoder that models of a task start from, with
    values without each block of examples (`blocks.JACKKNIFE_COLUMNS`), and count the examples used
    of each split.

    `task` is an entry of the configuration's tasks with its name, of kind classification or
    regression. `starts`: {folder: {init, seed, heads}}, where `heads` are the seeds of the
    fine-tunings whose first heads are drawn. At most `max_train` of rows["train"] fit a probe; all
    that the task is scored on score it.
    """
    the_task = load_task(task, sidecar)
    limits = [size for size in (task.get("max_train"), max_train) if size is not None]
    sizes = {"train": min(limits, default=None), "dev": task.get("max_dev")}
    used = {
        split: sample(rows[split], size, task["dataset"], split) for split, size in sizes.items()
    }
    the_task.check(used)
    tables = []
    for folder, start in starts.items():
        print(
            f"{the_task.name}: {folder}, {len(start['heads'])} random heads and linear probes",
            file=sys.stderr,
        )
        found = pd.DataFrame(replicate(the_task, Path(folder), start["heads"], used))
        found = pd.concat([found, in_columns(found.pop("jackknife"))], axis=1)
        tables.append(found.assign(init=start["init"], seed=start["seed"]))
    table = pd.concat(tables, ignore_index=True)
    table = table.assign(
        metric="frozen", task=the_task.name, headline=table["score"] == the_task.metrics[0]
    )
    return table, {split: len(members) for split, members in used.items()}


def replicate(
    task: TextClassification,
    folder: Path,
    heads: Sequence[int],
    used: Mapping[str, Sequence[dict]],
) -> Iterator[dict]:
    """Yield every score on used["dev"], and `jackknife` each block of these examples, by variant.

    Variants: `constant`, one label for all inputs, or the mean target of a regression;
    `random_head`, the head with which fine-tuning from each of the seeds `heads` starts;
    `linear_probe_pooled` and `linear_probe_mean`, fitted to used["train"] on what the head sees
    and on the mean of all tokens.

    `draw` counts labels or heads, `answer` is set where all inputs get the same one, `l2` is a
    probe's.
    """
    dev = used["dev"]

    def scored(
        variant: str, said: np.ndarray, draw: int = 0, l2: float = np.nan
    ) -> Iterator[dict]:
        predictions = pd.DataFrame(task.columns(dev, said))
        answer = str(predictions["prediction"][0]) if is_constant(said) else ""
        without = without_blocks(task.metrics, predictions, task.labels)
        for name, value in task.score(dev, said).items():
            yield {
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
    answers = [targets.mean()] if task.labels is None else range(len(task.labels))
    for draw, answer in enumerate(answers, 1):
        yield from scored(CONSTANT, np.full(len(dev), answer), draw)

    # A checkpoint without a pooler gets the one of the first fine-tuning.
    encoder = load_encoder(folder, seed=seed_from(heads[0], "pooler"))
    tokenizer = load_tokenizer(folder)
    models = (task.model(encoder, seed_from(seed, "head")) for seed in heads)
    first = next(models)
    read = partial(features, first.to(best_device()), pad_id=tokenizer.pad_token_id)
    train, seen = (read(task.encode(used[split], tokenizer)) for split in ("train", "dev"))
    for draw, model in enumerate((first, *models), 1):
        with torch.inference_mode():
            logits = model.cpu().eval().logits(torch.from_numpy(seen["pooled"])).numpy()
        yield from scored(HEAD, task.decide(logits), draw)
    for kind, table in train.items():
        classes = None if task.labels is None else len(task.labels)
        model, l2 = linear.probe(table, targets, classes, task.dataset)
        yield from scored(f"linear_probe_{kind}", task.decide(model(seen[kind])), l2=l2)


@torch.inference_mode()
def features(
    model: SequenceClassifier, examples: Sequence[Encoded], pad_id: int
) -> dict[str, np.ndarray]:
    """Compute float32 [examples, width]: `pooled`, what the head sees; `mean`, of the last layer
    over all tokens."""
    found = {
        kind: np.empty((len(examples), model.encoder.config.hidden_size), np.float32)
        for kind in ("pooled", "mean")
    }

    def read(inputs: dict) -> tuple[Tensor, Tensor]:
        states = run(model.encoder, **inputs)
        hidden, mask = states.last_hidden_state.double(), inputs["attention_mask"]
        if mask is not None:
            hidden = hidden * mask[..., None]
        return model.pooled(states, mask).cpu(), hidden.sum(1).cpu()

    for batch, (pooled, total) in evaluated(model, examples, partial(pad, pad_id=pad_id), read):
        lengths = np.array([[len(examples[i])] for i in batch])
        found["pooled"][batch] = pooled
        found["mean"][batch] = total.numpy() / lengths
    return found


def with_provenance(
    table: pd.DataFrame, settings: Mapping, sidecar: Mapping, used: Mapping[str, int]
) -> pd.DataFrame:
    """Add to the table what its numbers were made from."""
    dev, train = (describe_split(sidecar, split, used[split]) for split in ("dev", "train"))
    return table.assign(
        model=settings["model"],
        child=settings["child"],
        scale=settings["scale"],
        **of_runs(table["init"], settings["checkpoints"]),
        data=f"{dev}; linear probes on {train}",
    )[[*COLUMNS, *JACKKNIFE_COLUMNS]]
