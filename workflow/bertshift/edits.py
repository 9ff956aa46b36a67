"""Changes of known place and size of a checkpoint, as the configuration's `edits` names them.
`models.plant` makes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bertshift.errors import UserError


@dataclass(frozen=True)
class Kind:
    """A kind of change: what it does, in words, and the keys of an entry that it needs."""

    does: str
    needs: tuple[str, ...] = ()


KINDS = {
    "head": Kind("noise in the query and key of one head", ("layer", "head", "size")),
    "attention": Kind("noise in the attention block of one layer", ("layer", "size")),
    "feed_forward": Kind("noise in the feed-forward block of one layer", ("layer", "size")),
    "rank_one": Kind(
        "a change of rank one of the matrix with which a layer's feed-forward block ends",
        ("layer", "size"),
    ),
    "words": Kind("noise in the embeddings of given words", ("words", "size")),
    "all_layers": Kind("noise in both blocks of every layer", ("size",)),
    "heads_reordered": Kind("the heads of one layer in another order", ("layer",)),
    "units_reordered": Kind("the feed-forward units of one layer in another order", ("layer",)),
    "nothing": Kind("no change"),
}
# Those that leave every hidden state as it is.
HARMLESS = ("heads_reordered", "units_reordered", "nothing")


@dataclass(frozen=True)
class Edit:
    """A change of a checkpoint. Layers and heads count from 1; 0 is none.

    size: the norm of the change of each tensor, as a share of the norm of its weights
    """

    kind: str
    layer: int = 0
    head: int = 0
    size: float = 0.0
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: Mapping) -> "Edit":
        """Read an entry of `edits`, which `check` has found right."""
        values = {key: entry[key] for key in KINDS[entry["kind"]].needs}
        if "words" in values:
            values["words"] = tuple(values["words"])
        return cls(entry["kind"], **values)


def problems(name: str, entry: Mapping) -> Iterator[str]:
    """Say which keys the entry of an edit of a known kind lacks, and which it cannot have."""
    kind = entry["kind"]
    if kind not in KINDS:  # the schema says so
        return
    needs = KINDS[kind].needs
    for key in needs:
        if key not in entry:
            yield f"edits.{name}: a change of kind {kind} needs '{key}'; write it."
    for key in entry:
        if key not in ("kind", "background", *needs):
            yield f"edits.{name}.{key}: a change of kind {kind} has no '{key}'; leave it out."


def check_place(model: str, base: str, entry: Mapping, shape: Mapping) -> None:
    """Raise UserError where the checkpoint of `model` has no such layer or head."""
    for key, count in (("layer", shape["layers"]), ("head", shape["heads"])):
        if entry.get(key, 1) > count:
            raise UserError(
                f"model '{model}': {key} {entry[key]} of its edit is out of range for '{base}',"
                f" whose {key} here goes from 1 to {count}."
            )
