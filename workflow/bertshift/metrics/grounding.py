"""How far apart runs of one task are, by each measure, and how differently they behave (Ding et
al. 2021; ReSi 2024).

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
                 difference of outputs, which takes the place of both
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
    behaving: Mapping[str, "Behaviour"],
    inputs: Sequence[dict],
    stimuli: str,
    folder: Path,
    tokens: Mapping[str, int],
    max_length: int,
) -> pd.DataFrame:
    """Compare all runs of a task. One row a pair of runs of a pretraining run, measure (`variant`)
    and summary of layers (`summary`: last, mean).

    runs: {"model", "folder", "init", "seed"}; behaving: by a run's folder; inputs: rows of id,
    text_a and perhaps text_b, cut to `max_length` pieces; tokens: how many RSA ("rsa") and the
    other measures of hidden states ("svcca") draw. `folder` holds the activations of one
    pretraining run's runs at a time, and is deleted. `value` is empty where a layer's tokens do
    not differ, as after a training that collapsed. UserError for too few tokens.
    """
    rows = []
    for init in dict.fromkeys(run["init"] for run in runs):
        block = [run for run in runs if run["init"] == init]
        try:
            shutil.rmtree(folder, ignore_errors=True)  # what a killed job left
            files = [Path(folder) / stimuli / f"{number}.npz" for number in range(len(block))]
            for run, file in zip(block, files, strict=True):
                dump(
                    Path(run["folder"]),
                    {file: inputs},
                    max_length,
                    attention=True,
                    precision="float32",
                )
            rows += _rows(block, files, behaving, stimuli, tokens)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return frame(rows, extra=EXTRA)


def _rows(block, files, behaving, stimuli, tokens) -> Iterator[dict]:
    opened = [Activations(file) for file in files]
    for (a, b), found in distances(opened, stimuli, tokens).items():
        one, other = (block[each] for each in (a, b))
        keys = {
            "metric": "grounding",
            "model": one["model"],
            "reference": other["model"],
            "stimuli": stimuli,
            "init": one["init"],
            "seed": one["seed"],
            "ref_init": other["init"],
            "ref_seed": other["seed"],
            "layer": opened[a].layers,
            "ref_layer": opened[b].layers,
            "head": 0,
            "sd": np.nan,
        }
        behaviour = differences(*(behaving[run["folder"]] for run in (one, other)))
        for measure, by_layer in found.items():
            for summary, value in (("last", by_layer[-1]), ("mean", np.mean(by_layer))):
                yield (
                    keys
                    | {"variant": measure, "summary": summary, "value": float(value)}
                    | behaviour
                )


class _Layer:
    """One layer of one run, with what the distances to all others need of it, computed when it is
    asked for."""

    def __init__(
        self, activations: Activations, layer: int, content: np.ndarray, drawn: np.ndarray
    ):
        self.activations, self.layer, self.content = activations, layer, content
        self.representation = Representation(CenteredStates(activations.hidden(layer), drawn))

    @property
    def varies(self) -> bool:
        return self.representation.states.varies

    @cached_property
    def kept(self) -> int:
        return self.representation.principal().kept(SHARE)

    @cached_property
    def unit(self) -> np.ndarray:
        where = f"hidden layer {self.layer} in {self.activations.path}"
        return similarity_rows(self.activations.states(self.layer, self.content), where)

    @cached_property
    def own_sums(self) -> OwnSums:
        return own_sums(self.unit)

    @cached_property
    def maps(self):
        return self.activations.attention(self.layer)


def distances(
    runs: Sequence[Activations], stimuli: str, tokens: Mapping[str, int]
) -> dict[tuple[int, int], dict[str, list[float]]]:
    """Measure how far each pair of `runs`, a < b, is apart by each measure, in every layer from 1
    to the last; NaN where that is undefined.

    Tokens are those that RSA and SVCCA draw of the same stimuli. Of two depths the layers of the
    shallower model are compared with those at the same share of the deeper. A layer of a run is
    decomposed once for all pairs; memory holds one layer of every run. Raises UserError where
    tokens are too few for SVCCA.
    """
    special, offsets = runs[0].special, runs[0].offsets
    content = two_samples(is_special_or_first(special, offsets), tokens["rsa"], stimuli)["content"]
    drawn = sample_tokens(special, tokens["svcca"], "svcca", stimuli)
    width = max(run.width for run in runs)
    if len(drawn) - 1 <= width:
        raise UserError(
            f"{len(drawn)} tokens cannot be compared at width {width}: ask for more stimuli."
        )
    pairs = list(combinations(range(len(runs)), 2))
    found = {pair: {measure: [] for measure in MEASURES} for pair in pairs}
    for depth in range(1, max(run.layers for run in runs) + 1):
        print(f"grounding: layer {depth} of {len(pairs)} pairs", file=sys.stderr, flush=True)
        known: dict[tuple[int, int], _Layer] = {}
        for pair in pairs:
            shallow, deep = sorted(pair, key=lambda number: runs[number].layers)
            if depth > runs[shallow].layers:
                continue
            other = matching_layer(depth, runs[shallow].layers, runs[deep].layers)
            for run, layer in ((shallow, depth), (deep, other)):
                if (run, layer) not in known:
                    known[run, layer] = _Layer(runs[run], layer, content, drawn)
            for measure, value in between(known[shallow, depth], known[deep, other]).items():
                found[pair][measure].append(value)
    return found


def between(x: _Layer, y: _Layer) -> dict[str, float]:
    """Measure the distance of two layers by each of MEASURES."""
    rsa = correlations(x.unit, y.unit, x.own_sums, y.own_sums)
    return {
        "rsa": 1 - float(rsa[0]),
        **_of_states(x, y),
        "js": float(jensen_shannon.per_map(x.maps, y.maps).mean()),
        "cosine": 1 - float(cosine.per_map(x.maps, y.maps).mean()),
    }


def _of_states(x: _Layer, y: _Layer) -> dict[str, float]:
    if not (x.varies and y.varies):
        return dict.fromkeys(STATES[1:], np.nan)
    moments = Comparison(x.representation, y.representation).moments
    found = similarity.distances(moments, x.kept, y.kept)
    if "svcca99" not in found:
        raise UserError(
            f"{moments.tokens} tokens cannot tell {x.kept} directions from {y.kept}: ask for more"
            " stimuli."
        )
    return {
        "svcca": found["svcca99"],
        "pwcca": (found["pwcca_model"] + found["pwcca_reference"]) / 2,
        "cka": found["cka_debiased"],
        "procrustes": found["procrustes"],
    }


class Behaviour:
    """A run's behaviour on the development set: `outputs` [examples, classes] probabilities, or
    [examples] numbers of a regression, in float64; and its headline `score`."""

    def __init__(self, outputs: np.ndarray, score: float):
        self.outputs, self.score = np.asarray(outputs, np.float64), score


def behaviour(
    task: Mapping, folder: Path, rows: Sequence[dict], sidecar: Mapping, scores: Mapping
) -> Behaviour:
    """Run the fine-tuned model in `folder` on the examples that it was scored on; `scores` is its
    scores.json.

    One forward pass: predictions.tsv has no probabilities, and runs that are finished need not be
    trained again for them.
    """
    the_task = load_task(task, sidecar)
    used = sample(rows, task.get("max_dev"), task["dataset"], "dev")
    model, tokenizer = load_task_model(folder).to(best_device()), load_tokenizer(folder)
    logits = predict_logits(model, the_task.encode(used, tokenizer), tokenizer.pad_token_id)
    logits = torch.stack(logits).double()
    outputs = logits[:, 0] if the_task.labels is None else logits.softmax(1)
    return Behaviour(outputs.numpy(), scores["scores"][scores["metric"]])


def differences(one: Behaviour, other: Behaviour) -> dict[str, float]:
    """Measure how differently two runs behave on the same examples: `predictions`, `score` and
    `outputs`; n counts the examples."""
    p, q = one.outputs, other.outputs
    if p.ndim == 1:
        predictions, outputs = np.nan, np.abs(p - q).mean()
    else:
        predictions = np.mean(p.argmax(1) != q.argmax(1))
        outputs = max(jensen_shannon.terms(p.ravel(), q.ravel()).sum() / (2 * len(p)), 0)
    return {
        "predictions": float(predictions),
        "score": abs(one.score - other.score),
        "outputs": float(outputs),
        "n": len(p),
    }
