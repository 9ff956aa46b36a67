import torch
from torch import nn

from bertshift.training.settings import TrainSettings

EPSILON = {"adamw": 1e-8, "bertadam": 1e-6}

# A step so large that 1 - beta ** step is exactly 1 in float32, and that adding 1 does not change.
_NO_CORRECTION = 1e9


class BertAdam(torch.optim.AdamW):
    """The optimiser of Devlin et al. 2019 (google-research/bert, optimization.py): Adam without
    bias correction.

    m <- b1 m + (1 - b1) g
        v <- b2 v + (1 - b2) g^2
        w <- w - lr (m / (sqrt(v) + eps) + decay w)

    AdamW's correction factors 1 - b^step are 1 for a very late step, so starting the count there
    removes them and keeps torch's fused kernels.
    """

    def __init__(self, params, **options):
        super().__init__(params, **options)
        for group in self.param_groups:
            for weight in group["params"]:
                step_device = weight.device if group["fused"] else "cpu"
                self.state[weight] = {
                    "step": torch.tensor(_NO_CORRECTION, dtype=torch.float32, device=step_device),
                    "exp_avg": torch.zeros_like(weight),
                    "exp_avg_sq": torch.zeros_like(weight),
                }


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Split the trainable parameters in two: matrices, which are decayed, then norms and biases,
    which are not."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    decayed = [weight for weight in trained if weight.dim() > 1]
    not_decayed = [weight for weight in trained if weight.dim() < 2]
    groups = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": not_decayed, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def build_optimizer(model: nn.Module, settings: TrainSettings) -> torch.optim.Optimizer:
    """Build `adamw` (Loshchilov & Hutter 2019, with bias correction) or `bertadam` over the
    trainable parameters.

    Frozen parameters get neither state nor decay. The learning rate is set by the caller before
    every step.
    """
    groups = parameter_groups(model, settings.weight_decay)
    fusible = all(
        weight.device.type in ("cpu", "cuda") and weight.is_floating_point()
        for group in groups
        for weight in group["params"]
    )
    optimizer_class = {"adamw": torch.optim.AdamW, "bertadam": BertAdam}[settings.optimizer]
    epsilon = settings.epsilon
    if epsilon is None:
        epsilon = EPSILON[settings.optimizer]
    return optimizer_class(
        groups,
        lr=settings.learning_rate,
        betas=(0.9, settings.beta2),
        eps=epsilon,
        fused=fusible,
    )
