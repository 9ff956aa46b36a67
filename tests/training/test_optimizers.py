import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector

from bertshift.training.optimizers import build_optimizer
from bertshift.training.settings import TrainSettings


@pytest.mark.parametrize(("name", "epsilon"), [("adamw", 1e-8), ("bertadam", 1e-6)])
def test_updates_are_those_of_the_formula(name, epsilon):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2))
    frozen = model[0].requires_grad_(False)
    settings = {"learning_rate": 1, "batch_size": 1, "steps": 1, "weight_decay": 0.1}
    optimizer = build_optimizer(model, TrainSettings(**settings, optimizer=name))
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    # Neither biases nor norms decay.
    decay = torch.cat([torch.full((len(w.flatten()),), 0.1 * (w.dim() > 1)) for w in weights])
    expected = parameters_to_vector(weights).double().detach()
    m = v = 0.0
    for step, rate in enumerate([0.0, 0.01, 0.03, 0.02, 0.01], 1):
        model(torch.randn(3, 4)).square().sum().backward()
        gradient = parameters_to_vector([weight.grad for weight in weights]).double()
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        correct_m, correct_v = (1 - 0.9**step, 1 - 0.999**step) if name == "adamw" else (1, 1)
        update = m / correct_m / ((v / correct_v).sqrt() + epsilon) + decay * expected
        expected = expected - rate * update
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    final = parameters_to_vector(weights).double()
    torch.testing.assert_close(final, expected, rtol=2e-5, atol=1e-6)
    assert not any(weight in optimizer.state for weight in frozen.parameters())
