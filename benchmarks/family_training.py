"""Fine-tuning a classifier of each family, `bertshift.training.loop.train` against
transformers.Trainer, examples a second.

    python benchmarks/family_training.py [--families bert roberta gpt2] [--layers 4 --hidden 256] [--steps 30]

Both train from random weights of one configuration, on the same examples of SST-2's lengths, with
the same batch size, AdamW, clipping and schedule, in float32; the Trainer pads to the longest of a
batch. Rounds alternate, as a shared machine is not equally fast all the time; the ratio is the
median over rounds, above 1 where bertshift is faster.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "workflow")]

import numpy as np
import torch
import training_throughput as throughput
from transformers import AutoModel, AutoModelForSequenceClassification, set_seed
from transformers.utils import logging

from bertshift.models.families import FAMILIES
from bertshift.models.heads import SequenceClassifier
from bertshift.tasks.batching import Encoded
from bertshift.tasks.text_classification import TextClassification
from bertshift.training import architectures

VOCABULARY, PADDING = 5000, 1


def config_of(family: str, args: argparse.Namespace):
    architecture = {"num_hidden_layers": args.layers, "num_attention_heads": args.heads, "hidden_size": args.hidden,
                    "intermediate_size": 4 * args.hidden, "max_position_embeddings": 256}  # fmt: skip
    special = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2)
    return architectures.config_of(
        family, architecture, VOCABULARY, special | {"pad_token_id": PADDING}, 256
    )


def examples_of(lengths: np.ndarray) -> list[Encoded]:
    generator = np.random.default_rng(1)
    return [
        Encoded(generator.integers(5, VOCABULARY, n).tolist(), [0] * n, int(generator.integers(2)))
        for n in lengths
    ]


class Padding(throughput.PlainPadding):
    def pad(self, rows, **_):
        rows = [
            {key: value for key, value in row.items() if key != "token_type_ids"} for row in rows
        ]
        longest = max(len(row["input_ids"]) for row in rows)
        fill = {"input_ids": PADDING, "attention_mask": 0}
        return {
            key: torch.tensor(
                [
                    row[key]
                    if key == "label"
                    else row[key] + [fill[key]] * (longest - len(row[key]))
                    for row in rows
                ]
            )
            for key in rows[0]
        }


def ours(config, examples: list[Encoded], args: argparse.Namespace) -> float:
    implementation = "sdpa" if AutoModel.from_config(config)._supports_sdpa else "eager"
    model = SequenceClassifier(
        AutoModel.from_config(config, attn_implementation=implementation), 2
    )
    return throughput.run_ours(
        model,
        examples,
        args,
        lambda batch: TextClassification.collate(batch, PADDING),
        TextClassification.loss,
    )


def theirs(config, examples: list[Encoded], args: argparse.Namespace) -> float:
    model = AutoModelForSequenceClassification.from_config(config)
    return throughput.run_trainer(model, examples, args, Padding(), dynamic=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    for name, value in (
        ("layers", 4),
        ("hidden", 256),
        ("heads", 4),
        ("batch-size", 32),
        ("steps", 20),
        ("rounds", 3),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    args.precision = "float32"
    logging.set_verbosity_error()
    lengths = throughput.made_lengths(*throughput.TASKS["SST-2"][2])[
        : args.steps * args.batch_size
    ]
    examples = examples_of(lengths)
    print(f"{'family':12} {'bertshift':>10} {'Trainer':>10}   ratio")
    for family in args.families:
        config, seconds = config_of(family, args), {ours: [], theirs: []}
        for number in range(args.rounds + 1):
            for contender, taken in seconds.items():
                set_seed(0)
                # The first round warms caches and kernels up and is not counted.
                time = contender(
                    config, examples if number else examples[: 2 * args.batch_size], args
                )
                if number:
                    taken.append(time)
        ratio = statistics.median(
            t / o for o, t in zip(seconds[ours], seconds[theirs], strict=True)
        )
        speeds = [len(examples) / statistics.median(taken) for taken in seconds.values()]
        print(f"{family:12} {speeds[0]:10.1f} {speeds[1]:10.1f} {ratio:7.2f}", flush=True)


if __name__ == "__main__":
    main()
