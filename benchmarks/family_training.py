"""Fine-tuning a classifier of each family, `bertshift.training.loop.train` against
transformers.Trainer, examples a second.

    python benchmarks/family_training.py [--families bert roberta gpt2]
        [--layers 4 --hidden 256] [--steps 30]

Both train from random weights of one configuration, on the same examples of SST-2's lengths, with
the same batch size, AdamW, clipping and schedule, in float32; the Trainer pads to the longest of a
batch. Rounds alternate, as a shared machine is not equally fast all the time; the ratio is the
median over rounds, above 1 where bertshift is faster.
"""

import argparse
import statistics
import sys
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "workflow")]

import numpy as np
import training_throughput as throughput
from transformers import AutoModel, AutoModelForSequenceClassification
from transformers.utils import logging

from bertshift.models.families import FAMILIES
from bertshift.models.heads import SequenceClassifier
from bertshift.tasks.batching import Encoded
from bertshift.tasks.text_classification import TextClassification
from bertshift.training import architectures

VOCABULARY, PADDING = 5000, 1


def make_config(family: str, args: argparse.Namespace):
    architecture = {
        "num_hidden_layers": args.layers,
        "num_attention_heads": args.heads,
        "hidden_size": args.hidden,
        "intermediate_size": 4 * args.hidden,
        "max_position_embeddings": 256,
    }
    special = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2)
    special["pad_token_id"] = PADDING
    return architectures.config_of(family, architecture, VOCABULARY, special, 256)


def draw_examples(lengths: np.ndarray) -> list[Encoded]:
    generator = np.random.default_rng(1)
    return [
        Encoded(generator.integers(5, VOCABULARY, n).tolist(), [0] * n, int(generator.integers(2)))
        for n in lengths
    ]


class Padding(throughput.PlainPadding):
    pad_id = PADDING

    def pad(self, rows, **_):
        without_types = [
            {key: value for key, value in row.items() if key != "token_type_ids"} for row in rows
        ]
        return super().pad(without_types)


def ours(config, examples: list[Encoded], args: argparse.Namespace) -> float:
    implementation = "sdpa" if AutoModel.from_config(config)._supports_sdpa else "eager"
    encoder = AutoModel.from_config(config, attn_implementation=implementation)
    return throughput.run_ours(
        SequenceClassifier(encoder, 2),
        examples,
        args,
        partial(TextClassification.collate, pad_id=PADDING),
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
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    args.precision = "float32"
    logging.set_verbosity_error()
    lengths = throughput.draw_lengths(*throughput.TASKS["SST-2"].made_lengths)
    examples = draw_examples(lengths[: args.steps * args.batch_size])
    print(f"{'family':12} {'bertshift':>10} {'Trainer':>10}   ratio")
    for family in args.families:
        config = make_config(family, args)
        contenders = {
            "bertshift": partial(ours, config, args=args),
            "Trainer": partial(theirs, config, args=args),
        }
        seconds = throughput.alternate(contenders, examples, args.rounds, 2 * args.batch_size)
        ratio = throughput.median_ratio(seconds["Trainer"], seconds["bertshift"])
        speeds = [len(examples) / statistics.median(taken) for taken in seconds.values()]
        print(f"{family:12} {speeds[0]:10.1f} {speeds[1]:10.1f} {ratio:7.2f}", flush=True)


if __name__ == "__main__":
    main()
