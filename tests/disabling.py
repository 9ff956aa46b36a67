"""Heads disabled in whole passes of a model: the oracle of the ablations, which go on from what a
layer reads."""

from contextlib import contextmanager, nullcontext

from bertshift.models.ablate import NOTHING, without
from bertshift.models.attention import Edit, editing, seen


@contextmanager
def disabled(model, ablation, means=None):
    """Inside the block `ablation` holds. `means` [layers, heads, width of a head] is what
    `averaging` gives."""
    with nullcontext() if ablation == NOTHING else editing(model, Disabled(ablation, means)):
        yield


class Disabled(Edit):
    def __init__(self, ablation, means=None):
        self.ablation, self.means = ablation, means

    def maps(self, layer, maps, mask):
        if layer == self.ablation.layer and self.ablation.variant == "uniform":
            maps = maps.clone()
            maps[:, self.ablation.heads] = seen(mask, maps)[:, None]
        return maps

    def context(self, layer, context):
        return (
            without(self.ablation, context, self.means)
            if layer == self.ablation.layer
            else context
        )
