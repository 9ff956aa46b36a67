"""Distances between runs of one task, by each measure, and differences in behaviour (Ding et al.
2021; ReSi 2024).

For every two runs of a pretraining run: distances of hidden states and of attention, on the same
inputs,

    rsa          1 - RSA of content tokens
    cosine       1 - cosine of attention maps, mean over inputs and heads
    svcca, procrustes   of all tokens
    pwcca        of all tokens, mean of both sides' weights
    cka          of all tokens, debiased
    js           Jensen-Shannon divergence of attention in nats, mean over inputs, heads, queries

in the last layer and as the mean over layers 1 to the last; and differences in behaviour on the
development set,

    predictions  share of examples that are predicted otherwise; nothing for a regression
    score        absolute difference of headline scores
    outputs      Jensen-Shannon divergence of the classes' probabilities in nats, mean over
                 examples; for a regression, whose output is one number, the mean absolute
                 difference of outputs
"""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from bertshift.activations.sampling import is_special_or_first, sample_tokens, two_samples
from bertshift.activations.source import dump
from bertshift.activations.store import Activations
from bertshift.data.examples import sample
from bertshift.errors import UserError
from bertshift.metrics import cosine, jensen_shannon, similarity
from bertshift.metrics.hidden_states import CenteredStates, Comparison, Representation
from bertshift.metrics.pairs import frame, matching_layer
from bertshift.metrics.rsa import OwnSums, correlations, own_sums, similarity_rows
from bertshift.metrics.svcca import SHARE
from bertshift.models.heads import load_task_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.tasks.inference import best_device, predict_logits
from bertshift.tasks.loading import load_task

STATES = ("rsa", "svcca", "pwcca", "cka", "procrustes")
MEASURES = (*STATES, "js", "cosine")
EXTRA = ("summary", "predictions", "score", "outputs")


def ground(
    runs: Sequence[Mapping],
    behaviours: Mapping[str, "Behaviour"],
    inputs: Sequence[dict],
    stimuli: str,
    folder: Path,
    tokens: Mapping[str, int],
    max_length: int,
) -> pd.DataFrame:
    """Compare all runs of a task. One row a pair of runs of a pretraining run, measure (`variant`)
    and summary of layers (`summary`: last, mean).

    `value` is empty where a layer's tokens do not differ, which happens when a training collapsed.

    runs: {"model", "folder", "init", "seed"}
    behaviours: by a run's folder
    inputs: rows of id, text_a and perhaps text_b, cut to `max_length` pieces
    folder: holds the activations of one pretraining run's runs at a time, and is deleted
    tokens: how many RSA ("rsa") and the other measures of hidden states ("svcca") draw

    UserError for too few tokens.
    """
    rows = []
    for init in dict.fromkeys(run["init"] for run in runs):
        block = [run for run in runs if run["init"] == init]
        try:
            shutil.rmtree(folder, ignore_errors=True)  # from a job that was killed
            files = [Path(folder) / stimuli / f"{number}.npz" for number in range(len(block))]
            for run, file in zip(block, files, strict=True):
                dump(
                    Path(run["folder"]),
                    {file: inputs},
                    max_length,
                    attention=True,
                    precision="float32",
                )
            rows += _block_rows(block, files, behaviours, stimuli, tokens)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return frame(rows, extra=EXTRA).rows


def _block_rows(runs, files, behaviours, stimuli, tokens) -> Iterator[dict]:
    """Yield the rows of all pairs of runs of one pretraining run."""
    activations = [Activations(file) for file in files]
    for (a, b), layer_distances in distances(activations, stimuli, tokens).items():
        run = runs[a]
        reference = runs[b]
        keys = {
            "metric": "grounding",
            "model": run["model"],
            "reference": reference["model"],
            "stimuli": stimuli,
            "init": run["init"],
            "seed": run["seed"],
            "ref_init": reference["init"],
            "ref_seed": reference["seed"],
            "layer": activations[a].layers,
            "ref_layer": activations[b].layers,
            "head": 0,
            "sd": np.nan,
        }
        behaviour = differences(behaviours[run["folder"]], behaviours[reference["folder"]])
        for measure, values in layer_distances.items():
            for summary, value in (("last", values[-1]), ("mean", np.mean(values))):
                row = {"variant": measure, "summary": summary, "value": float(value)}
                yield keys | row | behaviour


class _Layer:
    """One layer of one run, and the numbers that its distances to all others need, computed once
    when first used."""

    def __init__(
        self, activations: Activations, layer: int, content: np.ndarray, drawn: np.ndarray
    ):
        self.activations = activations
        self.layer = layer
        self.content = content
        self.representation = Representation(CenteredStates(activations.hidden(layer), drawn))

    @property
    def varies(self) -> bool:
        return self.representation.states.varies

    @cached_property
    def k(self) -> int:
        return self.representation.principal().count_for(SHARE)

    @cached_property
    def unit_rows(self) -> np.ndarray:
        where = f"hidden layer {self.layer} in {self.activations.path}"
        return similarity_rows(self.activations.states(self.layer, self.content), where)

    @cached_property
    def own_sums(self) -> OwnSums:
        return own_sums(self.unit_rows)

    @cached_property
    def maps(self):
        return self.activations.attention(self.layer)


