"""From a pretrained model folder and a task's rows to a fine-tuned one with scores."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from functools import cache, cached_property, partial
from hashlib import blake2b
from pathlib import Path

import pandas as pd
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.data.examples import read_examples, read_sidecar, sample
from bertshift.data.provenance import describe_split
from bertshift.files import read_json, read_tsv, write_json, write_tsv
from bertshift.models.adapters import merge_adapters
from bertshift.models.heads import load_task_model, take_head
from bertshift.models.loading import WEIGHTS, load_encoder, save_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.models.variants import apply_variants
from bertshift.naming import parse_variant
from bertshift.running.checkpoint import parameters_digest, weights, weights_digest
from bertshift.seeds import seed_from
from bertshift.tasks.batching import Encoded
from bertshift.tasks.inference import best_device, check_lengths
from bertshift.tasks.loading import Task, load_task
from bertshift.tasks.shuffled_labels import shuffle_labels
from bertshift.tasks.text_classification import standardise_labels
from bertshift.training.loop import remove_checkpoint, train
from bertshift.training.settings import TrainSettings

SPLITS = ("train", "dev")
SHUFFLED_LABELS = ", labels dealt anew"  # in the description of training data


class Inputs:
    """A task's rows for one tokeniser, encoded once for all runs that train on them.

    `task` is the configuration's entry with its name: name, dataset, kind, metrics (headline
    first), max_length, and perhaps doc_stride, max_query_length, standardise_labels, max_train,
    max_dev (sizes of random samples, the same for every seed). UserError for rows that no model
    can learn from.
    """

    def __init__(
        self, task: Mapping, rows: Mapping[str, Sequence[dict]], sidecar: Mapping, start_dir: Path
    ):
        self.settings = json.loads(json.dumps(dict(task)))
        self.task = load_task(task, sidecar, rows.get("train", ()))
        self.used: dict[str, list[dict]] = {}
        self.sampled: dict[str, bool] = {}
        self.described: dict[str, str] = {}
        for split in SPLITS:
            split_rows = rows.get(split, ())
            used = sample(split_rows, task.get(f"max_{split}"), task["dataset"], split)
            self.used[split] = used
            self.sampled[split] = len(used) < len(split_rows)
            self.described[split] = describe_split(sidecar, split, len(used))
        self.task.check(self.used)
        if task.get("standardise_labels"):
            self.used = standardise_labels(self.used)
        self.trained_on = self.used["train"]
        self.are_shuffled = False
        self.tokenizer = load_tokenizer(start_dir)

    def with_shuffled_labels(self, seed: int) -> "Inputs":
        """Make the same inputs with labels to train on that are dealt anew."""
        inputs = copy(self)
        for cached in ("examples", "digest"):
            vars(inputs).pop(cached, None)
        inputs.trained_on = shuffle_labels(self.task, self.used["train"], seed)
        inputs.are_shuffled = True
        inputs.described = self.described | {
            "train": f"{self.described['train']}{SHUFFLED_LABELS}"
        }
        return inputs

    @cached_property
    def examples(self) -> list[Encoded]:
        return self.task.training_examples(self.trained_on, self.tokenizer)

    @cached_property
    def digest(self) -> str:
        text = json.dumps(self.used | {"train": self.trained_on}, sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()


def trainer(
    start_dir: Path, data_dir: Path
) -> Callable[[Mapping, Path | Mapping[int, Path]], dict | None]:
    """Build a function (run, folder) -> scores, whose runs all start in `start_dir` and learn from
    `data_dir`.

    A run has the keys of a rule's settings: `task`, `training`, `variants` (of its model's name)
    and `seed`. All runs of one task share the inputs that the first has read and encoded. A
    mapping of folders, one for each snapshot, may replace the folder.
    """
    rows = {split: read_examples(data_dir, split) for split in SPLITS}
    sidecar = read_sidecar(data_dir)

    @cache
    def read_inputs(task: str) -> Inputs:
        return Inputs(json.loads(task), rows, sidecar, start_dir)

    def train_run(run: Mapping, folder: Path | Mapping[int, Path]) -> dict | None:
        variants = [parse_variant(text) for text in run["variants"]]
        kinds = {variant.kind for variant in variants}
        settings = TrainSettings(**run["training"])
        lora = {"alpha": settings.lora_alpha, "dropout": settings.lora_dropout}
        train_model = write_snapshots if isinstance(folder, Mapping) else finetune
        inputs = read_inputs(json.dumps(run["task"], sort_keys=True))
        if "shuffled" in kinds:
            inputs = inputs.with_shuffled_labels(seed_from(run["seed"], "labels"))
        return train_model(
            inputs,
            start_dir,
            folder,
            settings,
            run["seed"],
            prepare=partial(apply_variants, variants=variants, seed=run["seed"], lora=lora),
            finish=merge_adapters if "lora" in kinds else None,
            head_from=start_dir if "carry" in kinds else None,
        )

    return train_run


def finetune(
    inputs: Inputs,
    start_dir: Path,
    run_dir: Path,
    settings: TrainSettings,
    seed: int,
    *,
    prepare: Callable[[PreTrainedModel], None] | None = None,
    finish: Callable[[nn.Module], None] | None = None,
    head_from: Path | None = None,
) -> dict:
    """Fine-tune the encoder of `start_dir` on the training rows, score it on dev, and return the
    contents of scores.json.

    prepare: may change the encoder before training (re-initialise, freeze, truncate, add adapters)
    finish: may change the model after training (merge adapters)
    head_from: the folder of a fine-tuned model whose head is taken; without it the head is drawn
        from `seed`

    Writes into `run_dir` the model folder, steps.tsv, layers.tsv, recipe.json (all that the run
    depends on), predictions.tsv (id, gold, prediction, ...) and, last, scores.json. A step that an
    earlier call with the same recipe has finished is skipped. UserError for inputs that are too
    long for the encoder.
    """
    start_dir, run_dir = Path(start_dir), Path(run_dir)
    model = starting_model(inputs.task, start_dir, seed, prepare, head_from)
    recipe = _build_recipe(inputs, settings, seed, model)

    recipe_file = run_dir / "recipe.json"
    finished = recipe_file.is_file() and read_json(recipe_file) == recipe
    if finished and (run_dir / "scores.json").is_file():
        return read_json(run_dir / "scores.json")
    if finished and (run_dir / WEIGHTS).is_file():
        model = load_task_model(run_dir)
    else:
        for name in ("scores.json", "recipe.json"):
            (run_dir / name).unlink(missing_ok=True)
        _train(model, inputs, settings, seed, run_dir)
        if finish is not None:
            finish(model)
        save_model(run_dir, model, inputs.tokenizer)
        write_json(recipe_file, recipe)
    scores = _write_scores(run_dir, inputs, model, _count_batches(inputs, settings))
    remove_checkpoint(run_dir)
    return scores


def write_snapshots(
    inputs: Inputs,
    start_dir: Path,
    folders: Mapping[int, Path],
    settings: TrainSettings,
    seed: int,
    *,
    prepare: Callable[[PreTrainedModel], None] | None = None,
    finish: Callable[[nn.Module], None] | None = None,
    head_from: Path | None = None,
) -> None:
    """Fine-tune as `finetune` does, and write the model after each share of all steps (percent)
    into the share's folder.

    A share is rounded to the nearest whole number of steps. A folder has the files that `finetune`
    writes, but no recipe.json. Training ends with the largest share. Until then the weights are in
    hidden files of that share's folder.
    """
    batches = _count_batches(inputs, settings)
    total = settings.total_steps(batches)
    steps = {share: round(total * share / 100) for share in folders}
    run_dir = Path(folders[max(folders)])
    weight_files = {step: run_dir / f".step{step}" for step in steps.values()}
    model = starting_model(inputs.task, Path(start_dir), seed, prepare, head_from)
    _train(model, inputs, settings, seed, run_dir, weight_files)
    logs = {name: read_tsv(run_dir / name) for name in ("steps.tsv", "layers.tsv")}
    for share, folder in folders.items():
        model.load_state_dict(weights(weight_files[steps[share]]))
        snapshot = model
        if finish is not None:
            snapshot = deepcopy(model)
            finish(snapshot)
        for name, table in logs.items():
            write_tsv(folder / name, table[table["step"] <= steps[share]])
        save_model(folder, snapshot, inputs.tokenizer)
        _write_scores(folder, inputs, snapshot, batches)
    remove_checkpoint(run_dir)
    for file in weight_files.values():
        file.unlink()


def _train(
    model: nn.Module,
    inputs: Inputs,
    settings: TrainSettings,
    seed: int,
    run_dir: Path,
    snapshots: Mapping[int, Path] | None = None,
) -> None:
    check_lengths(inputs.examples, model)
    collate = partial(inputs.task.collate, pad_id=inputs.tokenizer.pad_token_id)
    loss = inputs.task.loss
    frozen_digest = _digest_frozen(model)
    train(model, inputs.examples, collate, loss, settings, seed, run_dir, snapshots=snapshots)
    if _digest_frozen(model) != frozen_digest:
        raise AssertionError("a frozen tensor changed while training")


def _count_batches(inputs: Inputs, settings: TrainSettings) -> int:
    """Count the batches of an epoch."""
    return math.ceil(len(inputs.examples) / settings.batch_size)


def starting_model(
    task: Task,
    start_dir: Path,
    seed: int,
    prepare: Callable[[PreTrainedModel], None] | None = None,
    head_from: Path | None = None,
) -> nn.Module:
    """Build encoder and head as they are before the first step."""
    encoder = load_encoder(start_dir, seed=seed_from(seed, "pooler"))
    if prepare is not None:
        prepare(encoder)
    model = task.model(encoder, seed_from(seed, "head"))
    if head_from is not None:
        take_head(model, head_from, task.name)
    return model


def evaluate(
    task: Task, model: nn.Module, rows: Sequence[dict], tokenizer: PreTrainedTokenizerBase
) -> tuple[dict[str, float], dict[str, list]]:
    """Score a model on `rows`, with the columns of predictions.tsv without ids; float32, on the
    GPU if there is one."""
    predictions = task.predict(model.to(best_device()), rows, tokenizer)
    return task.score(rows, predictions), task.columns(rows, predictions)


def _write_scores(run_dir: Path, inputs: Inputs, model: nn.Module, batches: int) -> dict:
    """Score a run on dev, and write its predictions.tsv and scores.json; `batches`: the batches of
    an epoch."""
    task, used = inputs.task, inputs.used
    scores, columns = evaluate(task, model, used["dev"], inputs.tokenizer)
    predictions = pd.DataFrame({"id": [row["id"] for row in used["dev"]], **columns})
    write_tsv(run_dir / "predictions.tsv", predictions)
    losses = read_tsv(run_dir / "steps.tsv")["loss"]
    result = {
        "task": task.name,
        "dataset": task.dataset,
        "metric": task.metrics[0],
        "scores": scores,
        "majority": task.majority(used["train"], used["dev"]),
        "rows": {split: len(used[split]) for split in SPLITS},
        "sampled": inputs.sampled,
        "data": inputs.described,
        "shuffled": inputs.are_shuffled,
        "epochs": len(losses) / batches,
        # The mean over the last epoch's worth of steps; null before the first.
        "loss": float(losses.tail(batches).mean()) if len(losses) else None,
    }
    write_json(run_dir / "scores.json", result)
    return result


def _build_recipe(inputs: Inputs, settings: TrainSettings, seed: int, model: nn.Module) -> dict:
    return {
        "task": inputs.settings,
        "settings": settings.result_settings(),
        "seed": seed,
        "rows": inputs.digest,
        "data": inputs.described,
        "start": weights_digest(model),
        "frozen": sorted(name for name, _ in _frozen_parameters(model)),
    }


def _digest_frozen(model: nn.Module) -> str:
    return parameters_digest(_frozen_parameters(model))


def _frozen_parameters(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return [
        (name, weight) for name, weight in model.named_parameters() if not weight.requires_grad
    ]
