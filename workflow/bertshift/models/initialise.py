"""Drawing weights: each tensor from its own named seed, so that no draw depends on other draws."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bertshift.errors import UserError
from bertshift.seeds import seed_from


@dataclass(frozen=True)
class Normal:
    """N(0, sigma), cut to [-bound, bound] (absolute, not in units of sigma)."""

    sigma: float
    bound: float = float("inf")

    def draw_(self, tensor: Tensor, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        sample = torch.empty(tensor.shape)
        low, high = -self.bound, self.bound
        if self.bound == float("inf"):
            sample.normal_(0, self.sigma, generator=generator)
        else:
            nn.init.trunc_normal_(sample, 0, self.sigma, low, high, generator=generator)
        with torch.no_grad():
            tensor.copy_(sample)


# Four readings of "truncated normal, 0.02" in BERT Goes to College: A its section 4.4 and the
# first BERT code; B truncnorm.rvs(-.02, .02) as section 5.3.2 prints it, where scipy counts bounds
# in sigmas; C the same with scale=.02; D truncnorm(-2s, 2s, scale=s), s=.02, found in code of the
# same group. C and D give almost-zero weights.
SCHEMES = {
    "A": Normal(0.02, 0.04),
    "B": Normal(1.0, 0.02),
    "C": Normal(0.02, 0.0004),
    "D": Normal(0.02, 0.0008),
}


def scheme_named(name: str) -> Normal:
    if name not in SCHEMES:
        raise UserError(
            f"{name!r} is not an initialisation scheme; write one of {', '.join(SCHEMES)}."
        )
    return SCHEMES[name]


def fill(module: nn.Module, seed: int, normal: Normal = SCHEMES["A"]) -> None:
    """Draw every matrix inside `module` anew; norms become (1, 0), biases 0."""
    for name, part in module.named_modules():
        for kind, weight in part.named_parameters(recurse=False):
            if weight.dim() > 1:
                normal.draw_(weight, seed_from(seed, name))
            else:
                nn.init.constant_(weight, float(kind == "weight"))