def distances(
    runs: Sequence[Activations], stimuli: str, tokens: Mapping[str, int]
) -> dict[tuple[int, int], dict[str, list[float]]]:
    """Measure the distance of each pair of `runs`, a < b, by each measure, in every layer from 1
    to the last; NaN where that is undefined.

    Tokens are those that RSA and SVCCA draw of the same stimuli. For models of two depths, the
    layers of the shallower model are compared with those at the same share of the deeper. A layer
    of a run is decomposed once for all pairs; memory holds one layer of every run. UserError where
    tokens are too few for SVCCA.
    """
    special = runs[0].special
    offsets = runs[0].offsets
    is_excluded = is_special_or_first(special, offsets)
    content = two_samples(is_excluded, tokens["rsa"], stimuli)["content"]
    drawn = sample_tokens(special, tokens["svcca"], "svcca", stimuli)
    width = max(run.width for run in runs)
    if len(drawn) - 1 <= width:
        raise UserError(
            f"{len(drawn)} tokens cannot be compared at width {width}: ask for more stimuli."
        )
    pairs = list(combinations(range(len(runs)), 2))
    result = {pair: {measure: [] for measure in MEASURES} for pair in pairs}
    for depth in range(1, max(run.layers for run in runs) + 1):
        print(f"grounding: layer {depth} of {len(pairs)} pairs", file=sys.stderr, flush=True)
        layers: dict[tuple[int, int], _Layer] = {}
        for pair in pairs:
            shallow, deep = sorted(pair, key=lambda number: runs[number].layers)
            if depth > runs[shallow].layers:
                continue
            deep_depth = matching_layer(depth, runs[shallow].layers, runs[deep].layers)
            x_key = (shallow, depth)
            y_key = (deep, deep_depth)
            for run, layer in (x_key, y_key):
                if (run, layer) not in layers:
                    layers[run, layer] = _Layer(runs[run], layer, content, drawn)
            for measure, value in layer_distances(layers[x_key], layers[y_key]).items():
                result[pair][measure].append(value)
    return result


def layer_distances(x: _Layer, y: _Layer) -> dict[str, float]:
    """Measure the distance of two layers by each of MEASURES."""
    rsa = correlations(x.unit_rows, y.unit_rows, x.own_sums, y.own_sums)
    return {
        "rsa": 1 - float(rsa[0]),
        **_state_distances(x, y),
        "js": float(jensen_shannon.per_map(x.maps, y.maps).mean()),
        "cosine": 1 - float(cosine.per_map(x.maps, y.maps).mean()),
    }


def _state_distances(x: _Layer, y: _Layer) -> dict[str, float]:
    if not (x.varies and y.varies):
        return dict.fromkeys(STATES[1:], np.nan)
    moments = Comparison(x.representation, y.representation).moments
    values = similarity.distances(moments, x.k, y.k)
    if "svcca99" not in values:
        raise UserError(
            f"{moments.tokens} tokens cannot tell {x.k} directions from {y.k}: ask for more"
            " stimuli."
        )
    return {
        "svcca": values["svcca99"],
        "pwcca": (values["pwcca_model"] + values["pwcca_reference"]) / 2,
        "cka": values["cka_debiased"],
        "procrustes": values["procrustes"],
    }


class Behaviour:
    """A run's behaviour on the development set: `outputs` [examples, classes] probabilities, or
    [examples] numbers of a regression, in float64; and its headline `score`."""

    def __init__(self, outputs: np.ndarray, score: float):
        self.outputs = np.asarray(outputs, np.float64)
        self.score = score


def behaviour(
    task: Mapping, folder: Path, rows: Sequence[dict], sidecar: Mapping, scores: Mapping
) -> Behaviour:
    """Run the fine-tuned model in `folder` on the examples that it was scored on; `scores` is its
    scores.json.

    One forward pass: predictions.tsv has no probabilities, and runs that are finished need not be
    trained again for them.
    """
    loaded_task = load_task(task, sidecar)
    examples = sample(rows, task.get("max_dev"), task["dataset"], "dev")
    model = load_task_model(folder).to(best_device())
    tokenizer = load_tokenizer(folder)
    encoded = loaded_task.encode(examples, tokenizer)
    logits = torch.stack(predict_logits(model, encoded, tokenizer.pad_token_id)).double()
    is_regression = loaded_task.labels is None
    outputs = logits[:, 0] if is_regression else logits.softmax(1)
    return Behaviour(outputs.numpy(), scores["scores"][scores["metric"]])


def differences(run: Behaviour, reference: Behaviour) -> dict[str, float]:
    """Measure how differently two runs behave on the same examples: `predictions`, `score` and
    `outputs`; n counts the examples."""
    p = run.outputs
    q = reference.outputs
    if p.ndim == 1:
        predictions = np.nan
        outputs = np.abs(p - q).mean()
    else:
        predictions = np.mean(p.argmax(1) != q.argmax(1))
        divergence = jensen_shannon.terms(p.ravel(), q.ravel()).sum() / (2 * len(p))
        outputs = max(divergence, 0)
    return {
        "predictions": float(predictions),
        "score": abs(run.score - reference.score),
        "outputs": float(outputs),
        "n": len(p),
    }
