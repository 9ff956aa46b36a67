"""Which classes a model's attention maps belong to (Kovaleva et al. 2019, figure 2), and examples
of them (1, 10)."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.patterns.attention import Attended, attend
from bertshift.patterns.classes import CLASSES
from bertshift.patterns.classifier import PatternClassifier, load, probabilities
from bertshift.patterns.features import features, propose
from bertshift.patterns.quantification import corrected
from bertshift.patterns.scores import counts_by_input, summary
from bertshift.rows.blocks import JACKKNIFE_COLUMNS, block_of, in_columns
from bertshift.seeds import seed_from

COLUMNS = ["metric", "model", "task", "init", "seed", "variant", "pattern", "value", "n", "maps"]
MAP_COLUMNS = [
    "metric",
    "model",
    "task",
    "init",
    "seed",
    "variant",
    "pattern",
    "layer",
    "head",
    "value",
    "example",
    "length",
    "tokens",
    "special",
    "weights",
]
CONFIDENT, ONE_INPUT = "most_confident", "one_input"


def measure(
    model: str,
    task: str,
    runs: Mapping[str, tuple[int, int]],
    rows: Sequence[dict],
    max_length: int,
    classifier: Path,
    predictions: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate shares (COLUMNS, and `scores.summary` of the classifier) and maps (MAP_COLUMNS) of
    every replicate {folder: (init, seed)}, over all layers and heads.

    Variants of metric "pattern_share": "classified", the classifier's answers, as published;
    "corrected" for its errors (`quantification.corrected`); "proposed", the rule alone, without a
    classifier. The columns blocks.JACKKNIFE_COLUMNS have the same without each block of inputs
    (see `share_rows`); n counts inputs, `maps` their maps. predictions: the labelled maps with
    their cross-validated answers, as `scores` takes them.

    Metric "pattern_map": variant "most_confident", of each class the map to which the classifier
    gives it with the highest probability (`value`), be it less than another's; "one_input", of the
    first replicate, all maps of one input drawn at random. `weights` are those of `tokens`, query
    after query, with four decimals; `special` the positions of special tokens and of the first
    one.
    """
    net = load(classifier)
    shown = int(np.random.default_rng(seed_from("patterns input", task)).integers(len(rows)))
    shares, maps = [], []
    for number, (folder, (init, seed)) in enumerate(runs.items()):
        print(f"patterns: {folder}: {len(rows)} inputs", file=sys.stderr, flush=True)
        run = {"model": model, "task": task, "init": init, "seed": seed}
        answers, proposals, kept = _replicate(
            Path(folder), rows, max_length, net, shown if number == 0 else None
        )
        shares.append(share_rows(answers, proposals, predictions).assign(**run))
        maps += [run | row for row in kept]
    table = pd.concat(shares, ignore_index=True).assign(metric="pattern_share")[
        [*COLUMNS, *JACKKNIFE_COLUMNS]
    ]
    return (
        table.assign(**summary(predictions)),
        pd.DataFrame(maps).assign(metric="pattern_map")[MAP_COLUMNS],
    )


def _replicate(
    folder: Path, rows: Sequence[dict], max_length: int, net: PatternClassifier, shown: int | None
) -> tuple[np.ndarray, np.ndarray, list[dict]]:
    """Count the maps of each input [inputs, classes] that the classifier puts in each class, and
    those that the rule does. Return also maps to be drawn, among them all of the input `shown`."""
    answers, proposals = (np.zeros((len(rows), len(CLASSES))) for _ in range(2))
    surest, whole = {}, []
    for one in attend(folder, rows, max_length):
        flat = one.maps.flatten(0, 1)
        likely = probabilities(net, flat)
        said = likely.argmax(1)
        proposed = propose(features(flat, one.special, one.segment), len(one.special), one.causal)
        for counts, classes in ((answers, said), (proposals, proposed)):
            counts[one.number] = np.bincount(classes, minlength=len(CLASSES))
        example = rows[one.number]["id"]
        for k, place in enumerate(likely.argmax(0).tolist()):
            if k not in surest or likely[place, k] > surest[k]["value"]:
                surest[k] = _map(CONFIDENT, one, example, place, k, likely)
        if one.number == shown:
            whole = [
                _map(ONE_INPUT, one, example, place, k, likely) for place, k in enumerate(said)
            ]
    return answers, proposals, [*surest.values(), *whole]


def _map(
    variant: str, one: Attended, example: str, place: int, k: int, likely: np.ndarray
) -> dict:
    layer, head = divmod(place, one.maps.shape[1])
    weights = one.maps[layer, head].flatten().tolist()
    return {
        "variant": variant,
        "pattern": CLASSES[k],
        "layer": layer + 1,
        "head": head + 1,
        "value": likely[place, k],
        "example": example,
        "length": len(one.tokens),
        "tokens": " ".join(one.tokens),
        "special": " ".join(map(str, np.flatnonzero(one.special) + 1)),
        "weights": " ".join(f"{w:.4f}" for w in weights),
    }


def share_rows(
    answers: np.ndarray, proposals: np.ndarray, predictions: pd.DataFrame
) -> pd.DataFrame:
    """Tabulate shares from answers, proposals [inputs, classes]: how many maps of each input are
    of each class.

    With a block of inputs a block of the labelled inputs is left out. One sample has nothing to do
    with the other, so that the variances of both add up in the jackknife.
    """
    labelled = counts_by_input(predictions)
    blocks = min(block_of(len(one))[-1] + 1 for one in (answers, labelled))
    counted, counted_labelled = (
        _with_each_left_out(len(one), blocks) for one in (answers, labelled)
    )
    classified, proposed = (_shares(counted, counts) for counts in (answers, proposals))
    confusions = np.tensordot(counted_labelled, labelled, axes=1)
    values = {
        "classified": classified,
        "corrected": np.array(
            [corrected(*each) for each in zip(classified, confusions, strict=True)]
        ),
        "proposed": proposed,
    }
    rows = [
        {
            "variant": variant,
            "pattern": pattern,
            "value": shares[0, k],
            "n": len(answers),
            "maps": int(answers.sum()),
        }
        for variant, shares in values.items()
        for k, pattern in enumerate(CLASSES)
    ]
    rests = np.concatenate([shares[1:].T for shares in values.values()])
    return pd.concat([pd.DataFrame(rows), in_columns(rests)], axis=1)


def _with_each_left_out(inputs: int, blocks: int) -> np.ndarray:
    """Tell whether an input counts, [1 + blocks, inputs]: first all do, then those outside each
    block. A single block is never left out, as it is all there is."""
    rests = block_of(inputs, blocks) != np.arange(blocks if blocks > 1 else 0)[:, None]
    return np.vstack([np.ones(inputs, bool), rests])


def _shares(counted: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Compute the share of the maps in each class, [1 + blocks, classes]: of all inputs, and
    without each block."""
    sums = counted @ counts
    return sums / sums.sum(axis=1, keepdims=True)
