"""Is a layer's change of hidden states made in the layer, or has it arrived from the layers below?
A control of ours.

A layer's output h_k follows from its weights and its input, h_k = F_k(h_(k-1)). All papers compare
h'_k of a fine-tuned model with h_k of its reference, which mixes the two. With F', h' of the model
and F, h of its reference, each of these is compared with h_k, for each layer k from 1:

    both                F'_k(h'_(k-1)) = h'_k
    made                F'_k(h_(k-1))   the layer's weights are the model's, its input is not
    arrived             F_k(h'_(k-1))   its input is, its weights are not
    made_attention      made, with the reference's feed-forward block
    made_feed_forward   F_k(h_(k-1)), with the model's feed-forward block

What a layer gets besides hidden states, such as biases of positions, belongs to its attention. The
measures are distances, 0 where nothing changed:

    rsa_distance        1 - RSA, of the tokens of `rsa`
    cka_distance        1 - debiased CKA, of the tokens of `linear_cka`
    relative_norm       |y - h_k| / |h_k - h_(k-1)|, y one of the above: the change relative to
                        what the reference's layer adds; Frobenius norms over the tokens of `rsa`
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from bertshift.activations.rerun import Rerun, RerunBatch
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics import cka, linear_cka, rsa
from bertshift.metrics.hidden_states import FEWEST, CenteredStates, Comparison, Representation
from bertshift.metrics.pairs import Pair, frame, opened, token_blocks
from bertshift.models.family import family_of, layers_of
from bertshift.models.layers import with_feed_forward_of
from bertshift.models.loading import load_encoder
from bertshift.rows.table import Table

MADE, ARRIVED, BOTH = "made", "arrived", "both"
MADE_ATTENTION, MADE_FEED_FORWARD = "made_attention", "made_feed_forward"
RSA, CKA, NORM = "rsa_distance", "cka_distance", "relative_norm"
MEASURES = (RSA, CKA, NORM)


@dataclass(frozen=True)
class Tokens:
    """The content tokens at which states are compared, of a file with all tokens.

    positions [K]: of all of them in the file; rsa, cka: which of these each measure takes.
    rsa_blocks, cka_blocks: these in blocks of examples, for values without each block.
    """

    positions: np.ndarray
    rsa: np.ndarray
    cka: np.ndarray
    rsa_blocks: Sequence[slice] = ()
    cka_blocks: Sequence[slice] = ()

    @classmethod
    def of_file(
        cls, activations: Activations, stimuli: str, number: int | None = None
    ) -> "Tokens":
        """Draw the tokens, without blocks. number: how many RSA and CKA draw, if not their own
        numbers."""
        rsa_positions = rsa.samples(activations, number or rsa.TOKENS, stimuli)["content"]
        cka_positions = linear_cka.sample(activations, number or linear_cka.TOKENS, stimuli)
        positions = np.union1d(rsa_positions, cka_positions)
        return cls(
            positions,
            np.searchsorted(positions, rsa_positions),
            np.searchsorted(positions, cka_positions),
        )

    def in_blocks(self, activations: Activations) -> "Tokens":
        """Add the blocks of the file's examples."""
        offsets = activations.offsets
        return replace(
            self,
            rsa_blocks=token_blocks(offsets, self.positions[self.rsa]),
            cka_blocks=token_blocks(offsets, self.positions[self.cka]),
        )

    def of(self, states: np.ndarray) -> np.ndarray:
        """Select the tokens' states [K, d] from those of all tokens [N, d]."""
        return states[self.positions]


class Collected:
    """Keeps the tokens' states [K, d] of a layer that is run batch by batch."""

    def __init__(self, tokens: Tokens, width: int):
        self._positions = tokens.positions
        self.states = np.empty((len(tokens.positions), width), np.float32)

    def add(self, run: RerunBatch) -> None:
        positions = run.positions.ravel()
        rows = np.searchsorted(self._positions, positions)
        is_kept = self._positions.take(rows, mode="clip") == positions
        output = run.output.flatten(0, 1).cpu().numpy()
        self.states[rows[is_kept]] = output[is_kept]


def collect(tokens: Tokens, rerun: Rerun, layer: int, states: np.ndarray, **run) -> np.ndarray:
    """Run one layer on `states` [N, d] and keep its output at the tokens, [K, d]."""
    collected = Collected(tokens, states.shape[1])
    for batch in rerun(layer, states, **run):
        collected.add(batch)
    return collected.states


