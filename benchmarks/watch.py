"""What a measurement of `bertshift.Watch` takes, CPU time, and what it takes where the model in
training is written to files and read again.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/watch.py
        [--sentences 100] [--layers 12] [--width 768]

A classifier with random weights, RSA and CKA with their intervals. Both ways give equal numbers.
"""

import argparse
import tempfile
from pathlib import Path

import torch
from timing import timed
from tqdm import tqdm
from transformers import BertForSequenceClassification
from two_models import draw_sentences, make_config, make_tokenizer

from bertshift.api.along import Against, ask

MEASURES = ("rsa", "cka")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = BertForSequenceClassification(make_config(arguments.layers, arguments.width))
    texts = draw_sentences(arguments.sentences)
    question = ask(texts, None, MEASURES, None, None, make_tokenizer(), "texts")
    seconds, tables = {}, {}
    with tempfile.TemporaryDirectory() as folder:

        def begin(name, trained):
            names = ("model", "its beginning")
            return Against(
                model, Path(folder) / name, question, names, tqdm(disable=True), trained
            )

        ways = {"in memory": begin("memory", model), "by files": begin("files", None)}
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.1 * 0.02 * torch.randn_like(weight)
        for way, against in ways.items():
            seconds[way], _ = timed(against.measure, model, 1)
            tables[way] = against.course.table
    assert tables["in memory"].equals(tables["by files"])
    print(f"{arguments.sentences} sentences, {arguments.layers} layers of width {arguments.width}")
    for way, taken in seconds.items():
        print(f"{way:16}{taken:8.1f} CPU s")
    print(f"ratio {seconds['by files'] / seconds['in memory']:.2f}")


if __name__ == "__main__":
    main()
