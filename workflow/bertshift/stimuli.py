from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from bertshift.errors import UserError
from bertshift.naming import Model
from bertshift.seeds import seed_from

SENTENCE_WORDS = (5, 90)


def stimuli_of(metric: str, model: Model, reference: Model, config: Mapping) -> list[str]:
    """Names of the input sets on which `metric` compares two models.

    `own` becomes the task last fine-tuned on; for two models of two tasks, both (`rte+mnli`, Hao et al. 2020,
    section 4.2); for two pretrained checkpoints, the first text stimulus.
    """
    tasks = sorted({each.task for each in (model, reference) if each.task})
    own = "+".join(tasks) or next(iter(config["stimuli"]))
    return list(
        dict.fromkeys(own if name == "own" else name for name in config["analyses"][metric]["stimuli"])
    )


def datasets_of(stimulus: str, config: Mapping) -> list[str]:
    """Data sets that an input set is drawn from; raises UserError for a name that is neither stimulus nor task."""
    if stimulus in config["stimuli"]:
        return [config["stimuli"][stimulus]["dataset"]]
    parts = stimulus.split("+")
    for part in parts:
        if part not in config["tasks"]:
            known = ", ".join([*config["stimuli"], *config["tasks"]])
            raise UserError(
                f"stimuli '{stimulus}': '{part}' is neither a stimulus nor a task; write one of {known}."
            )
    return [config["tasks"][part]["dataset"] for part in parts]


def draw_stimuli(name: str, rows: Mapping[str, Sequence[dict]], settings: Mapping) -> list[dict]:
    """A seeded sample, without replacement, in the order of the source: rows of id, text_a and perhaps text_b.

    `rows` maps each data set of `datasets_of(name)` to its development rows, or to its sentences;
    `settings` has `form` (None for a task's own inputs) and `number` per data set.
    """
    sampled = []
    for dataset, examples in rows.items():
        candidates = _candidates(examples, settings["form"])
        if not candidates:
            raise UserError(f"stimuli '{name}': data set '{dataset}' has no usable input; check its source.")
        rng = np.random.default_rng(seed_from("stimuli", name, dataset))
        chosen = rng.permutation(len(candidates))[: settings["number"]]
        sampled += [candidates[index] for index in sorted(chosen)]
    return sampled


def _candidates(examples: Sequence[dict], form: str | None) -> list[dict]:
    if form == "consecutive_pairs":
        return [
            {"id": f"{first['id']}+{second['id']}", "text_a": first["text"], "text_b": second["text"]}
            for first, second in pairwise(examples)
            if _follows(first, second) and _ordinary(first) and _ordinary(second)
        ]
    if form == "sentences":
        return [_as_input(row) for row in examples if _ordinary(row)]
    return [_as_input(row) for row in examples]


def _follows(first: dict, second: dict) -> bool:
    return first["document"] == second["document"] and first["sentence"] + 1 == second["sentence"]


def _ordinary(row: dict) -> bool:
    low, high = SENTENCE_WORDS
    return low <= len(row["text"].split()) <= high


def _as_input(row: dict) -> dict:
    if "question" in row:
        return {"id": row["id"], "text_a": row["question"], "text_b": row["context"]}
    if "text" in row:
        return {"id": row["id"], "text_a": row["text"]}
    return {key: row[key] for key in ("id", "text_a", "text_b") if key in row}
