"""Files, layers, tokens and columns that all comparisons of two models share."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np

from bertshift.activations.store import Activations, Maps
from bertshift.errors import UserError
from bertshift.rows import blocks
from bertshift.rows.provenance import compared
from bertshift.rows.table import Table

COLUMNS = ["variant", "layer", "ref_layer", "head", "value", "sd", "n"]

# Elements worked on at a time: a chunk and its temporaries stay in a core's cache.
CHUNK = 1 << 15


@dataclass(frozen=True)
class Pair:
    """Two activation files of the same stimuli; `keys` are the columns that identify them (model,
    reference, seed, ...)."""

    model: Path
    reference: Path
    keys: dict = field(default_factory=dict)

    @property
    def stimuli(self) -> str:
        return str(self.keys.get("stimuli", ""))


def metric_table(
    metric: str,
    compare: Callable[[list[Pair]], Table],
    settings: Mapping,
    inputs: Mapping[str, Sequence[str]],
) -> Table:
    """Run one metric over every stimulus and pair of replicates, and add its provenance to each
    row.

    `inputs` has files: `model` and `reference`, a folder of activations with one for each of
    settings["stimuli"], and the stimuli's `descriptions`; `scores` are a scores.json of every
    fine-tuning that led to either model, and `outcomes` are the scores.json of
    settings["trained"], the runs (model, init, seed) that end in a fine-tuning.
    """
    pairs = []
    for run, ref_run, keys in comparisons(metric, settings):
        model = Path(inputs["model"]) / keys["stimuli"] / f"{run}.npz"
        reference = Path(inputs["reference"]) / keys["stimuli"] / f"{ref_run}.npz"
        pairs.append(Pair(model, reference, keys))
    table = compare(pairs)
    return table.keep(compared(table.rows, settings, inputs))


def comparisons(metric: str, settings: Mapping) -> list[tuple[str, str, dict]]:
    """List (run, the reference's run, the columns that identify the two) of every stimulus and
    pair of replicates."""
    result = []
    for name in settings["stimuli"]:
        for (run, init, seed), (ref_run, ref_init, ref_seed) in settings["pairs"]:
            keys = {
                "metric": metric,
                "model": settings["model"],
                "reference": settings["reference"],
                "stimuli": name,
                "init": init,
                "seed": seed,
                "ref_init": ref_init,
                "ref_seed": ref_seed,
            }
            result.append((run, ref_run, keys))
    return result


def model_folders(settings: Mapping, inputs: Mapping[str, str]) -> dict[Path, Path]:
    """Map each activation file of a comparison to its model folder; settings["folders"] has those
    of both sides."""
    return {
        Path(inputs[side]) / name / f"{run}.npz": Path(folder)
        for side, runs in settings["folders"].items()
        for run, folder in runs.items()
        for name in settings["stimuli"]
    }


def opened(metric: str, pairs: list[Pair]) -> Iterator[tuple[Pair, Activations, Activations]]:
    """Open the pairs one after the other, with a line on stderr for each.

    UserError where the two files of a pair do not hold the same tokens.
    """
    for number, pair in enumerate(pairs, 1):
        print(
            f"{metric}: pair {number}/{len(pairs)}: {pair.model} vs {pair.reference}",
            file=sys.stderr,
            flush=True,
        )
        model = Activations(pair.model)
        reference = Activations(pair.reference)
        check_same_tokens(model, reference)
        yield pair, model, reference


def opened_by_reference(
    metric: str, pairs: list[Pair]
) -> Iterator[list[tuple[Pair, Activations, Activations]]]:
    """Open pairs in groups with one reference: seeds of one pretraining run, which follow one
    another. So what is calculated of a reference's layer serves all of them."""
    for _, group in groupby(opened(metric, pairs), lambda opening: opening[0].reference):
        yield list(group)


def check_same_tokens(model: Activations, reference: Activations) -> None:
    same_offsets = np.array_equal(model.offsets, reference.offsets)
    if not same_offsets or not np.array_equal(model.token_ids, reference.token_ids):
        raise UserError(
            f"{model.path} and {reference.path} do not hold the same tokens"
            f" ({len(model.token_ids)} and {len(reference.token_ids)}): models with different"
            " tokenizers, or files extracted with a different max_length, cannot be compared"
            " token by token. Name a reference with the model's own tokenizer."
        )


def matching_layer(layer: int, model: int, reference: int) -> int:
    """Return the reference's layer at the relative depth of a model's layer, given how many layers
    both have; the same layer where these are equal."""
    if layer == 0:
        return 0
    return (2 * layer * reference + model) // (2 * model)


def matched_layers(model: int, reference: int) -> list[tuple[int, int]]:
    """List (layer, reference's layer) for layers 0 to `model`, at equal relative depth."""
    return [(layer, matching_layer(layer, model, reference)) for layer in range(model + 1)]


def tell_undefined(metric: str, pair: Pair, layer: int, tokens: str = "tokens") -> None:
    """Report on stderr that a layer has no row because its states are all alike, like those of
    first tokens in the embeddings, and of all tokens after a training that collapsed."""
    print(
        f"{metric}: {tokens} do not differ in layer {layer}: {pair.model} vs {pair.reference}",
        file=sys.stderr,
        flush=True,
    )


def frame(rows: Iterable[dict], extra: tuple[str, ...] = ()) -> Table:
    """Build a table with the pairs' keys, COLUMNS and `extra`, and the values without each block
    from each row's `jackknife`, if any.

    UserError for no rows, as where every layer was left out, and for rows without a column.
    """
    table = Table.of_records(rows)
    if not len(table):
        raise UserError(
            "no layer can be measured, as its tokens are too few or do not differ; ask for more"
            " stimuli."
        )
    last = [*COLUMNS, *extra]
    for column in last:
        if column not in table:
            metric = table.rows.get("metric", ["of no name"])[0]
            raise UserError(
                f"the rows of metric '{metric}' have no '{column}'; let its module give each one."
            )
    first = [column for column in table.rows if column not in last]
    return table.keep(table.rows[first + last])


def token_blocks(
    offsets: np.ndarray, positions: np.ndarray, count: int | None = None
) -> list[slice]:
    """Find which of the tokens at these rising positions [n] belong to each block of examples,
    given where examples begin and end. count: blocks, if others than `blocks.block_of` takes."""
    lengths = np.diff(offsets)
    block_of_example = blocks.block_of(len(lengths), count)
    block_of_token = np.repeat(block_of_example, lengths)
    return blocks.slices(block_of_token[positions], block_of_example[-1] + 1)


def head_rows(
    per_map: np.ndarray, examples: int | None = None, present: np.ndarray | None = None, **keys
) -> Iterator[dict]:
    """Yield a row for head 0, the mean over heads taken example by example, and for each head.

    per_map: [n, heads]
    present: [n], which of all `examples` these n are; all in their order, if left out
    """
    n = len(per_map)
    columns = np.column_stack([per_map.mean(axis=1), per_map])
    block = blocks.block_of(examples or n)
    numbers = np.arange(block[-1] + 1)
    if present is not None:
        block = block[present]
    is_in_block = numbers[:, None] == block
    jackknife = blocks.left_out(columns.T @ is_in_block.T, is_in_block.sum(axis=1))
    means = columns.mean(axis=0)
    deviations = columns.std(axis=0, ddof=1) if n > 1 else np.nan * means
    for head, (mean, deviation) in enumerate(zip(means, deviations, strict=True)):
        yield keys | {
            "head": head,
            "value": float(mean),
            "sd": float(deviation),
            "n": n,
            "jackknife": jackknife[head],
        }


def check_same_heads(metric: str, pair: Pair, model: Activations, reference: Activations) -> None:
    """Raise UserError where the two models differ in layers or heads: maps are compared head by
    head."""
    heads = model.attention(1).heads
    ref_heads = reference.attention(1).heads
    if (model.layers, heads) != (reference.layers, ref_heads):
        raise UserError(
            f"{pair.model} has {model.layers} layers x {heads} heads and {pair.reference}"
            f" has {reference.layers} x {ref_heads}: {metric} compares head by head. Ask for rsa"
            " or svcca instead."
        )


def attention_maps(metric: str, pairs: list[Pair]) -> Iterator[tuple[dict, Maps, Maps]]:
    """Yield (keys, the model's maps, the reference's) for every pair and layer.

    UserError as `check_same_heads`.
    """
    for pair, model, reference in opened(metric, pairs):
        check_same_heads(metric, pair, model, reference)
        for layer in range(1, model.layers + 1):
            keys = pair.keys | {"layer": layer, "ref_layer": layer}
            yield keys, model.attention(layer), reference.attention(layer)


def map_sums(
    terms: Callable[[np.ndarray, np.ndarray], np.ndarray],
    x: np.ndarray,
    y: np.ndarray,
    sizes: np.ndarray,
) -> np.ndarray:
    """Sum elementwise terms over consecutive maps, chunk by chunk: [k, maps] float64.

    terms: a function of a and b, [elements] each, -> [k, elements] float64
    x, y: flat values of all maps
    sizes: [maps], values in each
    """
    ends = np.cumsum(sizes)
    starts = ends - sizes
    sums, first = [], 0
    while first < len(sizes):
        fitting = int(np.searchsorted(ends, starts[first] + CHUNK, side="right"))
        last = max(first + 1, fitting)
        start = starts[first]
        chunk = slice(start, ends[last - 1])
        chunk_terms = terms(x[chunk], y[chunk])
        sums.append(np.add.reduceat(chunk_terms, starts[first:last] - start, axis=1))
        first = last
    return np.concatenate(sums, axis=1)
