"""What storing activations in 16 bits would do to the metrics: relative error against float32
storage, worst layer.

    PYTHONPATH=workflow python benchmarks/storage_precision.py [--examples 60]

BERT-base with random weights, logits as spread as a trained model's; the other model is a copy
whose weights moved by a share of their size, as fine-tuning moves them.
"""

import argparse

import numpy as np
import torch
from transformers import BertConfig, BertModel

from bertshift.activations.store import Maps
from bertshift.metrics import jensen_shannon
from bertshift.metrics.rsa import rsa
from bertshift.metrics.svcca import svcca

TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


def activations(model, tokens):
    with torch.inference_mode():
        output = model(input_ids=tokens, output_hidden_states=True, output_attentions=True)
    return [h.flatten(0, 1) for h in output.hidden_states], list(output.attentions)


def move(weight, share):
    """Move a matrix by a share of its weights' deviation."""
    if weight.dim() > 1 and weight.is_floating_point():
        return weight + share * weight.std() * torch.randn_like(weight)
    return weight


def rsa_distance(x, y):
    return 1 - rsa(x.numpy(), y.numpy())


def svcca_distance(x, y):
    return svcca(x.numpy(), y.numpy())["svcca99"]["value"]


def divergence(p, q):
    examples, _, length, _ = p.shape
    offsets = np.arange(examples + 1) * length**2
    maps = [Maps(x.numpy().ravel(), offsets, np.full(examples, length)) for x in (p, q)]
    return jensen_shannon.per_map(*maps).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=60)
    parser.add_argument("--length", type=int, default=40)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    base = BertModel(BertConfig(attn_implementation="eager")).eval()
    for name, weight in base.named_parameters():
        if "query.weight" in name or "key.weight" in name:
            weight.data *= 3
        if "LayerNorm.weight" in name:
            weight.data.uniform_(0.5, 1.5)
    tokens = torch.randint(1000, 30000, (arguments.examples, arguments.length))
    hidden, maps = activations(base, tokens)
    weights = {name: weight.clone() for name, weight in base.state_dict().items()}
    print("moved\tmetric\tsmallest\tlargest\t" + "\t".join(TYPES))
    for share in (1e-4, 1e-3, 1e-2, 1e-1):
        base.load_state_dict({name: move(weight, share) for name, weight in weights.items()})
        moved_hidden, moved_maps = activations(base, tokens)
        metrics = {
            "JS": (divergence, maps, moved_maps),
            "1 - RSA": (rsa_distance, hidden, moved_hidden),
            "SVCCA99": (svcca_distance, hidden[1:], moved_hidden[1:]),
        }
        for name, (metric, reference, model) in metrics.items():
            exact = np.array([metric(x, y) for x, y in zip(reference, model)])
            errors = []
            for dtype in TYPES.values():
                stored = [
                    metric(x.to(dtype).float(), y.to(dtype).float())
                    for x, y in zip(reference, model)
                ]
                errors.append(np.abs(np.array(stored) / exact - 1).max())
            columns = [f"{share:g}", name, f"{exact.min():.2g}", f"{exact.max():.2g}"]
            columns += [f"{error:.1e}" for error in errors]
            print("\t".join(columns))


if __name__ == "__main__":
    main()
