"""The shares of the classes among a model's attention maps (Kovaleva et al. 2019, figure 2), and
examples of them (1, 10)."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.files import BLOCKS
from bertshift.patterns.attention import Attended, attend
from bertshift.patterns.classes import CLASSES
from bertshift.patterns.classifier import PatternClassifier, load, probabilities
from bertshift.patterns.features import features, propose
from bertshift.patterns.quantification import corrected
from bertshift.patterns.scores import counts_by_input, summary
from bertshift.rows.blocks import block_of, padded
from bertshift.rows.table import Table, concat
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
) -> tuple[Table, pd.DataFrame]:
    """Tabulate shares (COLUMNS, and `scores.summary` of the classifier) and maps (MAP_COLUMNS) of
    every replicate {folder: (init, seed)}, over all layers and heads.

    Variants of metric "pattern_share": "classified", the classifier's answers, as published;
    "corrected" for its errors (`quantification.corrected`); "proposed", the rule alone, without a
    classifier. Values without each block of inputs are those of `share_rows`; n counts inputs,
    `maps` their maps. predictions: the labelled maps with their cross-validated answers, as
    `scores` takes them.

    Metric "pattern_map": variant "most_confident" has for each class the map to which the
    classifier gives it with the highest probability (`value`), even where another class has a
    higher one; "one_input" has all maps of one input drawn at random, of the first replicate.
    `weights` are those of `tokens`, query after query, with four decimals; `special` the positions
    of special tokens and of the first one.
    """
    net = load(classifier)
    generator = np.random.default_rng(seed_from("patterns input", task))
    shown = int(generator.integers(len(rows)))
    shares, maps = [], []
    for number, (folder, (init, seed)) in enumerate(runs.items()):
        print(f"patterns: {folder}: {len(rows)} inputs", file=sys.stderr, flush=True)
        run = {"model": model, "task": task, "init": init, "seed": seed}
        answers, proposals, run_maps = _classify_replicate(
            Path(folder), rows, max_length, net, shown if number == 0 else None
        )
        shares.append(share_rows(answers, proposals, predictions).assign(**run))
        maps += [run | row for row in run_maps]
    share_table = concat(shares)
    share_table = share_table.keep(share_table.rows[COLUMNS]).assign(**summary(predictions))
    map_table = pd.DataFrame(maps).assign(metric="pattern_map")[MAP_COLUMNS]
    return share_table, map_table


def _classify_replicate(
    folder: Path, rows: Sequence[dict], max_length: int, net: PatternClassifier, shown: int | None
) -> tuple[np.ndarray, np.ndarray, list[dict]]:
    """Count the maps of each input [inputs, classes] that the classifier puts in each class, and
    those that the rule puts there. Return also rows of maps to be drawn, among them all maps of
    the input `shown`."""
    answers = np.zeros((len(rows), len(CLASSES)))
    proposals = np.zeros_like(answers)
    most_confident: dict[int, dict] = {}
    one_input = []
    for attended in attend(folder, rows, max_length):
        number = attended.number
        maps = attended.maps.flatten(0, 1)
        likely = probabilities(net, maps)
        classes = likely.argmax(1)
        values = features(maps, attended.special, attended.segment)
        proposed = propose(values, len(attended.special), attended.causal)
        answers[number] = np.bincount(classes, minlength=len(CLASSES))
        proposals[number] = np.bincount(proposed, minlength=len(CLASSES))
        example = rows[number]["id"]
        for k, index in enumerate(likely.argmax(0)):
            value = likely[index, k]
            if k not in most_confident or value > most_confident[k]["value"]:
                row = _describe_map(CONFIDENT, attended, example, int(index), k, value)
                most_confident[k] = row
        if number == shown:
            one_input = [
                _describe_map(ONE_INPUT, attended, example, index, k, likely[index, k])
                for index, k in enumerate(classes)
            ]
    return answers, proposals, [*most_confident.values(), *one_input]


def _describe_map(
    variant: str, attended: Attended, example: str, index: int, k: int, value: float
) -> dict:
    """Describe the map with this index among those of all layers and heads, with the probability
    `value` of class k."""
    layer, head = divmod(index, attended.maps.shape[1])
    weights = attended.maps[layer, head].flatten().tolist()
    return {
        "variant": variant,
        "pattern": CLASSES[k],
        "value": value,
        "example": example,
        "layer": layer + 1,
        "head": head + 1,
        "length": len(attended.tokens),
        "tokens": " ".join(attended.tokens),
        "special": " ".join(map(str, np.flatnonzero(attended.special) + 1)),
        "weights": " ".join(f"{weight:.4f}" for weight in weights),
    }


def share_rows(answers: np.ndarray, proposals: np.ndarray, predictions: pd.DataFrame) -> Table:
    """Tabulate shares from answers, proposals [inputs, classes]: how many maps of each input are
    of each class.

    With a block of inputs a block of the labelled inputs is left out. The two samples are
    independent, so that the variances of both add up in the jackknife.
    """
    labelled = counts_by_input(predictions)
    blocks = min(BLOCKS, len(answers), len(labelled))
    is_used = _mark_used(len(answers), blocks)
    classified = _compute_shares(is_used, answers)
    proposed = _compute_shares(is_used, proposals)
    confusions = np.tensordot(_mark_used(len(labelled), blocks), labelled, axes=1)
    values = {
        "classified": classified,
        "corrected": np.array(
            [corrected(*pair) for pair in zip(classified, confusions, strict=True)]
        ),
        "proposed": proposed,
    }
    tables = []
    for variant, shares in values.items():
        columns = {
            "metric": "pattern_share",
            "variant": variant,
            "pattern": CLASSES,
            "value": shares[0],
            "n": len(answers),
            "maps": int(answers.sum()),
        }
        tables.append(Table.of(pd.DataFrame(columns), padded(shares[1:].T)))
    return concat(tables)


def _mark_used(inputs: int, blocks: int) -> np.ndarray:
    """Mark the inputs that count, [1 + blocks, inputs]: first all, then those outside each block.
    A single block is never left out, as nothing would remain."""
    numbers = np.arange(blocks if blocks > 1 else 0)
    is_outside = block_of(inputs, blocks) != numbers[:, None]
    return np.vstack([np.ones(inputs, bool), is_outside])


def _compute_shares(is_used: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Compute the share of the maps in each class, [1 + blocks, classes]: of all inputs, and
    without each block."""
    sums = is_used @ counts
    return sums / sums.sum(axis=1, keepdims=True)
