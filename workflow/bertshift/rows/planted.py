"""Is a planted change found, and is it found where it was made?

A measure gives a model a profile: its distance from the checkpoint at each layer, or at each head.
With T the largest value of a profile,

    found    T of the model with the change lies above T of all backgrounds: models with noise of
             the same size and without the change. Of n backgrounds, p = 1 / (n + 1)
    placed   the layer, or head, of the largest value is the one that was changed

Both are 1 or 0. They are calculated again without each block of inputs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertshift.edits import Edit

FOUND, PLACED = "found", "placed"
# Kinds that change no layer more than the others.
WITHOUT_PLACE = ("all_layers", "nothing")


@dataclass(frozen=True)
class Profile:
    """A measure of one model against its checkpoint.

    layers, heads: [places], of each value; head 0 is all of a layer
    values: [1 + blocks, places], of all inputs, then without each block; -inf where undefined
    """

    layers: np.ndarray
    heads: np.ndarray
    values: np.ndarray

    @property
    def largest(self) -> np.ndarray:
        """The largest value, [1 + blocks]."""
        return self.values.max(axis=1)

    def is_at(self, edit: Edit) -> np.ndarray:
        """Mark the places that an edit changes, [places]. A head is one place where the profile
        has heads and the edit changes one head."""
        is_layer = self.layers == edit.layer
        if edit.head and self.heads.any():
            return is_layer & (self.heads == edit.head)
        return is_layer


def rows(
    edits: Sequence[tuple[Edit, Mapping[str, Profile]]],
    backgrounds: Sequence[Mapping[str, Profile]],
) -> Iterator[dict]:
    """Yield a row for each edit, measure and outcome.

    `value` is 1 or 0, with its values without each block as `jackknife`; `largest` is the largest
    value of the profile, at `largest_layer` and `largest_head`. An edit without a place, or of a
    place that a measure has not, has no row `placed`.

    edits, backgrounds: their profiles by measure
    """
    limits = {
        measure: np.max([profiles[measure].largest for profiles in backgrounds], axis=0)
        for measure in backgrounds[0]
    }
    for edit, profiles in edits:
        for measure, profile in profiles.items():
            place = int(profile.values[0].argmax())
            keys = {
                "variant": edit.kind,
                "measure": measure,
                "size": edit.size,
                "layer": edit.layer,
                "head": edit.head,
                "largest": float(profile.largest[0]),
                "largest_layer": int(profile.layers[place]),
                "largest_head": int(profile.heads[place]),
            }
            yield keys | _outcome(FOUND, profile.largest > limits[measure])
            is_place = profile.is_at(edit)
            if edit.kind not in WITHOUT_PLACE and is_place.any():
                yield keys | _outcome(PLACED, is_place[profile.values.argmax(axis=1)])


def _outcome(name: str, is_true: np.ndarray) -> dict:
    """Make the columns of an outcome from [1 + blocks] bool."""
    value, *jackknife = is_true.astype(float)
    return {"outcome": name, "value": value, "jackknife": jackknife}
