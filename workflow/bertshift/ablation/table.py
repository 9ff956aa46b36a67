"""Scores of all ablations of a model, tested against the model as it is."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertshift.ablation.predictions import predictions, under_every_ablation
from bertshift.data.examples import sample
from bertshift.data.provenance import describe_split
from bertshift.errors import UserError
from bertshift.models.ablate import NOTHING, Ablation
from bertshift.models.heads import load_task_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows.blocks import JACKKNIFE_COLUMNS, in_columns, outside
from bertshift.rows.provenance import ORIGIN, failed, of_runs
from bertshift.rows.significance import (
    SCORES,
    benjamini_hochberg,
    mcnemar,
    paired_bootstrap,
    split_half,
)
from bertshift.tasks.inference import best_device
from bertshift.tasks.loading import Task, load_task
from bertshift.tasks.question_answering import AnswerSpans
from bertshift.tasks.text_classification import TextClassification

RIGHT_OR_WRONG = ("accuracy", "exact_match")
CONFIRMED = "uniform"  # the variant of the paper, which figures and claims are about


class Headline(NamedTuple):
    """A task's first metric: its name in SCORES, gold [examples], and predictions [ablations,
    examples], which for answers are already scores. `each` [ablations, examples] is the metric of
    one example: right or wrong, F1, or the squared error."""

    score: str
    gold: np.ndarray
    said: np.ndarray
    each: np.ndarray

    @classmethod
    def of(cls, task: Task, rows: Sequence[dict], predictions: Sequence[Sequence]) -> "Headline":
        """Take a task's headline score from its predictions. UserError for a task whose headline
        is no mean, F1 or correlation over examples."""
        metric = task.metrics[0]
        match task:
            case TextClassification():
                gold, said = task.targets(rows), np.stack(predictions)
                return cls(
                    metric, gold, said, (gold - said) ** 2 if task.labels is None else gold == said
                )
            case AnswerSpans():
                each = np.array([task.columns(rows, answers)[metric] for answers in predictions])
                return cls("mean", np.zeros(len(rows)), each, each)
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
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Tabulate `replicate` for every run {folder: (init, seed)} of a model, on at most `max_dev`
    of `rows`.

    Where these are a sample of what the task is scored on, each run's `extremes` are run again on
    all of it, as is the model with nothing disabled; the column `sample` tells rows on a `sample`
    from those on the `complete` set.

    `task` is an entry of the configuration's tasks with its name. Arrays, for an NPZ, come with
    the table: `ids` of the examples; per run `init1_seed1.variant`, `.layer`, `.head` [ablations],
    and gold, said and each of Headline; of what was run again `complete.ids`, and per run
    `init1_seed1.complete.variant` and so on.
    """
    the_task = load_task(task, sidecar)
    limits = [size for size in (task.get("max_dev"), max_dev) if size is not None]
    used = sample(rows, min(limits, default=None), task["dataset"], "dev")
    complete = sample(rows, task.get("max_dev"), task["dataset"], "dev")
    sampled = len(used) < len(complete)
    tables, arrays = [], {"ids": _ids(used)}
    if sampled and confirm:
        arrays["complete.ids"] = _ids(complete)
    for folder, (init, seed) in runs.items():
        run = {"model": model, "task": the_task.name, "init": init, "seed": seed}
        loaded, tokenizer = (
            load_task_model(Path(folder)).to(best_device()),
            load_tokenizer(Path(folder)),
        )
        said = under_every_ablation(the_task, loaded, used, tokenizer, variants)
        headline = Headline.of(the_task, used, list(said.values()))
        table = replicate(the_task, used, said, headline)
        tables.append(table.assign(sample="sample" if sampled else "complete", **run))
        arrays |= _arrays(f"init{init}_seed{seed}", said, headline)
        if chosen := extremes(table, confirm) if sampled else []:
            again = predictions(the_task, loaded, complete, tokenizer, [NOTHING, *chosen])
            headline = Headline.of(the_task, complete, list(again.values()))
            others = table["layer"].max() * table["head"].max() - len(chosen)
            tables.append(
                tested(the_task, complete, again, headline, others).assign(
                    sample="complete", **run
                )
            )
            arrays |= _arrays(f"init{init}_seed{seed}.complete", again, headline)
    return pd.concat(tables, ignore_index=True), arrays


def _ids(rows: Sequence[dict]) -> np.ndarray:
    return np.array([str(row["id"]) for row in rows])


def _arrays(name: str, ablations: Iterable[Ablation], headline: Headline) -> dict[str, np.ndarray]:
    found = {key: [getattr(one, key) for one in ablations] for key in ("variant", "layer", "head")}
    return {
        f"{name}.{key}": np.array(value) for key, value in (found | headline._asdict()).items()
    }


