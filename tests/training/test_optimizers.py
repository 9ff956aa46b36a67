import numpy as np
import pytest
import torch
from torch import nn

from bertshift.training.optimizers import build_optimizer
from bertshift.training.settings import TrainSettings

RATES = [0.0, 0.01, 0.03, 0.02, 0.01]


@pytest.mark.parametrize(("name", "epsilon"), [("adamw", 1e-8), ("bertadam", 1e-6)])
def test_updates_are_those_of_the_formula(name, epsilon):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2))
    model[1].requires_grad_(False)
    settings = TrainSettings(learning_rate=1, batch_size=1, steps=1, optimizer=name, weight_decay=0.1)
    optimizer, weights = build_optimizer(model, settings), dict(model.named_parameters())
    expected = {key: weight.detach().double().numpy().copy() for key, weight in weights.items()}
    m, v = dict.fromkeys(weights, 0.0), dict.fromkeys(weights, 0.0)
    for step, rate in enumerate(RATES, 1):
        model(torch.tensor([0, 1, 2, 2])).square().sum().backward()
        for key, weight in weights.items():
            if weight.grad is None:
                continue
            gradient = weight.grad.double().numpy()
            decay = 0.0 if key.endswith("bias") or key == "2.weight" else 0.1  # module 2 is the LayerNorm
            m[key] = 0.9 * m[key] + 0.1 * gradient
            v[key] = 0.999 * v[key] + 0.001 * gradient**2
            first, second = m[key], v[key]
            if name == "adamw":
                first, second = first / (1 - 0.9**step), second / (1 - 0.999**step)
            change = first / (np.sqrt(second) + epsilon) + decay * expected[key]
            expected[key] = expected[key] - rate * change
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    for key, weight in weights.items():
        found = weight.detach().numpy()
        np.testing.assert_allclose(found, expected[key], rtol=2e-5, atol=1e-6, err_msg=key)
    assert not any(weight in optimizer.state for weight in model[1].parameters())
