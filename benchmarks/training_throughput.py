"""Training examples per second of `bertshift.training.loop.train` against transformers.Trainer on
GLUE's lengths.

    python benchmarks/training_throughput.py --mirror DATA --model FOLDER
        [--layers 12 --hidden 768 --heads 12]

All contenders train the same BERT classifier from the same weights with the same batch size,
precision, AdamW, clipping and schedule, on as many batches as --steps says, a random sample of the
data. Padding to 128 is what run_glue sets up; dynamic padding is DataCollatorWithPadding. Rounds
of all contenders alternate, because a shared machine is not equally fast all the time; the table
has medians over the rounds.
"""

import argparse
import contextlib
import importlib.util
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, set_seed
from transformers.utils import logging

from bertshift.tasks.batching import Encoded, length_bucketed, pad
from bertshift.training.loop import autocast_dtype, train
from bertshift.training.settings import TrainSettings

LONGEST = 128
VOCABULARY = 30522


class GlueFile(NamedTuple):
    """A task's file and columns of texts, and (examples, median, log-normal spread) of made-up
    lengths.

    Made-up lengths have the real ones' mean and padding under dynamic padding, by
    bert-base-uncased's vocabulary.
    """

    path: str
    columns: tuple[int, ...]
    made_lengths: tuple[int, float, float]


TASKS = {
    "MRPC": GlueFile("glue/MRPC/train.tsv", (3, 4), (3668, 52, 0.2)),
    "SST-2": GlueFile("glue/SST-2/train.tsv", (0,), (67349, 11, 0.6)),
}
OURS, DYNAMIC, FIXED = "bertshift", "Trainer, dynamic padding", "Trainer, padded to 128"


def read_lengths(mirror: Path, model: Path, file: str, columns: tuple[int, ...]) -> np.ndarray:
    tokenizer = AutoTokenizer.from_pretrained(model)
    lines = (mirror / file).read_text(encoding="utf-8").split("\n")[1:]
    rows = [line.split("\t") for line in lines if line]
    texts = [[row[column] for row in rows] for column in columns]
    encoded = tokenizer(*texts, truncation=True, max_length=LONGEST)
    return np.array([len(ids) for ids in encoded.input_ids])


def draw_lengths(n: int, median: float, spread: float) -> np.ndarray:
    drawn = np.random.default_rng(0).lognormal(np.log(median), spread, n)
    return np.clip(drawn.round().astype(int), 3, LONGEST)


def draw_examples(lengths: np.ndarray) -> list[Encoded]:
    generator = np.random.default_rng(1)
    return [
        Encoded(
            [101, *generator.integers(1000, VOCABULARY, n - 2).tolist(), 102],
            [0] * n,
            int(generator.integers(2)),
        )
        for n in lengths
    ]


def collate(examples):
    return pad(examples, 0) | {"labels": torch.tensor([example.target for example in examples])}


def padding_share(lengths: np.ndarray, batches: list) -> float:
    """Return the fraction of the computed tokens that are padding when each batch is padded to its
    longest example."""
    computed = sum(len(batch) * max(lengths[batch]) for batch in batches)
    return 1 - sum(lengths) / computed


def loss(model: nn.Module, batch: dict) -> torch.Tensor:
    output = model.bert(
        input_ids=batch["input_ids"],
        token_type_ids=batch["token_type_ids"],
        attention_mask=batch["attention_mask"],
    )
    return cross_entropy(model.classifier(model.dropout(output.pooler_output)), batch["labels"])


def run_ours(
    model: nn.Module, examples: list[Encoded], args: argparse.Namespace, collate=collate, loss=loss
) -> float:
    settings = TrainSettings(
        learning_rate=2e-5,
        batch_size=args.batch_size,
        epochs=1,
        precision=args.precision,
        weight_decay=0.0,
    )
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        started = time.perf_counter()
        train(model, examples, collate, loss, settings, 0, Path(folder))
        return time.perf_counter() - started


def run_trainer(
    model: nn.Module, examples: list[Encoded], args: argparse.Namespace, tokenizer, dynamic: bool
) -> float:
    from transformers import (
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        default_data_collator,
    )

    rows = []
    for example in examples:
        gap = 0 if dynamic else LONGEST - len(example)
        rows.append(
            {
                "input_ids": example.input_ids + [0] * gap,
                "token_type_ids": example.token_type_ids + [0] * gap,
                "attention_mask": [1] * len(example) + [0] * gap,
                "label": example.target,
            }
        )
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=args.batch_size,
                learning_rate=2e-5,
                num_train_epochs=1,
                save_strategy="no",
                report_to=[],
                disable_tqdm=True,
                bf16=autocast_dtype(args.precision, device) is not None,
                use_cpu=not on_gpu,
            ),
            train_dataset=rows,
            data_collator=DataCollatorWithPadding(tokenizer) if dynamic else default_data_collator,
        )
        started = time.perf_counter()
        trainer.train()
        return time.perf_counter() - started


