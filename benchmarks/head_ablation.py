"""Disabling every head and every layer in turn, with what goes into a layer kept and without, CPU
time, one process.

    PYTHONPATH=workflow:tests OMP_NUM_THREADS=1 python benchmarks/head_ablation.py
        [--rows 60] [--shapes 4x4x128 12x12x96]

A shape is layers x heads x width. Both routes make the same predictions from the same weights;
"one by one" is what `task.predict` gives while a head's weights are changed. One variant,
`uniform`; with three, a layer's attention is shared by more ablations. Differences are the number
of ablations with another class, or the largest of a value.
"""

import argparse

import numpy as np
import torch
from disabling import disabled
from timing import timed
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


def draw_text(rng):
    count = max(1, round(rng.normal(11, 4)))
    return " ".join(rng.choice(WORDS, count))


def draw_rows(task, number, rng):
    """Draw pairs as long as those of MRPC in the generated world: 25 tokens, give or take 8."""
    texts = [(draw_text(rng), draw_text(rng)) for _ in range(number)]
    labels = rng.choice(task.labels, number) if task.labels else rng.normal(size=number)
    return [
        {"id": str(i), "text_a": text_a, "text_b": text_b, "label": label}
        for i, ((text_a, text_b), label) in enumerate(zip(texts, labels.tolist(), strict=True))
    ]


def make_model(task, layers, heads, width):
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


def predict_one_by_one(task, model, rows, tokenizer):
    predictions = {NOTHING: task.predict(model, rows, tokenizer)}
    for ablation in every_ablation(model.encoder, ["uniform"]):
        with disabled(model.encoder, ablation):
            predictions[ablation] = task.predict(model, rows, tokenizer)
    return predictions


def describe_gaps(task, predictions, expected):
    """Say how far two routes' predictions are from each other."""
    gaps = np.array([np.abs(predictions[key] - expected[key]).max() for key in expected])
    if task.labels:
        return f"{(gaps > 0).sum()} classes"
    return f"{gaps.max():.1e} of {np.ptp(predictions[NOTHING]):.1e}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--shapes", nargs="+", default=["4x4x128", "12x12x96"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(SPECIAL + WORDS)})
    print(
        f"{'shape':12}{'task':10}{'ablations':>10}{'kept, s':>10}{'one by one, s':>15}{'ratio':>7}"
        "  differences"
    )
    for shape in arguments.shapes:
        layers, heads, width = map(int, shape.split("x"))
        for name, task in TASKS.items():
            rows = draw_rows(task, arguments.rows, np.random.default_rng(0))
            model = make_model(task, layers, heads, width)
            task.predict(model, rows, tokenizer)
            ours, predictions = timed(
                under_every_ablation, task, model, rows, tokenizer, ["uniform"]
            )
            theirs, expected = timed(predict_one_by_one, task, model, rows, tokenizer)
            print(
                f"{shape:12}{name:10}{len(predictions) - 1:10}{ours:10.2f}{theirs:15.2f}"
                f"{theirs / ours:7.2f}  {describe_gaps(task, predictions, expected)}"
            )


if __name__ == "__main__":
    main()