def blocks_apart(
    tokens: Tokens, rerun: Rerun, reference_rerun: Rerun, layer: int, states: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield made_attention and made_feed_forward with their states [K, d], where `states` [N, d]
    are the reference's input of the layer; nothing where a layer's two blocks are not known, and
    for models of two families."""
    model, reference = rerun.model, reference_rerun.model
    attention_block = family_of(model).attention_block
    if not attention_block or model.config.model_type != reference.config.model_type:
        return
    own, other = layers_of(model)[layer - 1], layers_of(reference)[layer - 1]
    mixed = with_feed_forward_of(own, other, attention_block)
    yield MADE_ATTENTION, collect(tokens, rerun, layer, states, module=mixed)
    mixed = with_feed_forward_of(other, own, attention_block)
    yield MADE_FEED_FORWARD, collect(tokens, reference_rerun, layer, states, module=mixed)


@dataclass
class ReferenceLayer:
    """The states of a reference's layer, input and output [K, d], with what serves all states that
    are compared with its output. Values are [1 + blocks]: of all tokens, then without each
    block."""

    tokens: Tokens
    before: np.ndarray
    after: np.ndarray

    def rows(
        self, variant: str, states: np.ndarray, measures: Sequence[str] = MEASURES
    ) -> Iterator[dict]:
        """Yield a row for each of these measures of `states` [K, d]; none where a measure is
        undefined, as all tokens are alike."""
        functions = {
            RSA: (self._rsa_distances, self.tokens.rsa),
            CKA: (self._cka_distances, self.tokens.cka),
            NORM: (self._relative_norms, self.tokens.rsa),
        }
        for measure in measures:
            function, positions = functions[measure]
            value, *jackknife = function(states)
            if np.isnan(value):
                continue
            yield {
                "variant": variant,
                "head": 0,
                "value": float(value),
                "sd": np.nan,
                "n": len(positions),
                "measure": measure,
                "jackknife": jackknife,
            }

    @cached_property
    def _rsa_rows(self) -> np.ndarray:
        return rsa.similarity_rows(self.after[self.tokens.rsa], "the reference's states")

    @cached_property
    def _rsa_sums(self) -> rsa.OwnSums:
        return rsa.own_sums(self._rsa_rows, self.tokens.rsa_blocks)

    def _rsa_distances(self, states: np.ndarray) -> np.ndarray:
        """Measure 1 - RSA."""
        x, y = states[self.tokens.rsa], self.after[self.tokens.rsa]
        if len(x) < rsa.FEWEST:
            return np.array([np.nan])
        blocks = self.tokens.rsa_blocks
        return 1 - rsa.correlate(x, y, self._rsa_rows, self._rsa_sums, blocks)

    @cached_property
    def _cka_side(self) -> Representation:
        states = CenteredStates(self.after, self.tokens.cka, self.tokens.cka_blocks)
        return Representation(states)

    def _cka_distances(self, states: np.ndarray) -> np.ndarray:
        """Measure 1 - debiased CKA, which is exactly 0 of equal states."""
        x = CenteredStates(states, self.tokens.cka, self.tokens.cka_blocks)
        if len(x) < FEWEST or not x.varies or not self._cka_side.states.varies:
            return np.array([np.nan])
        if np.array_equal(states[self.tokens.cka], self.after[self.tokens.cka]):
            return np.where(np.append(len(x), x.counts_without) < FEWEST, np.nan, 0.0)
        comparison = Comparison(Representation(x), self._cka_side)
        [(_, value, jackknife)] = comparison.measure(_debiased)
        return np.append(value, jackknife)

    def _relative_norms(self, states: np.ndarray) -> np.ndarray:
        """Measure the norm of the difference, relative to that of what the layer adds."""
        difference = self._sum_squares(states - self.after.astype(np.float64))
        added = self._sum_squares(self.after - self.before.astype(np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(np.where(added > 0, difference / added, np.nan))

    def _sum_squares(self, differences: np.ndarray) -> np.ndarray:
        """Sum squares of the tokens of RSA."""
        rows = differences[self.tokens.rsa]
        squares = np.einsum("ij,ij->i", rows, rows)
        rests = [np.delete(squares, block).sum() for block in self.tokens.rsa_blocks]
        return np.array([squares.sum(), *rests])


def _debiased(moments) -> dict[str, float]:
    return {CKA: 1 - cka.debiased(moments)}


def check_same_layers(pair: Pair, model: Activations, reference: Activations) -> None:
    """Raise UserError where one model's layers cannot stand in the place of the other's."""
    if model.layers != reference.layers:
        raise UserError(
            f"{pair.model} has {model.layers} layers and {pair.reference} {reference.layers}: a"
            " layer of one cannot stand in the place of the same layer of the other."
        )
    if model.width != reference.width:
        raise UserError(
            f"{pair.model} has states of {model.width} numbers, {pair.reference} of"
            f" {reference.width}: one's layers cannot read the other's input. Ask for rsa or svcca"
            " instead."
        )


def compare(
    pairs: list[Pair],
    folders: Mapping[Path, Path],
    tokens: int | None = None,
    measures: Sequence[str] = MEASURES,
) -> Table:
    """Tabulate what each layer makes and what arrives: one row for each pair, layer, variant
    (made, arrived) and `measure`, without intervals, which take longer than the models.

    Both models are in memory, with the states of one layer.

    folders: the model folder behind each activation file
    tokens: how many RSA and CKA draw, if not their own numbers
    measures: those that are computed

    UserError where tokens, layers or widths of a pair differ, and as `Rerun`.
    """
    return frame(_rows(pairs, folders, tokens, measures), extra=("measure",))


def _rows(
    pairs: list[Pair],
    folders: Mapping[Path, Path],
    number: int | None,
    measures: Sequence[str],
) -> Iterator[dict]:
    for pair, model, reference in opened("made", pairs):
        check_same_layers(pair, model, reference)
        rerun = Rerun(load_encoder(folders[model.path]), model)
        reference_rerun = Rerun(load_encoder(folders[reference.path]), reference)
        tokens = Tokens.of_file(model, pair.stimuli, number)
        for layer in range(1, model.layers + 1):
            before, after = reference.hidden(layer - 1), reference.hidden(layer)
            compared = ReferenceLayer(tokens, tokens.of(before), tokens.of(after))
            keys = pair.keys | {"layer": layer, "ref_layer": layer}
            made = collect(tokens, rerun, layer, before)
            arrived = collect(tokens, reference_rerun, layer, model.hidden(layer - 1))
            for variant, states in ((MADE, made), (ARRIVED, arrived)):
                for row in compared.rows(variant, states, measures):
                    yield keys | row