class PlainPadding:
    """The tokenizer that DataCollatorWithPadding asks to pad, where there is no model folder to
    read one from."""

    padding_side = "right"
    pad_id = 0

    def pad(self, rows, **_):
        longest = max(len(row["input_ids"]) for row in rows)
        batch = {"label": torch.tensor([row["label"] for row in rows])}
        for key in rows[0].keys() - {"label"}:
            gaps = [longest - len(row[key]) for row in rows]
            fill = self.pad_id if key == "input_ids" else 0
            padded = [row[key] + [fill] * gap for row, gap in zip(rows, gaps)]
            batch[key] = torch.tensor(padded)
        return batch


def alternate(
    contenders: dict[str, Callable], examples: list[Encoded], rounds: int, warm_up: int
) -> dict[str, list[float]]:
    """Return the seconds of each contender in each round, after a round on a few examples that
    warms caches and kernels up."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for contender in contenders.values():
        set_seed(0)
        contender(examples[:warm_up])
    for _ in range(rounds):
        for name, contender in contenders.items():
            set_seed(0)
            seconds[name].append(contender(examples))
    return seconds


def median_ratio(seconds: list[float], ours: list[float]) -> float:
    return statistics.median(t / o for t, o in zip(seconds, ours, strict=True))


def padding_shares(
    lengths: np.ndarray, batch_size: int, generator: np.random.Generator
) -> dict[str, float]:
    """Return the padding of an epoch by each contender's batches."""
    order = generator.permutation(len(lengths))
    starts = range(0, len(order), batch_size)
    random_batches = [order[start : start + batch_size] for start in starts]
    buckets = length_bucketed(lengths, batch_size, generator)
    return {
        OURS: padding_share(lengths, buckets),
        DYNAMIC: padding_share(lengths, random_batches),
        FIXED: 1 - lengths.mean() / LONGEST,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mirror", type=Path, help="folder with glue/MRPC/train.tsv and glue/SST-2/train.tsv"
    )
    parser.add_argument(
        "--model", type=Path, help="folder with a BERT tokenizer; with --mirror gives real lengths"
    )
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--precision", choices=["auto", "float32", "bfloat16"], default="auto")
    parser.add_argument(
        "--steps", type=int, default=60, help="batches in one round of one contender"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--threads", type=int, default=0, help="torch threads; 0 leaves torch's choice"
    )
    args = parser.parse_args()
    if bool(args.mirror) != bool(args.model):
        parser.error(
            "--mirror and --model go together:"
            " the data, and the tokenizer that gives their lengths"
        )
    if importlib.util.find_spec("accelerate") is None:
        sys.exit(
            "transformers.Trainer needs the package accelerate, which bertshift does not:"
            " pip install accelerate"
        )
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if args.threads:
        torch.set_num_threads(args.threads)

    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=args.hidden,
        num_hidden_layers=args.layers,
        num_attention_heads=args.heads,
        intermediate_size=4 * args.hidden,
    )
    tokenizer = AutoTokenizer.from_pretrained(args.model) if args.model else PlainPadding()
    device = f"CPU, {torch.get_num_threads()} threads"
    if torch.cuda.is_available():
        device = torch.cuda.get_device_name()
    print(
        f"BERT {args.layers} x {args.hidden}, batch {args.batch_size},"
        f" precision {args.precision}, {device}"
    )
    print(f"lengths: {'real' if args.mirror else 'made (log-normal)'}\n")
    print(f"{'task':6} {'contender':26} {'examples/s':>10} {'bertshift is':>13} {'padding':>8}")

    def new_model() -> nn.Module:
        return BertForSequenceClassification(config)

    contenders = {
        OURS: lambda examples: run_ours(new_model(), examples, args),
        DYNAMIC: lambda examples: run_trainer(new_model(), examples, args, tokenizer, True),
        FIXED: lambda examples: run_trainer(new_model(), examples, args, tokenizer, False),
    }
    for name, task in TASKS.items():
        if args.mirror:
            epoch_lengths = read_lengths(args.mirror, args.model, task.path, task.columns)
        else:
            epoch_lengths = draw_lengths(*task.made_lengths)
        generator = np.random.default_rng(0)
        count = args.steps * args.batch_size
        examples = draw_examples(epoch_lengths[generator.permutation(len(epoch_lengths))[:count]])
        seconds = alternate(contenders, examples, args.rounds, 4 * args.batch_size)
        padding = padding_shares(epoch_lengths, args.batch_size, generator)
        for contender, taken in seconds.items():
            ratio = median_ratio(taken, seconds[OURS])
            speed = len(examples) / statistics.median(taken)
            print(
                f"{name:6} {contender:26} {speed:10.1f} {ratio:11.2f} x"
                f" {100 * padding[contender]:6.2f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
