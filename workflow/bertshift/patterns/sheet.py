"""Maps to be labelled: a sample from fine-tuned models, stratified by task and layer, with
proposed classes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.files import atomic
from bertshift.patterns.attention import Attended, attend
from bertshift.patterns.classes import CLASSES, FEATURES, PLACE
from bertshift.patterns.features import features, propose
from bertshift.seeds import seed_from

COLUMNS = ["map", "page", "task", *PLACE, "length", *FEATURES, "proposed", "label", "source"]
PER_PAGE = 40
TABLE, MAPS = "maps.tsv", "maps.npz"


def choose(
    models: Mapping[str, Mapping], rows: Mapping[str, Sequence[dict]], count: int
) -> pd.DataFrame:
    """Choose `count` maps, as equally from each layer of each model as can be, of inputs and heads
    drawn at random.

    models: {name: {"task", "layers", "heads", "runs": {folder: (init, seed)}}}, whose replicates
    take turns; rows: the inputs of each. The maps are in random order, so that neighbours on a
    page have nothing in common. `row` and `folder` say where the input and the model are.
    """
    strata = [
        (name, layer) for name, model in models.items() for layer in range(1, model["layers"] + 1)
    ]
    quota = np.full(len(strata), count // len(strata))
    generator = np.random.default_rng(seed_from("patterns sheet"))
    quota[generator.permutation(len(strata))[: count % len(strata)]] += 1
    chosen = []
    for (name, layer), number in zip(strata, quota, strict=True):
        own = np.random.default_rng(seed_from("patterns sheet", name, layer))
        available, runs = len(rows[name]), list(models[name]["runs"].items())
        examples = own.choice(available, number, replace=number > available)
        heads = own.integers(1, models[name]["heads"] + 1, number)
        first = own.integers(len(runs))
        for turn, (row, head) in enumerate(zip(examples.tolist(), heads.tolist(), strict=True)):
            folder, (init, seed) = runs[(first + turn) % len(runs)]
            chosen.append(
                {
                    "task": models[name]["task"],
                    "model": name,
                    "init": init,
                    "seed": seed,
                    "example": str(rows[name][row]["id"]),
                    "layer": layer,
                    "head": head,
                    "row": row,
                    "folder": folder,
                }
            )
    mixed = pd.DataFrame(chosen).iloc[generator.permutation(len(chosen))].reset_index(drop=True)
    number = np.arange(len(mixed))
    return mixed.assign(map=1 + number, page=1 + number // PER_PAGE)


def measure(
    chosen: pd.DataFrame, rows: Mapping[str, Sequence[dict]], max_length: int
) -> tuple[pd.DataFrame, list[np.ndarray], list[np.ndarray]]:
    """Measure the maps chosen: (COLUMNS, the maps [L, L] float32, positions of their special
    tokens).

    Each has its proposed class as its label, of source `proposed`, until a person corrects it.
    """
    found = {}
    for (name, folder), group in chosen.groupby(["model", "folder"], sort=False):
        numbers = group["row"].unique().tolist()
        for one in attend(Path(folder), [rows[name][number] for number in numbers], max_length):
            for place in group[group["row"] == numbers[one.number]].itertuples():
                found[place.map] = _of(one, place.layer, place.head)
    lengths, causal, values, maps, special = zip(
        *(found[number] for number in chosen["map"]), strict=True
    )
    table = chosen.assign(length=lengths, **dict(zip(FEATURES, np.array(values).T, strict=True)))
    proposed = np.array(CLASSES)[propose(np.array(values), np.array(lengths), np.array(causal))]
    return (
        table.assign(proposed=proposed, label=proposed, source="proposed")[COLUMNS],
        list(maps),
        list(special),
    )


def _of(
    one: Attended, layer: int, head: int
) -> tuple[int, bool, np.ndarray, np.ndarray, np.ndarray]:
    # A copy: a view would keep all maps of the batch in memory.
    weights = one.maps[layer - 1, head - 1].cpu().numpy().copy()
    values = features(one.maps[layer - 1, head - 1], one.special, one.segment)
    return len(one.special), one.causal, values, weights, np.flatnonzero(one.special)


def write_maps(path: Path, maps: Sequence[np.ndarray]) -> None:
    lengths = np.array([len(weights) for weights in maps])
    with atomic(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, flat=np.concatenate([weights.ravel() for weights in maps]), lengths=lengths)


def read_maps(path: Path) -> list[np.ndarray]:
    with np.load(path) as stored:
        ends = np.cumsum(stored["lengths"] ** 2)
        parts = np.split(stored["flat"], ends[:-1])
        return [part.reshape(n, n) for part, n in zip(parts, stored["lengths"], strict=True)]
