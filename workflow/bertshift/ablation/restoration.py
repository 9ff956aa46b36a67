"""Each layer of a fine-tuned model restored in turn: how far its output moves, and its scores.

Hao et al. 2020, Figure 3: the SVCCA distance of the last hidden states between the fine-tuned
model and the same model with one layer's weights as they were before fine-tuning.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.ablation.predictions import predict_ablations
from bertshift.ablation.resuming import ResumingEncoder
from bertshift.activations.extract import encode, equal_lengths, model_inputs, token_positions
from bertshift.activations.sampling import sample_tokens
from bertshift.data.examples import sample
from bertshift.errors import UserError
from bertshift.metrics import svcca
from bertshift.metrics.hidden_states import CenteredStates, Comparison, Representation
from bertshift.metrics.pairs import token_blocks
from bertshift.models.attention import editable
from bertshift.models.heads import load_task_model
from bertshift.models.loading import load_encoder
from bertshift.models.restore import Restored, every_restoration
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows.blocks import outside
from bertshift.rows.table import Table, concat
from bertshift.tasks.inference import best_device
from bertshift.tasks.loading import Task, load_task

KINDS = ("classification", "regression", "spans")


def restore(
    task: Mapping,
    runs: Sequence[Mapping],
    rows: Sequence[dict],
    sidecar: Mapping,
    inputs: Sequence[dict],
    tokens: int | None,
    max_length: int,
    max_dev: int | None = None,
) -> Table:
    """Tabulate `movement` and `scores` for every run {folder, parent, init, seed, ref_init,
    ref_seed} of a model.

    `task` is an entry of the configuration's tasks with its name; it is scored on at most
    `max_dev` of `rows`. The last hidden states are those of `inputs`: rows of id, text_a and
    perhaps text_b, cut to `max_length` pieces. UserError for a task that cannot be scored on such
    a sample.
    """
    if task["kind"] not in KINDS:
        raise UserError(
            f"tasks.{task['name']}: layers are restored in models of {', '.join(KINDS)}, not of"
            f" {task['kind']}."
        )
    loaded_task = load_task(task, sidecar)
    limits = [size for size in (task.get("max_dev"), max_dev) if size is not None]
    used = sample(rows, min(limits, default=None), task["dataset"], "dev")
    tables = []
    for number, run in enumerate(runs, 1):
        print(f"restored: run {number}/{len(runs)}: {run['folder']}", file=sys.stderr, flush=True)
        model = load_task_model(Path(run["folder"])).to(best_device())
        tokenizer = load_tokenizer(Path(run["folder"]))
        restorations = every_restoration(
            model.encoder, load_encoder(Path(run["parent"])).to(best_device())
        )
        index = encode(tokenizer, inputs, max_length)
        records = [
            *movement(model.encoder, restorations, index, tokens, task["name"]),
            *scores(loaded_task, model, restorations, used, tokenizer),
        ]
        keys = {key: run[key] for key in ("init", "seed", "ref_init", "ref_seed")}
        tables.append(Table.of_records(records).assign(**keys))
    return concat(tables)


def movement(
    encoder: PreTrainedModel,
    restorations: Sequence[Restored],
    index: Mapping[str, np.ndarray],
    tokens: int | None,
    stimuli: str,
) -> Iterator[dict]:
    """Yield rows of metric `restored`, one for each layer and variant of `svcca.distances`; n
    counts tokens.

    k_model belongs to the unchanged model, k_reference to the edited one. A layer's input is
    calculated once, and memory holds one layer's.

    index: the result of `extract.encode`
    tokens: how many tokens of the index are drawn, the same as for the metric `svcca` on these
        stimuli
    """
    offsets = index["example_offsets"]
    positions = sample_tokens(index["special"], tokens, "svcca", stimuli)
    blocks = token_blocks(offsets, positions)
    batches = []
    for examples in equal_lengths(np.diff(offsets)):
        token_rows = token_positions(offsets, examples)
        ids, segments = index["token_ids"][token_rows], index["segment"][token_rows]
        inputs = model_inputs(encoder.device, input_ids=ids, token_type_ids=segments)
        batches.append((token_rows, inputs))
    resuming = ResumingEncoder(encoder)

    def represent() -> Representation:
        return Representation(CenteredStates(_last_states(resuming, batches), positions, blocks))

    with editable(encoder):
        unchanged = represent()
        for restored in restorations:
            while resuming.layer < restored.layer:
                resuming.advance()
            resuming.ablation = restored
            for row in svcca.rows_of_comparison(Comparison(unchanged, represent())):
                headline = row["variant"] == svcca.HEADLINE
                yield {"metric": "restored", "headline": headline, "layer": restored.layer} | row


@torch.inference_mode()
def _last_states(
    encoder: ResumingEncoder, batches: Sequence[tuple[np.ndarray, dict]]
) -> np.ndarray:
    """Compute the last layer's states [N, d], float32, in the order of the tokens."""
    tokens = sum(token_rows.size for token_rows, _ in batches)
    states = np.empty((tokens, encoder.config.hidden_size), np.float32)
    for token_rows, inputs in batches:
        states[token_rows] = encoder(**inputs).last_layer.cpu().numpy()
    return states


def scores(
    task: Task,
    model: nn.Module,
    restorations: Sequence[Restored],
    rows: Sequence[dict],
    tokenizer: PreTrainedTokenizerBase,
) -> Iterator[dict]:
    """Yield rows of metric `restored_score`: variants are task scores, layer 0 is the unchanged
    model; n counts rows."""
    predictions = {0: task.predict(model, rows, tokenizer)}
    restored = predict_ablations(task, model, rows, tokenizer, restorations)
    for restoration, answers in restored.items():
        predictions[restoration.layer] = answers
    for layer, answers in predictions.items():
        without = [
            task.score([rows[i] for i in rest], [answers[i] for i in rest])
            for rest in outside(len(rows))
        ]
        for name, value in task.score(rows, answers).items():
            yield {
                "metric": "restored_score",
                "variant": name,
                "headline": name == task.metrics[0],
                "layer": layer,
                "value": value,
                "n": len(rows),
                "jackknife": [scores.get(name, np.nan) for scores in without],
            }
