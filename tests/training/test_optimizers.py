import numpy as np
import pytest
import torch
from torch import nn

from bertshift.training.optimizers import build_optimizer, parameter_groups
from bertshift.training.settings import TrainSettings

RATES = [0.0, 0.01, 0.03, 0.02, 0.01]


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2))


def trained(
    model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """The start and every step's gradients, of a few steps at the rates RATES."""
    start = [weight.detach().double().numpy().copy() for weight in model.parameters()]
    gradients = []
    for rate in RATES:
        model(torch.tensor([0, 1, 2, 2])).square().sum().backward()
        gradients.append(
            [None if w.grad is None else w.grad.double().numpy().copy() for w in model.parameters()]
        )
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return start, gradients


@pytest.mark.parametrize(("name", "epsilon"), [("adamw", 1e-8), ("bertadam", 1e-6)])
def test_updates_are_those_of_the_formula(name, epsilon):
    model = small_model()
    settings = TrainSettings(learning_rate=1, batch_size=1, steps=1, optimizer=name, weight_decay=0.1)
    start, gradients = trained(model, build_optimizer(model, settings))
    names = [key for key, _ in model.named_parameters()]
    for i, (key, weight) in enumerate(model.named_parameters()):
        expected, m, v = start[i], 0.0, 0.0
        decay = 0.0 if key.endswith("bias") or key == "2.weight" else 0.1  # module 2 is the LayerNorm
        for step, (rate, gradient) in enumerate(zip(RATES, gradients, strict=True), 1):
            m = 0.9 * m + 0.1 * gradient[i]
            v = 0.999 * v + 0.001 * gradient[i] ** 2
            first, second = (m / (1 - 0.9**step), v / (1 - 0.999**step)) if name == "adamw" else (m, v)
            expected = expected - rate * (first / (np.sqrt(second) + epsilon) + decay * expected)
        np.testing.assert_allclose(weight.detach().numpy(), expected, rtol=2e-5, atol=1e-6, err_msg=names[i])


def test_adamw_is_torchs():
    ours, theirs = small_model(), small_model()
    settings = TrainSettings(learning_rate=1, batch_size=1, steps=1, weight_decay=0.1)
    trained(ours, build_optimizer(ours, settings))
    plain = torch.optim.AdamW(parameter_groups(theirs, 0.1), foreach=False)
    trained(theirs, plain)
    for ours_weight, their_weight in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(ours_weight, their_weight)


@pytest.mark.parametrize("name", ["adamw", "bertadam"])
def test_frozen_parameters_have_no_state_and_stay(name):
    model = small_model()
    model[1].requires_grad_(False)
    settings = TrainSettings(learning_rate=1, batch_size=1, steps=1, optimizer=name, weight_decay=0.1)
    optimizer = build_optimizer(model, settings)
    start, _ = trained(model, optimizer)
    assert not any(weight in optimizer.state for weight in model[1].parameters())
    for i, (key, weight) in enumerate(model.named_parameters()):
        moved = not np.array_equal(start[i], weight.detach().double().numpy())
        assert moved == (not key.startswith("1.")), key
