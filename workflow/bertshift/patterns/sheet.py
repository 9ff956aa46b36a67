"""Maps to be labelled: a sample from fine-tuned models, stratified by task and layer, with
proposed classes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertshift.patterns.attention import Attended, attend
from bertshift.patterns.classes import CLASSES, FEATURES, PLACE, PROPOSED
from bertshift.patterns.features import features, propose
from bertshift.seeds import seed_from

COLUMNS = ["map", "page", "task", *PLACE, "length", *FEATURES, "proposed", "label", "source"]
PER_PAGE = 40


def choose(
    models: Mapping[str, Mapping], rows: Mapping[str, Sequence[dict]], count: int
) -> pd.DataFrame:
    """Choose `count` maps, as equally from each layer of each model as can be, of inputs and heads
    drawn at random.

    The maps are in random order, so that neighbours on a page have nothing in common. `row` is the
    number of the input, `folder` the model's folder.

    models: {name: {"task", "layers", "heads", "runs": {folder: (init, seed)}}}, whose replicates
        take turns
    rows: the inputs of each
    """
    strata = [
        (name, layer) for name, model in models.items() for layer in range(1, model["layers"] + 1)
    ]
    quota = np.full(len(strata), count // len(strata))
    generator = np.random.default_rng(seed_from("patterns sheet"))
    larger = generator.permutation(len(strata))[: count % len(strata)]
    quota[larger] += 1
    chosen = []
    for (name, layer), number in zip(strata, quota, strict=True):
        model = models[name]
        inputs = rows[name]
        runs = list(model["runs"].items())
        stratum_generator = np.random.default_rng(seed_from("patterns sheet", name, layer))
        drawn = stratum_generator.choice(len(inputs), number, replace=number > len(inputs))
        heads = stratum_generator.integers(1, model["heads"] + 1, number)
        first = stratum_generator.integers(len(runs))
        for turn, (row, head) in enumerate(zip(drawn.tolist(), heads.tolist(), strict=True)):
            folder, (init, seed) = runs[(first + turn) % len(runs)]
            chosen.append(
                {
                    "task": model["task"],
                    "model": name,
                    "init": init,
                    "seed": seed,
                    "example": str(inputs[row]["id"]),
                    "layer": layer,
                    "head": head,
                    "row": row,
                    "folder": folder,
                }
            )
    order = generator.permutation(len(chosen))
    table = pd.DataFrame(chosen).iloc[order].reset_index(drop=True)
    number = np.arange(len(table))
    return table.assign(map=1 + number, page=1 + number // PER_PAGE)


def measure(
    chosen: pd.DataFrame, rows: Mapping[str, Sequence[dict]], max_length: int
) -> tuple[pd.DataFrame, list[np.ndarray], list[np.ndarray]]:
    """Measure the maps chosen: (COLUMNS, the maps [L, L] float32, whether each of their tokens [L]
    is special).

    Each has its proposed class as its label, of source `proposed`, until a person corrects it.
    """
    measured = {}
    for (name, folder), group in chosen.groupby(["model", "folder"], sort=False):
        numbers = group["row"].unique().tolist()
        inputs = [rows[name][number] for number in numbers]
        for attended in attend(Path(folder), inputs, max_length):
            is_of_input = group["row"] == numbers[attended.number]
            for row in group[is_of_input].to_dict("records"):
                measured[row["map"]] = _measure_map(attended, row["layer"], row["head"])
    in_order = [measured[number] for number in chosen["map"]]
    lengths = np.array([len(one_map.weights) for one_map in in_order])
    causal = np.array([one_map.causal for one_map in in_order])
    values = np.array([one_map.features for one_map in in_order])
    proposed = np.array(CLASSES)[propose(values, lengths, causal)]
    table = chosen.assign(
        length=lengths,
        **dict(zip(FEATURES, values.T, strict=True)),
        proposed=proposed,
        label=proposed,
        source=PROPOSED,
    )
    maps = [one_map.weights for one_map in in_order]
    special = [one_map.special for one_map in in_order]
    return table[COLUMNS], maps, special


class _MeasuredMap(NamedTuple):
    """One map [L, L], its features, and whether each token [L] is special."""

    weights: np.ndarray
    features: np.ndarray
    special: np.ndarray
    causal: bool


def _measure_map(attended: Attended, layer: int, head: int) -> _MeasuredMap:
    weights = attended.maps[layer - 1, head - 1]
    values = features(weights, attended.special, attended.segment)
    # A copy: a view would keep all maps of the batch in memory.
    return _MeasuredMap(weights.cpu().numpy().copy(), values, attended.special, attended.causal)
