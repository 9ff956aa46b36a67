"""`bertshift.weights`: how the weights of two models differ, without running them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from bertshift.api import drawing, page, writing
from bertshift.api.models import locate, name_of
from bertshift.errors import UserError
from bertshift.metrics import weight_change
from bertshift.models.tensors import matched, tensors_of

COLUMNS = ["tensor", "layer", "kind", "change", "size", "norm", "rank90", "ranks", "cosine"]
# Kinds by their tensors' names, in the order in which they are tried.
KINDS = {
    "norms": re.compile(r"norm|\bln_|_ln\b", re.IGNORECASE),
    "attention": re.compile(r"attention|attn|[qkvo]_proj|query_key_value", re.IGNORECASE),
    "embeddings": re.compile(r"embed|\bw[tp]e\b", re.IGNORECASE),
}
OF_LAYERS, ELSEWHERE = "feed-forward", "head"  # what none of KINDS names
ADAPTERS = re.compile(r"lora_|\badapter", re.IGNORECASE)
NAMED = 5  # tensors in a sentence, before they are counted


@dataclass(frozen=True)
class Weights:
    """How a model's weights differ from its reference's, tensor by tensor.

    table: tensor (its name in the model), layer (0 for the embeddings, empty beyond the layers),
    kind, change and size (L2 norms of the change and of the reference), norm (their quotient),
    rank90 (singular values that hold 90 % of the squared change, of `ranks`), cosine (with the
    third model's change). unmatched: {model or reference: tensors that only it has}; reshaped:
    tensors whose shapes differ, which are not measured.
    """

    table: pd.DataFrame = field(repr=False)
    model: str
    reference: str
    third: str | None = None
    unmatched: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reshaped: Sequence[str] = ()

    @cached_property
    def by_layer(self) -> pd.DataFrame:
        """The relative norm of all tensors of a kind in a layer, [layers, kinds]; tensors beyond
        the layers are those of layer `head`."""
        layers = self.table["layer"].astype(object).fillna(ELSEWHERE)
        squares = self.table[["change", "size"]] ** 2
        sums = squares.groupby([layers.rename("layer"), self.table["kind"]], sort=False).sum()
        return np.sqrt(sums["change"] / sums["size"]).unstack()

    @property
    def report(self) -> list[str]:
        """What differs, in some sentences."""
        return [*_sentences(self)]

    def __str__(self) -> str:
        by_layer = self.by_layer.map("{:.3g}".format).replace("nan", "")
        heading = "Relative norm of the change, by layer and kind:"
        return "\n".join([*self.report, "", heading, by_layer.to_string()])

    def plot(self):
        """Draw the relative norm by layer and kind: a matplotlib Figure. UserError where
        matplotlib is not installed."""
        return drawing.draw_weights(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write `weights.tsv`, the picture of `plot`, `weights.png`, and a page to explore,
        `index.html`; return the files. Those whose packages are not installed are left out with a
        warning. UserError where the folder cannot be made."""
        tables = {"weights.tsv": self.table}
        return writing.write(
            folder, tables, "weights.png", self.plot, lambda: page.of_weights(self)
        )


def weights(
    model: str | Path,
    reference: str | Path,
    third: str | Path | None = None,
    *,
    rank: bool = True,
    progress: bool = False,
) -> Weights:
    """Compare the weights of two models tensor by tensor, from their files and without running
    them.

    model, reference, third: folders, or names on the Hugging Face hub, with safetensors. third: a
    model from the same reference, with whose change the model's is compared. rank: whether the
    ranks of changes are computed, which takes longest. progress: whether a bar shows on stderr.

    Memory holds some parts of a tensor and one square matrix of its smaller side. UserError for
    folders without safetensors, quantised weights, and models that have no tensor in common.
    """
    names = [str(name_of(given)) for given in (model, reference, third) if given is not None]
    folders = [locate(name)[0] for name in names]
    tensors, references, *thirds = map(tensors_of, folders)
    pairs = matched(tensors, references)
    if not pairs:
        raise UserError(
            f"{names[0]} and {names[1]} have no tensor of one name; name models of one family."
        )
    beside = {}
    if thirds:
        third_names = matched(pairs, thirds[0])
        beside = {name: thirds[0][other] for name, other in third_names.items()}
    rows, reshaped = [], []
    for name, other in tqdm(pairs.items(), disable=not progress, unit="tensor", leave=False):
        compared = [tensors[name], references[other]]
        if name in beside:
            compared.append(beside[name])
        if len({tensor.shape for tensor in compared}) > 1:
            reshaped.append(name)
        else:
            rows.append(_make_row(name, weight_change.compare(*compared, rank=rank)))
    unmatched = {
        names[0]: sorted({*tensors} - {*pairs}),
        names[1]: sorted({*references} - {*pairs.values()}),
    }
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"layer": "Int64"})
    return Weights(table, *names[:2], names[2] if thirds else None, unmatched, reshaped)


