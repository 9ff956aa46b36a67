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

The same runs of single layers give the layers' hidden states, which `made` compares.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from bertshift.activations.rerun import Rerun, RerunBatch
from bertshift.activations.store import Activations, Maps
from bertshift.metrics import cosine, jensen_shannon, made
from bertshift.metrics.pairs import Pair, check_same_heads, frame, head_rows, opened
from bertshift.models.loading import load_encoder
from bertshift.rows.table import Table

MEASURES = {
    "cosine_distance": lambda maps, before: 1 - cosine.per_map(maps, before),
    "js": jensen_shannon.per_map,
}
TOTAL, OWN, INHERITED = "total", "own", "inherited"


def compare(pairs: list[Pair], folders: Mapping[Path, Path]) -> Table:
    """Tabulate changes of attention and of hidden states, one row for each pair, layer, head,
    variant and `measure`.

    Rows of attention have the variants total, own and inherited, and the measures cosine_distance,
    which is 1 - cosine, and js in nats; head 0 is the mean over heads; sd and n are over examples.
    Rows of hidden states have the variants and measures of `made`; head is 0, and n counts tokens.

    pairs: models to compare
    folders: the model folder behind each activation file

    UserError where tokens, layers, heads or widths of a pair differ, and as `Rerun`.
    """
    return frame(_rows(pairs, folders), extra=("measure",))


def _rows(pairs: list[Pair], folders: Mapping[Path, Path]) -> Iterator[dict]:
    for pair, model, reference in opened("own_or_inherited", pairs):
        check_same_heads("own_or_inherited", pair, model, reference)
        made.check_same_layers(pair, model, reference)
        rerun = Rerun(load_encoder(folders[model.path]), model)
        reference_rerun = Rerun(load_encoder(folders[reference.path]), reference)
        tokens = made.Tokens.of_file(model, pair.stimuli).in_blocks(model)
        for layer in range(1, model.layers + 1):
            keys = pair.keys | {"layer": layer, "ref_layer": layer}
            own_states = made.Collected(tokens, model.width)
            inherited_states = made.Collected(tokens, model.width)
            changes = _Changes(model, reference, layer)
            own_runs = rerun(layer, reference.hidden(layer - 1), "maps")
            inherited_runs = reference_rerun(layer, model.hidden(layer - 1), "maps")
            for own, inherited in zip(own_runs, inherited_runs, strict=True):
                changes.add(own, inherited)
                own_states.add(own)
                inherited_states.add(inherited)
            yield from changes.rows(keys)
            states = {
                made.MADE: own_states.states,
                made.ARRIVED: inherited_states.states,
                made.BOTH: tokens.of(model.hidden(layer)),
            }
            before, after = reference.hidden(layer - 1), reference.hidden(layer)
            compared = made.ReferenceLayer(tokens, tokens.of(before), tokens.of(after))
            blocks = made.blocks_apart(tokens, rerun, reference_rerun, layer, before)
            for variant, variant_states in (*states.items(), *blocks):
                for row in compared.rows(variant, variant_states):
                    yield keys | row


class _Changes:
    """The changes of one layer's attention maps, collected batch by batch."""

    def __init__(self, model: Activations, reference: Activations, layer: int):
        self._after = model.attention(layer)
        self._before = reference.attention(layer)
        self._values = {
            (variant, measure): np.empty((model.examples, self._after.heads))
            for variant in (TOTAL, OWN, INHERITED)
            for measure in MEASURES
        }

    def add(self, own: RerunBatch, inherited: RerunBatch) -> None:
        batch = own.batch
        before = _join_maps([self._before[example] for example in batch])
        maps = {
            TOTAL: _join_maps([self._after[example] for example in batch]),
            OWN: _join_maps(own.recorded["maps"].cpu().numpy()),
            INHERITED: _join_maps(inherited.recorded["maps"].cpu().numpy()),
        }
        for (variant, measure), values in self._values.items():
            values[batch] = MEASURES[measure](maps[variant], before)

    def rows(self, keys: Mapping) -> Iterator[dict]:
        for (variant, measure), values in self._values.items():
            yield from head_rows(values, **keys, variant=variant, measure=measure)


def _join_maps(maps: Sequence[np.ndarray]) -> Maps:
    """Join the maps of examples of one length, each [heads, length, length]."""
    flat = np.concatenate([example_maps.ravel() for example_maps in maps])
    lengths = np.full(len(maps), maps[0].shape[-1])
    return Maps(flat, np.append(0, np.cumsum(lengths**2)), lengths)
