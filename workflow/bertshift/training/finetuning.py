"""From a pretrained model folder and a task's rows to a fine-tuned one with scores."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path

import pandas as pd
from torch import nn
from transformers import BertModel, BertTokenizer

from bertshift.data.examples import sample
from bertshift.files import read_json, write_json, write_tsv
from bertshift.models.heads import load_task_model, take_head
from bertshift.models.loading import WEIGHTS, load_encoder, load_tokenizer, save_model
from bertshift.seeds import seed_from
from bertshift.tasks import Task, load_task
from bertshift.tasks.inference import best_device, check_lengths
from bertshift.training.checkpoint import parameters_digest, weights_digest
from bertshift.training.loop import train
from bertshift.training.settings import TrainSettings

SPLITS = ("train", "dev")


def finetune(
    task: Mapping,
    rows: Mapping[str, Sequence[dict]],
    sidecar: Mapping,
    start_dir: Path,
    run_dir: Path,
    settings: TrainSettings,
    seed: int,
    *,
    prepare: Callable[[BertModel], None] | None = None,
    head_from: Path | None = None,
) -> dict:
    """Fine-tune the encoder of `start_dir` on rows["train"], score it on rows["dev"], and return what scores.json says.

    `task` is the configuration's entry with its name: name, dataset, kind, metrics (headline first), max_length, and
    perhaps doc_stride, max_query_length, max_train, max_dev (sizes of random samples, the same for every seed).
    `prepare` may change the encoder before training (re-initialise, freeze, truncate); the head is drawn from `seed`,
    or taken from the fine-tuned model in `head_from`.

    Writes into `run_dir` the model folder, steps.tsv, layers.tsv, recipe.json (what made it), predictions.tsv (id,
    gold, prediction, ...) and, last, scores.json. What an earlier call with the same recipe finished is not done
    again. UserError for rows that no model can learn from, and for inputs that are too long for the encoder.
    """
    start_dir, run_dir = Path(start_dir), Path(run_dir)
    the_task = load_task(task, sidecar, rows.get("train", ()))
    used = {
        split: sample(rows.get(split, ()), task.get(f"max_{split}"), task["dataset"], split)
        for split in SPLITS
    }
    the_task.check(used)
    tokenizer = load_tokenizer(start_dir)
    model = starting_model(the_task, start_dir, seed, prepare, head_from)
    recipe = _recipe(task, settings, seed, used, model)

    finished = _finished(run_dir, recipe)
    if finished and (run_dir / "scores.json").is_file():
        return read_json(run_dir / "scores.json")
    if finished and (run_dir / WEIGHTS).is_file():
        model = load_task_model(run_dir)
    else:
        for name in ("scores.json", "recipe.json"):
            (run_dir / name).unlink(missing_ok=True)
        examples = the_task.training_examples(used["train"], tokenizer)
        check_lengths(examples, model)
        collate = partial(the_task.collate, pad_id=tokenizer.pad_token_id)
        frozen = _frozen_digest(model)
        train(model, examples, collate, the_task.loss, settings, seed, run_dir)
        if _frozen_digest(model) != frozen:
            raise AssertionError("a frozen tensor changed while training")
        save_model(run_dir, model, tokenizer)
        write_json(run_dir / "recipe.json", recipe)
    return _write_scores(run_dir, the_task, model, tokenizer, rows, used)


def score_untrained(
    task: Mapping, rows: Mapping[str, Sequence[dict]], sidecar: Mapping, start_dir: Path, seed: int
) -> dict[str, float]:
    """Scores on dev of the encoder in `start_dir` under a head that was never trained.

    Kovaleva et al. 2019, Table 1 "pretrained"; what comes out is a draw of the random head. A parser needs
    rows["train"] too, for its labels.
    """
    the_task = load_task(task, sidecar, rows.get("train", ()))
    dev = sample(rows.get("dev", ()), task.get("max_dev"), task["dataset"], "dev")
    model = starting_model(the_task, Path(start_dir), seed)
    return evaluate(the_task, model, dev, load_tokenizer(start_dir))[0]


def starting_model(
    task: Task,
    start_dir: Path,
    seed: int,
    prepare: Callable[[BertModel], None] | None = None,
    head_from: Path | None = None,
) -> nn.Module:
    """Encoder and head as they are before the first step."""
    bert = load_encoder(start_dir, seed=seed_from(seed, "pooler"))
    if prepare is not None:
        prepare(bert)
    model = task.model(bert, seed_from(seed, "head"))
    if head_from is not None:
        take_head(model, head_from, task.name)
    return model


def evaluate(
    task: Task, model: nn.Module, rows: Sequence[dict], tokenizer: BertTokenizer
) -> tuple[dict[str, float], dict[str, list]]:
    """Scores, and the columns of predictions.tsv without ids; float32, on the GPU if there is one."""
    predictions = task.predict(model.to(best_device()), rows, tokenizer)
    return task.score(rows, predictions), task.columns(rows, predictions)


def _write_scores(
    run_dir, task: Task, model, tokenizer, rows: Mapping, used: Mapping[str, list[dict]]
) -> dict:
    scores, columns = evaluate(task, model, used["dev"], tokenizer)
    write_tsv(
        run_dir / "predictions.tsv", pd.DataFrame({"id": [row["id"] for row in used["dev"]], **columns})
    )
    result = {
        "task": task.name,
        "dataset": task.dataset,
        "metric": task.metrics[0],
        "scores": scores,
        "majority": task.majority(used["train"], used["dev"]),
        "rows": {split: len(used[split]) for split in SPLITS},
        "sampled": {split: len(used[split]) < len(rows[split]) for split in SPLITS},
    }
    write_json(run_dir / "scores.json", result)
    return result


def _recipe(task: Mapping, settings: TrainSettings, seed: int, used: Mapping, model: nn.Module) -> dict:
    rows = json.dumps(used, sort_keys=True).encode()
    return {
        "task": json.loads(json.dumps(dict(task))),
        "settings": settings.result_settings(),
        "seed": seed,
        "rows": blake2b(rows, digest_size=16).hexdigest(),
        "start": weights_digest(model),
        "frozen": sorted(name for name, weight in model.named_parameters() if not weight.requires_grad),
    }


def _finished(run_dir: Path, recipe: dict) -> bool:
    path = run_dir / "recipe.json"
    return path.is_file() and read_json(path) == recipe


def _frozen_digest(model: nn.Module) -> str:
    return parameters_digest((n, w) for n, w in model.named_parameters() if not w.requires_grad)
