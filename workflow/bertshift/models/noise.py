"""Models made by noise: the parent of a fine-tuned model, with random weights as large as the
model's change.

For each tensor of the encoder, `N = |W - W0| G / |G|`: W and W0 are the weights after and before
fine-tuning, G is drawn from a standard normal distribution, and the norms are L2 norms over the
whole tensor. Such a model has the size of the change and none of its direction. No published
measure: ours.
"""

import numpy as np
import torch
from transformers import PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.truncate import keep_layers
from bertshift.seeds import seed_from


def noise_like(change: np.ndarray, seed: int) -> np.ndarray:
    """Draw an array of the shape and L2 norm of `change`, in any direction with the same
    probability: float64.

    The same seed gives the same array on every machine: their order of sums differs, so the ratio
    of the norms is rounded to float32 before an element depends on it. A change of zeros gives
    zeros.
    """
    size = np.linalg.norm(change)
    if not size:
        return np.zeros(change.shape)
    drawn = np.random.default_rng(seed).standard_normal(change.shape)
    return drawn * float(np.float32(size / np.linalg.norm(drawn)))


@torch.no_grad()
def add_noise(model: PreTrainedModel, changed: PreTrainedModel, seed: int) -> None:
    """Add to each weight of `model` noise as large as the change from it to `changed`.

    Both are encoders without heads, of one family. Layers that `changed` has lost are removed from
    `model` too. Weights that were drawn anew before fine-tuning count as changed. Poolers and
    buffers stay as they are; a tensor that several modules share has one draw, named by the first
    of them. Sums are in float64, and the weights keep their type. UserError for models of other
    shapes.
    """
    layers = changed.config.num_hidden_layers
    if layers < model.config.num_hidden_layers:
        keep_layers(model, layers)
    after = dict(changed.named_parameters())
    for name, weight in model.named_parameters():
        if name.startswith("pooler."):
            continue
        if name not in after or after[name].shape != weight.shape:
            raise UserError(
                f"{name} is not a weight of both models in one shape; noise needs a model and its"
                " own parent."
            )
        before = _to_double(weight)
        change = _to_double(after[name]) - before
        noise = noise_like(change, seed_from(seed, name))
        weight.copy_(torch.from_numpy(before + noise))


def _to_double(weight: torch.Tensor) -> np.ndarray:
    return weight.detach().double().cpu().numpy()
