"""The classifier of attention maps of Kovaleva et al. 2019 (section 4.1): eight convolutions with
ReLU.

The paper gives no other details. Here: 3x3 kernels, the maximum of 2x2 after every second one, the
mean over the remaining cells, and a linear layer; input is the map of the real tokens, resampled,
its weights absolute: all maps are shifted and scaled alike.
"""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bertshift.errors import UserError
from bertshift.files import atomic
from bertshift.models.seal import OPEN, check_seal, seal
from bertshift.patterns.classes import CLASSES
from bertshift.seeds import seed_from

# Maps in one forward pass; on a CPU few enough for its caches.
AT_ONCE = {"cpu": 64, "cuda": 2048}


@dataclass(frozen=True)
class ClassifierSettings:
    """The settings of the classifier: `size` of a resampled map, `widths` of pairs of
    convolutions, and those of training."""

    size: int
    widths: tuple[int, ...]
    epochs: int
    batch_size: int
    learning_rate: float
    folds: int


class PatternClassifier(nn.Module):
    """[n, 1, size, size] resampled maps -> [n, classes] logits; `widths` of pairs of
    convolutions."""

    def __init__(self, size: int, widths: Sequence[int], generator: torch.Generator | None = None):
        super().__init__()
        self.size = size
        self.widths = tuple(widths)
        channels = [1]
        for width in self.widths:
            channels += [width, width]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, 3, padding=1) for before, after in pairwise(channels)
        )
        self.out = nn.Linear(channels[-1], len(CLASSES))
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("deviation", torch.ones(()))
        for layer in (*self.convolutions, self.out):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
            nn.init.zeros_(layer.bias)

    def forward(self, maps: Tensor) -> Tensor:
        states = (maps - self.mean) / self.deviation
        for number, convolution in enumerate(self.convolutions):
            states = F.relu(convolution(states))
            if number % 2:
                states = F.max_pool2d(states, 2)
        return self.out(states.mean((2, 3)))


def resample(maps: Tensor, size: int) -> Tensor:
    """Resample maps: [n, L, L] -> [n, 1, size, size], bilinear; larger maps are averaged, so that
    no stripe falls between."""
    return F.interpolate(maps[:, None].float(), (size, size), mode="bilinear", antialias=True)


def fit(
    sheet: pd.DataFrame, maps: Sequence[np.ndarray], settings: ClassifierSettings
) -> tuple[PatternClassifier, pd.DataFrame]:
    """Fit a classifier to all labelled maps. Return it and the sheet with its answers to them
    (`resubstituted`) and those of the classifiers of a `settings.folds`-fold cross-validation
    (`cross_validated`), whose folds share no input."""
    inputs = torch.cat(
        [resample(torch.from_numpy(weights)[None], settings.size) for weights in maps]
    )
    labels = np.array([CLASSES.index(label) for label in sheet["label"]])
    input_names = sheet["task"] + " " + sheet["example"]
    folds = folds_of(input_names, settings.folds)
    cross_validated = cross_validate(inputs, labels, folds, settings)
    net = train(inputs, labels, settings, "all")
    names = np.array(CLASSES)
    sheet = sheet.assign(
        fold=folds,
        cross_validated=names[cross_validated],
        resubstituted=names[predict(net, inputs)],
    )
    return net, sheet


def train(
    inputs: Tensor, labels: np.ndarray, settings: ClassifierSettings, name: str
) -> PatternClassifier:
    """Fit a classifier to [n, 1, size, size] maps and their classes; Adam, its rate falling to 0.

    Draws depend on `name` alone; the same bytes on a CPU. Ends on the CPU, in evaluation mode.
    """
    device = _device()
    generator = torch.Generator().manual_seed(seed_from("patterns classifier", name))
    net = PatternClassifier(settings.size, settings.widths, generator)
    net.mean = inputs.mean()
    net.deviation = inputs.std()
    net.to(device)
    inputs, gold = inputs.to(device), torch.from_numpy(labels).to(device)
    optimizer = torch.optim.Adam(net.parameters(), settings.learning_rate)
    steps = settings.epochs * math.ceil(len(gold) / settings.batch_size)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for _ in range(settings.epochs):
        for batch in torch.randperm(len(gold), generator=generator).split(settings.batch_size):
            optimizer.zero_grad()
            F.cross_entropy(net(inputs[batch]), gold[batch]).backward()
            optimizer.step()
            scheduler.step()
    return net.cpu().eval()


@torch.inference_mode()
def probabilities(net: PatternClassifier, maps: Tensor) -> np.ndarray:
    """Predict each class's probability for [n, L, L] maps, on the device of `net`, -> [n, classes]
    float64."""
    batches = maps.split(AT_ONCE[maps.device.type])
    parts = [net(resample(batch, net.size)).double().softmax(-1) for batch in batches]
    return torch.cat(parts).cpu().numpy()


def folds_of(groups: Sequence[str], folds: int) -> np.ndarray:
    """Assign a fold, from 1, to each map; the maps of one input share it. UserError if there are
    fewer inputs than folds."""
    inputs, input_of_map = np.unique(groups, return_inverse=True)
    if len(inputs) < folds:
        raise UserError(
            f"patterns.folds: {folds} folds need as many inputs, but the labelled maps are of"
            f" {len(inputs)}; raise patterns.maps."
        )
    order = np.random.default_rng(seed_from("patterns folds")).permutation(len(inputs))
    return 1 + order[input_of_map] % folds


def cross_validate(
    inputs: Tensor, labels: np.ndarray, folds: np.ndarray, settings: ClassifierSettings
) -> np.ndarray:
    """Classify each map by a classifier trained on the other folds: [n] classes."""
    answers = np.empty_like(labels)
    for fold in np.unique(folds):
        inside = folds == fold
        print(f"patterns: fold {fold} of {folds.max()}", file=sys.stderr, flush=True)
        net = train(inputs[~inside], labels[~inside], settings, f"fold {fold}")
        answers[inside] = predict(net, inputs[inside])
    return answers


@torch.inference_mode()
def predict(net: PatternClassifier, inputs: Tensor) -> np.ndarray:
    """Classify each resampled map: [n] classes."""
    batches = inputs.split(AT_ONCE[inputs.device.type])
    parts = [net(batch).argmax(-1) for batch in batches]
    return torch.cat(parts).cpu().numpy()


def save(path: Path, net: PatternClassifier) -> None:
    shape = {"size": net.size, "widths": net.widths, "classes": CLASSES}
    metadata = {"patterns": json.dumps(shape)}
    with atomic(path) as temporary:
        save_file(net.state_dict(), temporary, metadata | OPEN)
        seal(temporary)


def load(path: Path) -> PatternClassifier:
    """Load a classifier in evaluation mode, on the GPU if there is one."""
    check_seal(path)
    with safe_open(path, framework="pt") as file:
        shape = json.loads(file.metadata()["patterns"])
    net = PatternClassifier(shape["size"], shape["widths"])
    net.load_state_dict(load_file(path))
    return net.to(_device()).eval()


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
