"""Disabling every head and every layer in turn, with what goes into a layer kept and without, CPU
time, one process.

    PYTHONPATH=workflow:tests OMP_NUM_THREADS=1 python benchmarks/head_ablation.py [--rows 60] [--shapes 4x4x128 12x12x96]

A shape is layers x heads x width. Both routes make the same predictions from the same weights;
"one by one" is what `task.predict` gives while a head's weights are changed. One variant,
`uniform`; with three, a layer's attention is shared by more ablations. Differences are the number
of ablations with another class, or the largest of a value.
"""

import argparse
from time import process_time

import numpy as np
import torch
from disabling import disabled
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.ablation.predictions import under_every_ablation
from bertshift.models.ablate import NOTHING, every_ablation
from bertshift.tasks.text_classification import TextClassification

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [f"w{i}" for i in range(500)]
TASKS = {
    "classes": TextClassification("classes", "made", ("accuracy",), 128, ("a", "b", "c")),
    "values": TextClassification("values", "made", ("pearson",), 128, None),
}


def rows_of(task, number, rng):
    """Pairs as long as those of MRPC in the generated world: 25 tokens, give or take 8."""
    texts = [
        [" ".join(rng.choice(WORDS, max(1, round(rng.normal(11, 4))))) for _ in "ab"]
        for _ in range(number)
    ]
    labels = rng.choice(task.labels, number) if task.labels else rng.normal(size=number)
    return [
        {"id": str(i), "text_a": a, "text_b": b, "label": label}
        for i, ((a, b), label) in enumerate(zip(texts, labels.tolist(), strict=True))
    ]


def model_of(task, layers, heads, width):
    torch.manual_seed(0)
    sizes = {
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "hidden_size": width,
        "intermediate_size": 4 * width,
    }
    config = BertConfig(
        vocab_size=len(SPECIAL + WORDS),
        initializer_range=0.1,
        max_position_embeddings=128,
        **sizes,
    )
    return task.model(BertModel(config), seed=0).eval()


def one_by_one(task, model, rows, tokenizer):
    found = {NOTHING: task.predict(model, rows, tokenizer)}
    for ablation in every_ablation(model.encoder, ["uniform"]):
        with disabled(model.encoder, ablation):
            found[ablation] = task.predict(model, rows, tokenizer)
    return found


def seconds_of(function, *arguments):
    start = process_time()
    value = function(*arguments)
    return process_time() - start, value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--shapes", nargs="+", default=["4x4x128", "12x12x96"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(SPECIAL + WORDS)})
    print(
        f"{'shape':12}{'task':10}{'ablations':>10}{'kept, s':>10}{'one by one, s':>15}{'ratio':>7}  differences"
    )
    for shape in arguments.shapes:
        for name, task in TASKS.items():
            rows = rows_of(task, arguments.rows, np.random.default_rng(0))
            model = model_of(task, *map(int, shape.split("x")))
            task.predict(model, rows, tokenizer)
            ours, found = seconds_of(
                under_every_ablation, task, model, rows, tokenizer, ["uniform"]
            )
            theirs, expected = seconds_of(one_by_one, task, model, rows, tokenizer)
            gaps = np.array([np.abs(found[key] - expected[key]).max() for key in expected])
            said = (
                f"{(gaps > 0).sum()} classes"
                if task.labels
                else f"{gaps.max():.1e} of {np.ptp(found[NOTHING]):.1e}"
            )
            print(
                f"{shape:12}{name:10}{len(found) - 1:10}{ours:10.2f}{theirs:15.2f}{theirs / ours:7.2f}  {said}"
            )


if __name__ == "__main__":
    main()
