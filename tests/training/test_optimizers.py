import numpy as np
import pytest
import torch
from torch import nn

from bertshift.training.optimizers import build_optimizer
from bertshift.training.settings import TrainSettings


@pytest.mark.parametrize(("name", "epsilon"), [("adamw", 1e-8), ("bertadam", 1e-6)])
def test_updates_are_those_of_the_formula(name, epsilon):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2))
    frozen = model[0].requires_grad_(False)
    settings = {"learning_rate": 1, "batch_size": 1, "steps": 1, "weight_decay": 0.1}
    optimizer = build_optimizer(model, TrainSettings(**settings, optimizer=name))
    weights = {key: w for key, w in model.named_parameters() if w.requires_grad}
    expected = {key: w.detach().double().numpy().copy() for key, w in weights.items()}
    m, v = dict.fromkeys(weights, 0.0), dict.fromkeys(weights, 0.0)
    for step, rate in enumerate([0.0, 0.01, 0.03, 0.02, 0.01], 1):
        model(torch.randn(3, 4)).square().sum().backward()
        corrected = (1 - 0.9**step, 1 - 0.999**step) if name == "adamw" else (1, 1)
        for key, weight in weights.items():
            gradient = weight.grad.double().numpy()
            m[key] = 0.9 * m[key] + 0.1 * gradient
            v[key] = 0.999 * v[key] + 0.001 * gradient**2
            change = m[key] / corrected[0] / (np.sqrt(v[key] / corrected[1]) + epsilon)
            if key == "2.weight":  # neither biases nor norms decay
                change += 0.1 * expected[key]
            expected[key] -= rate * change
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    for key, weight in weights.items():
        np.testing.assert_allclose(weight.detach(), expected[key], rtol=2e-5, atol=1e-6)
    assert not any(weight in optimizer.state for weight in frozen.parameters())
