"""Run single layers of a model again, on the hidden states in an activation file or on others for
the same inputs."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.activations.extract import equal_lengths, model_inputs, token_positions
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.models.attention import Record, active, editable
from bertshift.models.layers import Layers
from bertshift.tasks.inference import best_device

# How far a layer's own stored output and the same output again may lie apart, as a share of its
# norm. Another device sums float32 in another order, which changes a wide layer's output by some
# 1e-6; a missing argument changes it by a thousand times as much.
TOLERANCE = 1e-5


class RerunBatch(NamedTuple):
    """One batch of a layer's run: the numbers of its examples, their positions [examples, tokens],
    what was recorded of each kind, and the layer's output [examples, tokens, width]."""

    batch: list[int]
    positions: np.ndarray
    recorded: dict[str, Tensor]
    output: Tensor


class Rerun:
    """The layers of `model` on the inputs of `activations`, its own; the other inputs of a layer
    than hidden states are computed once.

    UserError where a layer does not give its own stored output from its own stored input: its
    output follows from more than is known here, or the file is another model's.
    """

    def __init__(self, model: PreTrainedModel, activations: Activations):
        self.model = model.to(best_device())
        self.batches: list[tuple[list[int], np.ndarray, Layers]] = []
        with torch.inference_mode(), editable(model):
            for batch in equal_lengths(activations.lengths):
                positions = token_positions(activations.offsets, batch)
                ids = activations.token_ids[positions]
                segments = activations.segment[positions]
                inputs = model_inputs(model.device, input_ids=ids, token_type_ids=segments)
                layers = Layers(model, **inputs)
                layers.first = None
                self.batches.append((batch, positions, layers))
        self._check_own_states(activations)

    def __call__(
        self, layer: int, states: np.ndarray, *kinds: str, module: nn.Module | None = None
    ) -> Iterator[RerunBatch]:
        """Run one layer, counted from 1, on `states` [N, d], batch by batch; or `module` in its
        place. kinds: what `Record` keeps."""
        return self._run(self.batches, layer, states, kinds, module)

    @torch.inference_mode()
    def _run(self, batches, layer, states, kinds=(), module=None) -> Iterator[RerunBatch]:
        with editable(self.model):
            for batch, positions, layers in batches:
                batch_states = torch.from_numpy(states[positions].astype(np.float32))
                record = Record(*kinds)  # also without kinds: so attention is the stored one's
                run_module = layers.modules[layer - 1] if module is None else module
                with active(record):
                    output = layers.through(run_module, layer, batch_states.to(self.model.device))
                recorded = {kind: tensors[0] for kind, tensors in record.kept.items()}
                yield RerunBatch(batch, positions, recorded, output)

    def _check_own_states(self, activations: Activations) -> None:
        """Run each layer on its own input in the first batch."""
        for layer in range(1, activations.layers + 1):
            [run] = self._run(self.batches[:1], layer, activations.hidden(layer - 1))
            stored = activations.hidden(layer)[run.positions].astype(np.float64)
            difference = np.linalg.norm(run.output.double().cpu().numpy() - stored)
            if not difference <= TOLERANCE * np.linalg.norm(stored):
                raise UserError(
                    f"layer {layer} of this {self.model.config.model_type} model, run alone on its"
                    f" input in {activations.path}, gives other hidden states than are stored"
                    " there; extract them again, or leave out what runs single layers."
                )
