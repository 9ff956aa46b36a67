"""Scores of all ablations of a model, tested against the model as it is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertshift.ablation.sweep import sweep
from bertshift.data.examples import sample
from bertshift.errors import UserError
from bertshift.models.ablate import Ablation
from bertshift.models.heads import load_task_model
from bertshift.models.loading import load_tokenizer
from bertshift.models.source import checkpoint_names
from bertshift.provenance import describe_split
from bertshift.significance import SCORES, benjamini_hochberg, mcnemar, paired_bootstrap, split_half
from bertshift.tasks import AnswerSpans, Task, TextClassification, load_task
from bertshift.tasks.inference import best_device

RIGHT_OR_WRONG = ("accuracy", "exact_match")


class Headline(NamedTuple):
    """A task's first metric: its name in SCORES, gold [examples], and predictions [ablations, examples], which for
    answers are already scores. `each` [ablations, examples] is the metric of one example: right or wrong, F1, or the
    squared error."""

    score: str
    gold: np.ndarray
    said: np.ndarray
    each: np.ndarray

    @classmethod
    def of(cls, task: Task, rows: Sequence[dict], predictions: Sequence[Sequence]) -> "Headline":
        """UserError for a task whose headline is no mean, F1 or correlation over examples."""
        metric = task.metrics[0]
        match task:
            case TextClassification():
                gold, said = task.targets(rows), np.stack(predictions)
                return cls(metric, gold, said, (gold - said) ** 2 if task.labels is None else gold == said)
            case AnswerSpans():
                each = np.array([task.columns(rows, answers)[metric] for answers in predictions])
                return cls("mean", np.zeros(len(rows)), each, each)
        raise UserError(
            f"tasks.{task.name}: no test is known for {metric}; ablate models of classification, regression or spans."
        )


def ablate(
    model: str,
    task: Mapping,
    runs: Mapping[str, tuple[int, int]],
    rows: Sequence[dict],
    sidecar: Mapping,
    variants: Sequence[str],
    max_dev: int | None = None,
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """The table of `replicate` for every run {folder: (init, seed)} of a model, on at most `max_dev` of `rows`.

    `task` is an entry of the configuration's tasks with its name. The arrays, for an NPZ: `ids` of the examples; per
    run `init1_seed1.variant`, `.layer`, `.head` [ablations], and gold, said and each of Headline.
    """
    the_task = load_task(task, sidecar)
    limits = [size for size in (task.get("max_dev"), max_dev) if size is not None]
    used = sample(rows, min(limits, default=None), task["dataset"], "dev")
    tables, arrays = [], {"ids": np.array([str(row["id"]) for row in used])}
    for folder, (init, seed) in runs.items():
        loaded = load_task_model(Path(folder)).to(best_device())
        predictions = sweep(the_task, loaded, used, load_tokenizer(Path(folder)), variants)
        headline = Headline.of(the_task, used, list(predictions.values()))
        table = replicate(the_task, used, predictions, headline)
        tables.append(table.assign(model=model, task=the_task.name, init=init, seed=seed))
        found = {key: [getattr(one, key) for one in predictions] for key in ("variant", "layer", "head")}
        found |= headline._asdict()
        arrays |= {f"init{init}_seed{seed}.{key}": np.array(value) for key, value in found.items()}
    return pd.concat(tables, ignore_index=True), arrays


def replicate(
    task: Task, rows: Sequence[dict], predictions: Mapping[Ablation, Sequence], headline: Headline
) -> pd.DataFrame:
    """One row an ablation and score; `layer` 0 is the model as it is, `head` 0 a whole layer.

    metric `ablation`: value, delta (to the model as it is) and, for the headline, p of "no difference" (exact McNemar
    where an example is right or wrong, else a paired bootstrap) and q (Benjamini-Hochberg over all heads, or over all
    layers, of one variant). metric `ablation_split_half`: layer and head of the largest gain; delta is the gain of a
    head chosen on one half of the examples and scored on the other, mean and sd over splits, and value that plus the
    score of the model as it is.
    """
    scores = [task.score(rows, said) for said in predictions.values()]
    table = pd.DataFrame(
        {"metric": "ablation", "variant": one.variant, "layer": one.layer, "head": one.head, "score": name,
         "headline": name == task.metrics[0], "value": score[name], "delta": score[name] - scores[0][name],
         "p": np.nan, "q": np.nan, "sd": np.nan, "n": len(rows), "number": number}
        for number, (one, score) in enumerate(zip(predictions, scores, strict=True))
        for name in task.metrics
    )  # fmt: skip
    disabled = table[table["headline"] & (table["layer"] > 0)]
    best = []
    for (_, whole_layer), group in disabled.groupby(["variant", disabled["head"] == 0], sort=False):
        p = p_values(task.metrics[0], headline, group["number"], task.dataset)
        table.loc[group.index, "p"], table.loc[group.index, "q"] = p, benjamini_hochberg(p)
        if not whole_layer:
            gains = split_half(
                SCORES[headline.score],
                headline.gold,
                headline.said[0],
                headline.said[group["number"]],
                task.dataset,
            )
            best.append(
                group.loc[group["delta"].idxmax()].to_dict()
                | {"metric": "ablation_split_half", "value": scores[0][task.metrics[0]] + gains.mean(),
                   "delta": gains.mean(), "sd": gains.std(), "n": len(rows) // 2}
            )  # fmt: skip
    return pd.concat([table, pd.DataFrame(best)], ignore_index=True).drop(columns="number")


def p_values(metric: str, headline: Headline, numbers: Sequence[int], dataset: str) -> np.ndarray:
    """Of the ablations with these numbers; all replicates of a model are tested on the same samples of the examples."""
    if metric in RIGHT_OR_WRONG:
        right = headline.each.astype(bool)
        return mcnemar(right[0], right[numbers])
    return paired_bootstrap(
        SCORES[headline.score], headline.gold, headline.said[0], headline.said[numbers], dataset
    )


def with_provenance(table: pd.DataFrame, settings: Mapping, sidecar: Mapping, trained: int) -> pd.DataFrame:
    """The table with what its numbers were made from; `trained` is the number of rows trained on."""
    used = table.loc[table["metric"] == "ablation", "n"].iloc[0]
    data = describe_split(sidecar, "dev", used, settings["source"])
    trained = describe_split(sidecar, "train", trained, settings["source"])
    columns = ["metric", "model", "task", "init", "seed", "variant", "layer", "head", "score", "headline", "value", "delta",
               "p", "q", "sd", "n", "scale", "checkpoint", "data"]  # fmt: skip
    return table.assign(
        scale=settings["scale"],
        checkpoint=table["init"].astype(str).map(checkpoint_names(settings["checkpoints"])),
        data=f"{data}; trained on {trained}",
    )[columns]
