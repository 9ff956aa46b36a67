"""Scores of all ablations of a model, tested against the unchanged model."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertshift.ablation.predictions import predict_ablations, under_every_ablation
from bertshift.data.examples import sample
from bertshift.data.provenance import describe_split
from bertshift.errors import UserError
from bertshift.models.ablate import NOTHING, Ablation
from bertshift.models.heads import load_task_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows.blocks import outside, padded
from bertshift.rows.provenance import ORIGIN, failed, of_runs
from bertshift.rows.significance import (
    SCORES,
    benjamini_hochberg,
    mcnemar,
    paired_bootstrap,
    split_half,
)
from bertshift.rows.table import Table, concat
from bertshift.tasks.inference import best_device
from bertshift.tasks.loading import Task, load_task
from bertshift.tasks.question_answering import AnswerSpans
from bertshift.tasks.scores import is_constant
from bertshift.tasks.text_classification import TextClassification

RIGHT_OR_WRONG = ("accuracy", "exact_match")
CONFIRMED = "uniform"  # the variant of the paper, which figures and claims are about


class Headline(NamedTuple):
    """A task's first metric.

    score: its name in SCORES
    gold: [examples]
    predictions: [ablations, examples]; those of answers are scores already
    example_scores: [ablations, examples], the metric of one example: right or wrong, F1, or the
        squared error
    """

    score: str
    gold: np.ndarray
    predictions: np.ndarray
    example_scores: np.ndarray

    @classmethod
    def of(cls, task: Task, rows: Sequence[dict], predictions: Sequence[Sequence]) -> "Headline":
        """Compute a task's headline from its predictions under each ablation. UserError for a task
        whose headline is not a mean, F1 or correlation over examples."""
        metric = task.metrics[0]
        match task:
            case TextClassification():
                gold = task.targets(rows)
                predictions = np.stack(predictions)
                if task.labels is None:
                    # What differs by rounding alone has no correlation.
                    constant = [is_constant(answers) for answers in predictions]
                    predictions[constant] = predictions[constant].mean(axis=1, keepdims=True)
                    example_scores = (gold - predictions) ** 2
                else:
                    example_scores = gold == predictions
                return cls(metric, gold, predictions, example_scores)
            case AnswerSpans():
                scores = np.array([task.columns(rows, answers)[metric] for answers in predictions])
                return cls("mean", np.zeros(len(rows)), scores, scores)
        raise UserError(
            f"tasks.{task.name}: no test is known for {metric}; ablate models of classification,"
            " regression or spans."
        )


def ablate(
    model: str,
    task: Mapping,
    runs: Mapping[str, tuple[int, int]],
    rows: Sequence[dict],
    sidecar: Mapping,
    variants: Sequence[str],
    max_dev: int | None = None,
    confirm: int = 0,
) -> tuple[Table, dict[str, np.ndarray]]:
    """Tabulate `replicate` for every run of a model, on at most `max_dev` of `rows`.

    Where these are a sample of the rows that the task is scored on, each run's `extremes` are run
    again on all of those rows, as is the model with nothing disabled; the column `sample` is
    `sample` or `complete`.

    task: an entry of the configuration's tasks with its name
    runs: {folder: (init, seed)}
    confirm: how many of the best and of the worst heads are `extremes`

    Arrays, for an NPZ, come with the table: `ids` of the examples; per run `init1_seed1.variant`,
    `.layer`, `.head` [ablations], and Headline's score, gold, predictions (`.said`) and
    example_scores (`.each`); of the second runs `complete.ids`, and per run
    `init1_seed1.complete.variant` and so on.
    """
    loaded_task = load_task(task, sidecar)
    limits = [size for size in (task.get("max_dev"), max_dev) if size is not None]
    used = sample(rows, min(limits, default=None), task["dataset"], "dev")
    complete = sample(rows, task.get("max_dev"), task["dataset"], "dev")
    is_sample = len(used) < len(complete)
    tables, arrays = [], {"ids": _example_ids(used)}
    if is_sample and confirm:
        arrays["complete.ids"] = _example_ids(complete)
    for folder, (init, seed) in runs.items():
        keys = {"model": model, "task": loaded_task.name, "init": init, "seed": seed}
        loaded_model = load_task_model(Path(folder)).to(best_device())
        tokenizer = load_tokenizer(Path(folder))
        predictions = under_every_ablation(loaded_task, loaded_model, used, tokenizer, variants)
        headline = Headline.of(loaded_task, used, list(predictions.values()))
        table = replicate(loaded_task, used, predictions, headline)
        tables.append(table.assign(sample="sample" if is_sample else "complete", **keys))
        arrays |= _name_arrays(f"init{init}_seed{seed}", predictions, headline)
        confirmed = extremes(table.rows, confirm) if is_sample else []
        if confirmed:
            predictions = predict_ablations(
                loaded_task, loaded_model, complete, tokenizer, [NOTHING, *confirmed]
            )
            headline = Headline.of(loaded_task, complete, list(predictions.values()))
            others = table["layer"].max() * table["head"].max() - len(confirmed)
            table = compare_ablations(loaded_task, complete, predictions, headline, others)
            tables.append(table.assign(sample="complete", **keys))
            arrays |= _name_arrays(f"init{init}_seed{seed}.complete", predictions, headline)
    return concat(tables), arrays


def _example_ids(rows: Sequence[dict]) -> np.ndarray:
    return np.array([str(row["id"]) for row in rows])


def _name_arrays(
    prefix: str, ablations: Iterable[Ablation], headline: Headline
) -> dict[str, np.ndarray]:
    arrays = {
        "variant": [ablation.variant for ablation in ablations],
        "layer": [ablation.layer for ablation in ablations],
        "head": [ablation.head for ablation in ablations],
        "score": headline.score,
        "gold": headline.gold,
        "said": headline.predictions,
        "each": headline.example_scores,
    }
    return {f"{prefix}.{name}": np.array(values) for name, values in arrays.items()}


def extremes(table: pd.DataFrame, confirm: int) -> list[Ablation]:
    """List by layer the `confirm` heads with the best headline score in variant CONFIRMED and as
    many with the worst."""
    heads = table[(table["metric"] == "ablation") & table["headline"] & (table["head"] > 0)]
    heads = heads[heads["variant"] == CONFIRMED].sort_values("delta", kind="stable")
    ends = pd.concat([heads.head(confirm), heads.tail(confirm)])
    positions = set(zip(ends["layer"], ends["head"], strict=True))
    return [Ablation(CONFIRMED, layer, head) for layer, head in sorted(positions)]


def replicate(
    task: Task, rows: Sequence[dict], predictions: Mapping[Ablation, Sequence], headline: Headline
) -> Table:
    """Tabulate metric `ablation` as `compare_ablations` does, and for each variant one row of
    `ablation_split_half`.

    This row has the layer and head of the largest gain. Its delta is the gain of a head selected
    on one half of the examples and scored on the other, mean and sd over splits. Its value is
    delta plus the score of the unchanged model.
    """
    table = compare_ablations(task, rows, predictions, headline)
    base = table["value"][0]
    heads = table.rows[table["headline"] & (table["head"] > 0)]
    best = []
    for _, group in heads.groupby("variant", sort=False):
        gains = split_half(
            SCORES[headline.score],
            headline.gold,
            headline.predictions[0],
            headline.predictions[group["number"]],
            task.dataset,
        )
        row = group.loc[group["delta"].idxmax()].to_dict()
        row |= {
            "metric": "ablation_split_half",
            "value": base + gains.mean(),
            "delta": gains.mean(),
            "p": np.nan,
            "q": np.nan,
            "sd": gains.std(),
            "n": len(rows) // 2,
        }
        best.append(row)
    return concat([table, Table.of_records(best)])


def compare_ablations(
    task: Task,
    rows: Sequence[dict],
    predictions: Mapping[Ablation, Sequence],
    headline: Headline,
    others: int = 0,
) -> Table:
    """Test the model under each ablation against the unchanged model, one row for each ablation
    and score.

    `layer` 0 is the unchanged model, `head` 0 a whole layer, `number` the ablation's position in
    `predictions`. Every row has value and delta (to the unchanged model). Rows of the headline
    also have p of "no difference" (exact McNemar where an example is right or wrong, else a paired
    bootstrap), q (Benjamini-Hochberg over all heads, or over all layers, of one variant) and
    values without each block of examples. `others` counts further
    heads from which these were selected; for q, their p is taken as 1, the most it can be.
    """
    scores = [task.score(rows, answers) for answers in predictions.values()]
    table = pd.DataFrame(
        {
            "metric": "ablation",
            "variant": ablation.variant,
            "layer": ablation.layer,
            "head": ablation.head,
            "score": name,
            "headline": name == task.metrics[0],
            "value": score[name],
            "delta": score[name] - scores[0][name],
            "p": np.nan,
            "q": np.nan,
            "sd": np.nan,
            "n": len(rows),
            "number": number,
        }
        for number, (ablation, score) in enumerate(zip(predictions, scores, strict=True))
        for name in task.metrics
    )
    left_out = padded(score_without_blocks(headline))[table["number"]]
    left_out[~table["headline"]] = np.nan
    disabled = table[table["headline"] & (table["layer"] > 0)]
    for _, group in disabled.groupby(["variant", disabled["head"] == 0], sort=False):
        p = p_values(task.metrics[0], headline, group["number"], task.dataset)
        q = benjamini_hochberg(np.append(p, np.ones(others)))
        table.loc[group.index, "p"] = p
        table.loc[group.index, "q"] = q[: len(p)]
    return Table.of(table, left_out)


def score_without_blocks(headline: Headline) -> np.ndarray:
    """Score the examples outside each block: [ablations, blocks]."""
    rests = outside(len(headline.gold))
    scores = np.empty((len(headline.predictions), len(rests)))
    for block, rest in enumerate(rests):
        score = SCORES[headline.score].of(headline.gold[rest], headline.predictions[:, rest])
        scores[:, block] = score(np.ones((1, len(rest))))[0]
    return scores


def p_values(metric: str, headline: Headline, numbers: Sequence[int], dataset: str) -> np.ndarray:
    """Test the ablations with these numbers against the unchanged model. All replicates of a model
    are tested on the same samples of the examples."""
    if metric in RIGHT_OR_WRONG:
        right = headline.example_scores.astype(bool)
        return mcnemar(right[0], right[numbers])
    predictions = headline.predictions
    score = SCORES[headline.score]
    return paired_bootstrap(score, headline.gold, predictions[0], predictions[numbers], dataset)


def with_provenance(
    table: pd.DataFrame,
    settings: Mapping,
    sidecar: Mapping,
    outcomes: Mapping[tuple[int, int], Mapping],
) -> pd.DataFrame:
    """Add to the table the columns that say where its numbers come from, and `failed`: whether the
    run had not learned its task.

    `outcomes` are the scores.json of all runs {(init, seed): outcome}.
    """
    used = table[table["metric"] == "ablation"].groupby("sample")["n"].first()
    data = {name: describe_split(sidecar, "dev", n) for name, n in used.items()}
    trained = next(iter(outcomes.values()))["data"]["train"]
    columns = [
        "metric",
        "model",
        "task",
        "init",
        "seed",
        "failed",
        "variant",
        "layer",
        "head",
        "sample",
        "score",
        "headline",
        "value",
        "delta",
        "p",
        "q",
        "sd",
        "n",
        *ORIGIN,
    ]
    return table.assign(
        failed=[failed(outcomes[run]) for run in zip(table["init"], table["seed"], strict=True)],
        scale=settings["scale"],
        **of_runs(table["init"], settings["checkpoints"]),
        data=table["sample"].map(data) + f"; trained on {trained}",
    )[columns]
