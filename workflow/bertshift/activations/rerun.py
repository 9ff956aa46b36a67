"""Single layers of a model again, on the hidden states in an activation file or on others for the same inputs."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from bertshift.activations.extract import equal_lengths
from bertshift.activations.store import Activations
from bertshift.models.attention import Record, active, editable
from bertshift.models.layers import Layers
from bertshift.tasks.inference import best_device


class Rerun:
    """The layers of `model` on the inputs of `activations`; what a layer takes beside hidden states is found once."""

    def __init__(self, model: PreTrainedModel, activations: Activations):
        self.model = model.to(best_device())
        self.batches: list[tuple[list[int], np.ndarray, Layers]] = []
        ids, segments = activations.token_ids, activations.segment
        with torch.inference_mode(), editable(model):
            for batch in equal_lengths(activations.lengths):
                starts = activations.offsets[batch]
                places = starts[:, None] + np.arange(activations.lengths[batch[0]])
                inputs = {"input_ids": ids, "token_type_ids": segments}
                layers = Layers(
                    model,
                    **{name: _tensor(values[places], model, np.int64) for name, values in inputs.items()},
                )
                layers.first = None
                self.batches.append((batch, places, layers))

    @torch.inference_mode()
    def __call__(
        self, layer: int, states: np.ndarray, kind: str
    ) -> Iterator[tuple[list[int], np.ndarray, Tensor]]:
        """(numbers of examples, their positions [examples, tokens], what `Record` keeps of `kind`), batch by batch, of a layer, counted from 1, that
        reads `states` [N, d]."""
        with editable(self.model):
            for batch, places, layers in self.batches:
                record = Record(kind)
                with active(record):
                    layers(layer, _tensor(states[places], self.model, np.float32))
                yield batch, places, record.kept[kind][0]


def _tensor(values: np.ndarray, model: PreTrainedModel, dtype: type) -> Tensor:
    return torch.from_numpy(values.astype(dtype)).to(model.device)
