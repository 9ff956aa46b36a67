"""Names of models, tasks and scores for a reader."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from bertshift.naming import DEFAULT_BASE, Model, is_pair, named_in
from bertshift.rows.nulls import NOISE, SHUFFLED, model_of, null_of

WORDS = {
    "mnli": "MNLI",
    "squad": "SQuAD",
    "squad2": "SQuAD 2.0",
    "dep": "Dep",
    "rte": "RTE",
    "sst2": "SST-2",
    "mrpc": "MRPC",
    "qqp": "QQP",
    "stsb": "STS-B",
    "stsb_standardised": "STS-B, standardised",
    "qnli": "QNLI",
    "cola": "CoLA",
    "wnli": "WNLI",
    "base": "Base",
    "lexical": "Lexical",
    "word_only": "Word only",
    "randomized": "Randomized",
}

NULL_WORDS = {NOISE: "noise of the same size", SHUFFLED: "shuffled labels"}

SCORES = {
    "f1": "F1",
    "macro_f1": "macro-F1",
    "accuracy": "accuracy",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "mcc": "Matthews",
    "las_ud": "LAS",
}

# Tasks of the edge probes, in the order of Table 1 of Merchant et al. 2020.
EDGES = {
    "pos": "POS",
    "constituents": "Constituents",
    "dependencies": "Dependencies",
    "entities": "Entities",
    "srl": "SRL",
    "coref": "Coreference",
    "spr": "SPR",
    "relations": "Relations",
}


def stages_of(model: str) -> str:
    """Name the tasks that a model was fine-tuned on, without variants and checkpoint: `rte+mnli`
    for `rte+mnli.freeze8@large`."""
    return "+".join(Model.of(model).stages)


def task_of(model: str) -> str:
    """Name the task that colours a model: the last one, `mnli` for `rte+mnli.freeze8@large`."""
    return Model.of(model).stages[-1]


def intermediate_of(model: str) -> tuple[str, str]:
    """Name the tasks before the last one, and the head that this began with: (`wnli`, `carry`) for
    `wnli+cola.carry`, two empty texts for `cola`."""
    parsed = Model.of(model)
    if not (earlier := parsed.stages[:-1]):
        return "", ""
    return "+".join(earlier), "carry" if parsed.variant("carry") else "fresh"


def base_of(model: str) -> str:
    """Name the checkpoint that a model's name ends with."""
    return Model.of(model).base


def role_of(model: str, seeds: pd.Series) -> str:
    """Name a model in a comparison: by its own name, or as `base` or `randomized` if it was not
    fine-tuned (seed 0)."""
    if (seeds != 0).any():
        return model
    return "randomized" if Model.of(model).variant("random") else "base"


def first_of_tasks(models: Sequence[str]) -> dict[str, str]:
    """Find the first model of each task: published numbers lie beside it."""
    return {task_of(model): model for model in reversed(models)}


def label_of(model: str) -> str:
    """Name a model for a reader: `MNLI`, `MNLI@large`, `rte+MNLI.freeze8`; two compared,
    `RTE–MNLI@large`; a null, `MNLI, shuffled labels`."""
    if is_pair(model):
        first, second = map(Model.of, named_in(model))
        if first.base == second.base:
            first = replace(first, base=DEFAULT_BASE)
        return f"{label_of(str(first))}–{label_of(str(second))}"
    if null := null_of(model):
        return f"{label_of(model_of(model))}, {NULL_WORDS[null]}"
    parsed = Model.of(model)
    if len(parsed.stages) > 1:
        return model
    [stage] = parsed.stages
    return str(replace(parsed, tasks=(WORDS.get(stage, stage),)))


def edge_labels(tasks: pd.Series) -> dict[str, str]:
    """List the edge-probing tasks that occur, in the paper's order and then any others, with their
    names for a reader."""
    present = list(tasks.unique())
    in_order = [task for task in EDGES if task in present]
    return {task: EDGES.get(task, task) for task in in_order + present}