def extremes(table: pd.DataFrame, confirm: int) -> list[Ablation]:
    """List by layer the `confirm` heads of the best headline score in variant CONFIRMED and as
    many of the worst."""
    heads = table[(table["metric"] == "ablation") & table["headline"] & (table["head"] > 0)]
    heads = heads[heads["variant"] == CONFIRMED].sort_values("delta", kind="stable")
    ends = pd.concat([heads.head(confirm), heads.tail(confirm)])
    places = {*zip(ends["layer"], ends["head"], strict=True)}
    return [Ablation(CONFIRMED, layer, head) for layer, head in sorted(places)]


def replicate(
    task: Task, rows: Sequence[dict], predictions: Mapping[Ablation, Sequence], headline: Headline
) -> pd.DataFrame:
    """Tabulate metric `ablation` as in `tested`, and for each variant one row of
    `ablation_split_half`. This row has the layer and head of the largest gain. Its delta is the
    gain of a head chosen on one half of the examples and scored on the other, mean and sd over
    splits. Its value is delta plus the score of the model as it is.
    """
    table = tested(task, rows, predictions, headline)
    base, best = table.loc[0, "value"], []
    for _, group in table[table["headline"] & (table["head"] > 0)].groupby("variant", sort=False):
        gains = split_half(
            SCORES[headline.score],
            headline.gold,
            headline.said[0],
            headline.said[group["number"]],
            task.dataset,
        )
        best.append(
            group.loc[group["delta"].idxmax()].to_dict()
            | {
                "metric": "ablation_split_half",
                "value": base + gains.mean(),
                "delta": gains.mean(),
                "sd": gains.std(),
                "n": len(rows) // 2,
                "p": np.nan,
                "q": np.nan,
            }
            | dict.fromkeys(JACKKNIFE_COLUMNS, np.nan)
        )
    return pd.concat([table, pd.DataFrame(best)], ignore_index=True)


def tested(
    task: Task,
    rows: Sequence[dict],
    predictions: Mapping[Ablation, Sequence],
    headline: Headline,
    others: int = 0,
) -> pd.DataFrame:
    """Test the model under each ablation against the model as it is, one row for each ablation and
    score.

    `layer` 0 is the model as it is, `head` 0 a whole layer, `number` the ablation's place in
    `predictions`. Every row has value and delta (to the model as it is). Rows of the headline also
    have p of "no difference" (exact McNemar where an example is right or wrong, else a paired
    bootstrap), q (Benjamini-Hochberg over all heads, or over all layers, of one variant) and
    values without each block of examples (`blocks.JACKKNIFE_COLUMNS`). `others` counts further
    heads from which these were chosen; for q, their p is taken as 1, the most it can be.
    """
    scores = [task.score(rows, said) for said in predictions.values()]
    table = pd.DataFrame(
        {
            "metric": "ablation",
            "variant": one.variant,
            "layer": one.layer,
            "head": one.head,
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
        for number, (one, score) in enumerate(zip(predictions, scores, strict=True))
        for name in task.metrics
    )
    without = in_columns(without_blocks(headline)).iloc[table["number"]].reset_index(drop=True)
    table = pd.concat([table, without.where(table["headline"])], axis=1)
    disabled = table[table["headline"] & (table["layer"] > 0)]
    for _, group in disabled.groupby(["variant", disabled["head"] == 0], sort=False):
        p = p_values(task.metrics[0], headline, group["number"], task.dataset)
        table.loc[group.index, "p"] = p
        table.loc[group.index, "q"] = benjamini_hochberg(np.append(p, np.ones(others)))[: len(p)]
    return table


def without_blocks(headline: Headline) -> np.ndarray:
    """Score the examples outside each block: [ablations, blocks]."""
    found = [
        SCORES[headline.score].of(headline.gold[kept], headline.said[:, kept])(
            np.ones((1, len(kept)))
        )[0]
        for kept in outside(len(headline.gold))
    ]
    return np.reshape(found, (len(found), len(headline.said))).T


def p_values(metric: str, headline: Headline, numbers: Sequence[int], dataset: str) -> np.ndarray:
    """Test the ablations with these numbers against the model as it is. All replicates of a model
    are tested on the same samples of the examples."""
    if metric in RIGHT_OR_WRONG:
        right = headline.each.astype(bool)
        return mcnemar(right[0], right[numbers])
    return paired_bootstrap(
        SCORES[headline.score], headline.gold, headline.said[0], headline.said[numbers], dataset
    )


def with_provenance(
    table: pd.DataFrame,
    settings: Mapping,
    sidecar: Mapping,
    outcomes: Mapping[tuple[int, int], Mapping],
) -> pd.DataFrame:
    """Add to the table what its numbers were made from, and `failed`: whether the run had not
    learned its task.

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
        *JACKKNIFE_COLUMNS,
    ]
    return table.assign(
        failed=[failed(outcomes[run]) for run in zip(table["init"], table["seed"], strict=True)],
        scale=settings["scale"],
        **of_runs(table["init"], settings["checkpoints"]),
        data=table["sample"].map(data) + f"; trained on {trained}",
    )[columns]
