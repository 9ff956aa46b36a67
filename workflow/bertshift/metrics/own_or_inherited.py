"""Does a head's attention change because of its own weights, or because its input has moved? A
control of ours.

Figure 5 of Kovaleva et al. 2019 and Figure 1 of Hao et al. 2020 mix the two. A layer's
attention A(W, x) follows from its weights W and its input x, the hidden states of the layer below;
in BERT (other families add rotations, biases or norms of their own) it is

    A(W, x) = softmax( (x W_Q + b_Q)(x W_K + b_K)' / sqrt(d_head) )

With W, x of the fine-tuned model and W0, x0 of its reference, each of these is compared with A(W0,
x0):

    total      A(W, x)
    own        A(W, x0)     the layer's weights are fine-tuned, its input is not
    inherited  A(W0, x)     its input is, its weights are not
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.activations.rerun import Rerun
from bertshift.activations.store import Maps
from bertshift.errors import UserError
from bertshift.metrics import cosine, jensen_shannon
from bertshift.metrics.pairs import Pair, check_same_heads, frame, head_rows, opened
from bertshift.models.loading import load_encoder

MEASURES = {
    "cosine_distance": lambda maps, before: 1 - cosine.per_map(maps, before),
    "js": jensen_shannon.per_map,
}


def compare(pairs: list[Pair], folders: Mapping[Path, Path]) -> pd.DataFrame:
    """Tabulate changes of attention, one row for each pair, layer, head (0: their mean), variant
    and `measure`.

    Variants are total, own and inherited; measures are cosine_distance, which is 1 - cosine, and
    js in nats. sd and n are over examples. folders: the model folder behind each activation file.
    Raises UserError where tokens, layers, heads or widths of a pair differ.
    """
    return frame(_rows(pairs, folders), extra=("measure",))


def _rows(pairs: list[Pair], folders: Mapping[Path, Path]) -> Iterator[dict]:
    for pair, model, reference in opened("own_or_inherited", pairs):
        check_same_heads("own_or_inherited", pair, model, reference)
        if model.width != reference.width:
            raise UserError(
                f"{pair.model} has states of {model.width} numbers, {pair.reference} of"
                f" {reference.width}: one's layers cannot read the other's input. Ask for rsa or"
                " svcca instead."
            )
        rerun = Rerun(load_encoder(folders[model.path]), model)
        reference_rerun = Rerun(load_encoder(folders[reference.path]), reference)
        for layer in range(1, model.layers + 1):
            after = model.attention(layer)
            before = reference.attention(layer)
            changes = {
                (variant, measure): np.empty((model.examples, after.heads))
                for variant in ("total", "own", "inherited")
                for measure in MEASURES
            }
            batches = zip(
                rerun(layer, reference.hidden(layer - 1), "maps"),
                reference_rerun(layer, model.hidden(layer - 1), "maps"),
                strict=True,
            )
            for (batch, _, own_maps), (_, _, inherited_maps) in batches:
                before_maps = _join_maps([before[example] for example in batch])
                maps = {
                    "total": _join_maps([after[example] for example in batch]),
                    "own": _join_maps(own_maps.cpu().numpy()),
                    "inherited": _join_maps(inherited_maps.cpu().numpy()),
                }
                for (variant, measure), values in changes.items():
                    values[batch] = MEASURES[measure](maps[variant], before_maps)
            for (variant, measure), values in changes.items():
                keys = {"layer": layer, "ref_layer": layer}
                keys |= {"variant": variant, "measure": measure}
                yield from head_rows(values, **pair.keys, **keys)


def _join_maps(maps: Sequence[np.ndarray]) -> Maps:
    """Join the maps of examples of one length, each [heads, length, length]."""
    flat = np.concatenate([example_maps.ravel() for example_maps in maps])
    lengths = np.full(len(maps), maps[0].shape[-1])
    return Maps(flat, np.append(0, np.cumsum(lengths**2)), lengths)
