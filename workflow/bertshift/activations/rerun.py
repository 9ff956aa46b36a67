"""Run single layers of a model again, on the hidden states in an activation file or on others for
the same inputs."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from bertshift.activations.extract import equal_lengths, model_inputs, token_positions
from bertshift.activations.store import Activations
from bertshift.models.attention import Record, active, editable
from bertshift.models.layers import Layers
from bertshift.tasks.inference import best_device


class Rerun:
    """The layers of `model` on the inputs of `activations`; the other inputs of a layer than
    hidden states are computed once."""

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

    @torch.inference_mode()
    def __call__(
        self, layer: int, states: np.ndarray, kind: str
    ) -> Iterator[tuple[list[int], np.ndarray, Tensor]]:
        """Run one layer, counted from 1, on `states` [N, d]. Yield batch by batch the numbers of
        its examples, their positions [examples, tokens], and what `Record` keeps of `kind`."""
        with editable(self.model):
            for batch, positions, layers in self.batches:
                batch_states = torch.from_numpy(states[positions].astype(np.float32))
                record = Record(kind)
                with active(record):
                    layers(layer, batch_states.to(self.model.device))
                yield batch, positions, record.kept[kind][0]