def _make_row(name: str, found: weight_change.WeightChange) -> tuple:
    layer = layer_of(name)
    numbers = (found.change, found.size, found.norm, found.rank, found.ranks, found.cosine)
    return name, layer, kind_of(name), *numbers


def layer_of(name: str) -> int | None:
    """Read the layer of a tensor from its name, from 1; 0 for embeddings, None beyond the
    layers."""
    numbers = [part for part in name.split(".") if part.isdecimal()]
    if numbers:
        return int(numbers[0]) + 1
    return 0 if KINDS["embeddings"].search(name) else None


def kind_of(name: str) -> str:
    """Name the kind of a tensor: one of KINDS, `feed-forward` or `head`."""
    for kind, pattern in KINDS.items():
        if pattern.search(name):
            return kind
    return ELSEWHERE if layer_of(name) is None else OF_LAYERS


def _sentences(found: Weights) -> Iterator[str]:
    table = found.table
    changed = table[table["change"] > 0]
    if changed.empty:
        yield (
            f"{found.model} and {found.reference} have the same numbers in all {len(table)}"
            " tensors: nothing was trained here."
        )
    else:
        yield from _describe_change(found, changed)
    for name, tensors in found.unmatched.items():
        if adapters := [tensor for tensor in tensors if ADAPTERS.search(tensor)]:
            yield (
                f"{name} holds an adapter that was never merged ({_name(adapters)}): its change"
                " is not in the tensors that are compared; merge it with PEFT's"
                " merge_and_unload()."
            )
        if others := [tensor for tensor in tensors if not ADAPTERS.search(tensor)]:
            yield f"Only {name} has {_name(others)}."
    if found.reshaped:
        yield f"Of another shape, and not measured: {_name(found.reshaped)}."


def _describe_change(found: Weights, changed: pd.DataFrame) -> Iterator[str]:
    """Say how much changed, where most, in what rank, and in which direction."""
    same = len(found.table) - len(changed)
    whole = (changed["change"] ** 2).sum() ** 0.5 / (found.table["size"] ** 2).sum() ** 0.5
    yield (
        f"{found.model} differs from {found.reference} in {len(changed)} of {len(found.table)}"
        f" tensors, by {whole:.3g} of the norm of the weights."
    )
    if 0 < same < len(found.table):
        equal = found.table.loc[found.table["change"] == 0, "tensor"]
        yield f"Nothing was trained in {_name(equal)}."
    is_new = changed["size"] == 0
    if not is_new.all():
        top = changed.loc[changed.loc[~is_new, "norm"].idxmax()]
        yield f"{top['tensor']} changed most, by {top['norm']:.3g} of its norm."
    if is_new.any():
        yield f"In {found.reference} all was 0 in {_name(changed.loc[is_new, 'tensor'])}."
    shares = (changed["rank90"] / changed["ranks"]).dropna()
    if len(shares):
        low, high = changed["rank90"].min(), changed["rank90"].max()
        yield (
            f"90 % of the squared change of a matrix lie in {low:.0f} to {high:.0f} directions,"
            f" on average {shares.mean():.0%} of those that there are."
        )
    cosines = changed["cosine"].dropna()
    if len(cosines):
        yield (
            f"The direction of the change has a cosine of {cosines.median():.3g} with that of"
            f" {found.third} in the median tensor, from {cosines.min():.3g} to"
            f" {cosines.max():.3g}."
        )


def _name(tensors: Sequence[str]) -> str:
    """Name some tensors, and count the others."""
    tensors = list(tensors)
    named = ", ".join(tensors[:NAMED])
    more = len(tensors) - NAMED
    return f"{named} and {more} more" if more > 0 else named
