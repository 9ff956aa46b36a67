"""Linear probes: one linear layer that is fitted to fixed features, in float64."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from bertshift.seeds import seed_from

# Strengths of L2, strongest first, for features of unit variance and a loss that is a mean over
# examples.
STRENGTHS = tuple(10.0**power for power in range(1, -6, -1))
HELD_OUT = 5  # one example in five is held out to select the strength
# The search stops after two strengths without a better loss; weaker ones take longest.
PATIENCE = 2
CONSTANT = 1e-6  # standard deviation of equal features, due to float32


@dataclass(frozen=True)
class Linear:
    """A linear map.

    weights: [width, outputs]
    bias: [outputs]
    """

    weights: np.ndarray
    bias: np.ndarray

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Compute outputs [examples, outputs] from features [examples, width]."""
        return features @ self.weights + self.bias


def logistic_regression(
    features: np.ndarray, targets: np.ndarray, classes: int, l2: float, start: Linear | None = None
) -> Linear:
    """Find the minimum of mean cross-entropy + l2/2 |weights|^2 by L-BFGS, from `start` or zero;
    biases are free.

    features: [examples, width]
    targets: [examples], from 0 to classes - 1
    """
    examples, width = features.shape
    gold = np.eye(classes)[targets]

    def unpack(flat: np.ndarray) -> Linear:
        table = flat.reshape(width + 1, classes)
        return Linear(table[:-1], table[-1])

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        model = unpack(flat)
        log_p = log_softmax(model(features), axis=1)
        excess = (np.exp(log_p) - gold) / examples
        weights_gradient = features.T @ excess + l2 * model.weights
        gradient = np.vstack([weights_gradient, excess.sum(0)])
        penalty = l2 / 2 * np.sum(model.weights**2)
        log_likelihood = np.sum(gold * log_p) / examples
        return penalty - log_likelihood, gradient.ravel()

    if start is None:
        initial = np.zeros((width + 1, classes))
    else:
        initial = np.vstack([start.weights, start.bias])
    result = minimize(
        objective,
        initial.ravel(),
        method="L-BFGS-B",
        jac=True,
        options={"maxiter": 2000, "maxfun": 4000, "gtol": 1e-6, "ftol": 1e-13},
    )
    if result.nit == 2000:
        print(f"linear probe, L2 {l2:g}: not converged after 2000 steps", file=sys.stderr)
    return unpack(result.x)


def ridge(features: np.ndarray, targets: np.ndarray, l2: float) -> Linear:
    """Find the minimum of mean squared error + l2 |weights|^2 in closed form; the bias is free."""
    mean, target_mean = features.mean(0), targets.mean()
    x = features - mean
    covariance = x.T @ x / len(x)
    covariance_with_targets = x.T @ (targets - target_mean) / len(x)
    weights = np.linalg.solve(covariance + l2 * np.eye(x.shape[1]), covariance_with_targets)
    bias = target_mean - mean @ weights
    return Linear(weights[:, None], np.array([bias]))


def probe(
    features: np.ndarray, targets: np.ndarray, classes: int | None, name: str
) -> tuple[Linear, float]:
    """Choose L2 and fit a linear probe of standardised features.

    L2 is the one of STRENGTHS with the least loss on a fifth of the examples, drawn by `name`,
    after a fit to the others. The probe is then fitted to all. It takes features that are not
    standardised.

    features: [examples, width]
    targets: [examples]
    classes: their number, for logistic regression; None for ridge regression
    """
    features = np.asarray(features, np.float64)
    mean, scale = features.mean(0), features.std(0)
    scale[scale <= CONSTANT] = 1.0
    standard = (features - mean) / scale
    rng = np.random.default_rng(seed_from("linear probe", name))
    order = rng.permutation(len(features))
    held_out, rest = np.split(order, [max(1, len(features) // HELD_OUT)])
    losses = {}
    for l2, model in _fit_path(standard[rest], targets[rest], classes):
        losses[l2] = _mean_loss(model(standard[held_out]), targets[held_out], classes)
        best = min(losses, key=losses.get)
        if len(losses) > list(losses).index(best) + PATIENCE:
            break
    model = next(model for l2, model in _fit_path(standard, targets, classes) if l2 == best)
    weights = model.weights / scale[:, None]
    return Linear(weights, model.bias - mean @ weights), best


def _fit_path(
    features: np.ndarray, targets: np.ndarray, classes: int | None
) -> Iterator[tuple[float, Linear]]:
    """Yield (L2, fit) from the strongest L2 down; each fit starts from the one before."""
    model = None
    for l2 in STRENGTHS:
        if classes is None:
            model = ridge(features, targets, l2)
        else:
            model = logistic_regression(features, targets, classes, l2, model)
        yield l2, model


def _mean_loss(outputs: np.ndarray, targets: np.ndarray, classes: int | None) -> float:
    if classes is None:
        return float(np.mean((outputs[:, 0] - targets) ** 2))
    gold_log_p = log_softmax(outputs, axis=1)[np.arange(len(targets)), targets]
    return float(-gold_log_p.mean())
