"""A row of fine-tunings, one run after the other and several side by side: wall time, on a GPU
where there is one.

    PYTHONPATH=workflow python benchmarks/sweep_at_once.py
        [--runs 6] [--at-once 2] [--rows 400] [--shape 4x4x128]

A shape is layers x heads x width. "Each by itself" makes every run as a job of its own would, in a
new process; threads are those that torch takes, shared out among runs that train side by side. All
three end with the same scores.
"""

import argparse
import subprocess
import sys
import time
from collections import Counter
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from transformers import BertConfig, BertForPreTraining, BertTokenizer

from bertshift.files import read_json, sha256, write_json, write_jsonl
from bertshift.models.loading import save_model
from bertshift.training.sweeps import sweep

WORDS = [f"w{i}" for i in range(500)]
TASK = {
    "name": "made",
    "dataset": "made",
    "kind": "classification",
    "metrics": ["accuracy"],
    "max_length": 128,
}
TRAINING = {"learning_rate": 4e-4, "batch_size": 16, "epochs": 3}
ALONE = """
import sys
from pathlib import Path
from bertshift.files import read_json
from bertshift.training.finetuning import trainer
run, start, data, folder = map(Path, sys.argv[1:])
trainer(start, data)(read_json(run), folder)
"""


def write_data(folder, number, rng):
    """Write texts of random words, labelled by their first word; 200 rows are for evaluation."""
    rows = []
    for i in range(number + 200):
        words = rng.choice(WORDS, max(4, round(rng.normal(20, 6))))
        label = "ab"[int(words[0][1:]) % 2]
        split = "train" if i < number else "dev"
        rows.append({"id": str(i), "split": split, "text_a": " ".join(words), "label": label})
    write_rows(folder, rows, ["a", "b"])


def write_rows(folder, rows, labels):
    """Write a prepared data set of these rows; labels None for a regression."""
    file = folder / "examples.jsonl"
    write_jsonl(file, rows)
    sidecar = {
        "name": "made",
        "kind": "sentence",
        "labels": labels,
        "published": None,
        "origin": "world",
        "rows": Counter(row["split"] for row in rows),
        "examples_sha256": sha256(file),
    }
    write_json(folder / "dataset.json", sidecar)


def write_encoder(folder, layers, heads, width, vocabulary=None):
    torch.manual_seed(0)
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    config = BertConfig(
        vocab_size=vocabulary or len(tokens),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        hidden_size=width,
        intermediate_size=4 * width,
    )
    tokenizer = BertTokenizer(vocab={token: i for i, token in enumerate(tokens)})
    save_model(folder, BertForPreTraining(config), tokenizer)


def each_by_itself(runs, start, data, folder):
    scores = {}
    for name, run in runs.items():
        file = folder / f"{name}.json"
        write_json(file, run)
        command = [sys.executable, "-c", ALONE, file, start, data, folder / name]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        scores[name] = read_json(folder / name / "scores.json")
    return scores


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--at-once", type=int, nargs="+", default=[2])
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--shape", default="4x4x128")
    arguments = parser.parse_args()
    run = {"task": TASK, "training": TRAINING, "variants": ["reinitL1H1"]}
    runs = {f"made.reinitL1H1_{seed}": run | {"seed": seed} for seed in range(arguments.runs)}
    device = f"CPU, {torch.get_num_threads()} threads"
    if torch.cuda.is_available():
        device = torch.cuda.get_device_name()
    print(f"{arguments.runs} runs, {arguments.rows} rows x 3 epochs, {arguments.shape}, {device}")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        start, data = folder / "start", folder / "data"
        data.mkdir()
        write_data(data, arguments.rows, np.random.default_rng(0))
        write_encoder(start, *map(int, arguments.shape.split("x")))
        routes = {"each by itself": each_by_itself, "one row": sweep}
        for at_once in arguments.at_once:
            routes[f"one row, {at_once} at once"] = partial(sweep, at_once=at_once)
        results = []
        for number, (name, route) in enumerate(routes.items()):
            output = folder / f"out{number}"
            output.mkdir()
            begin = time.perf_counter()
            with (folder / "log").open("w") as log, redirect_stderr(log):
                scores = route(runs, start, data, output)
            seconds = time.perf_counter() - begin
            results.append((seconds, scores))
            first_seconds, first_scores = results[0]
            print(
                f"{name:24}{seconds:8.1f} s{first_seconds / seconds:8.2f} x"
                f"   same scores: {scores == first_scores}",
                flush=True,
            )


if __name__ == "__main__":
    main()
