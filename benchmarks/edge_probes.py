"""A training step of edge probes from stored hidden states, against one that encodes its sentences
again; CPU time.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/edge_probes.py [--probes 4] [--mirror DIRECTORY]

BERT-base with random weights, and one label of 48 a word as in part-of-speech probing. Sentences
have the lengths of English Web Treebank (mean 16 words; or those of the mirror's
UD_English-EWT/en_ewt-ud-dev.conllu) and random word pieces, 1.2 a word. A sentence is encoded
together with those of its length, as the workflow does it: without padding.
"""

import argparse
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import torch
from transformers import BertConfig, BertModel

from bertshift.activations.store import Activations, writing
from bertshift.data import conllu
from bertshift.probes.bank import Bank, Examples, Features, Probe, train
from bertshift.probes.edge import MICRO_F1
from bertshift.probes.settings import ProbeSettings
from bertshift.probes.spans import PieceTargets, SpanTokens

LABELS = 48


def sentence_lengths(mirror, count, rng):
    """Words of each sentence."""
    if mirror is None:
        return np.clip(rng.gamma(1.5, 11, count).astype(int), 1, 80)
    rows, _ = conllu.read(Path(mirror) / "UD_English-EWT/en_ewt-ud-dev.conllu", {})
    return np.array([len(row["words"]) for row in rows[:count]])


def index_of(words, rng):
    """Members of an activation file for sentences of so many words."""
    pieces = 1 + (rng.random(words.sum()) < 0.2)
    ends = [np.cumsum(each) for each in np.split(pieces, np.cumsum(words)[:-1])]
    lengths = np.array([each[-1] + 2 for each in ends])
    return {
        "token_ids": rng.integers(1000, 30000, lengths.sum()).astype(np.int32),
        "special": np.zeros(lengths.sum(), bool),
        "segment": np.zeros(lengths.sum(), np.uint8),
        "example_offsets": np.append(0, np.cumsum(lengths)),
        "map_offsets": np.append(0, np.cumsum(lengths**2)),
        "example_ids": np.arange(len(words)).astype(str),
        "word_offsets": np.append(0, np.cumsum(words)),
        "word_first": (np.concatenate(ends) - pieces + 1).astype(np.int32),
        "word_last": np.concatenate(ends).astype(np.int32),
    }


def encode(model, index, examples, writer=None):
    """Forward passes of `examples`, equal lengths together."""
    lengths = np.diff(index["example_offsets"])
    for length in np.unique(lengths[examples]):
        same = examples[lengths[examples] == length]
        rows = index["example_offsets"][same][:, None] + np.arange(length)
        with torch.inference_mode():
            ids = torch.from_numpy(index["token_ids"][rows].astype(np.int64))
            states = model(ids, output_hidden_states=True).hidden_states
        for layer, values in enumerate(states if writer else ()):
            for example, value in zip(same, values.numpy()):
                writer.hidden(layer, example, value)


def split_of(activations, rng):
    """Every word a target with a random label."""
    words = np.diff(activations.word_offsets)
    record = np.repeat(np.arange(len(words)), words)
    start = (activations.offsets[record] + activations.word_first)[None]
    end = (activations.offsets[record] + activations.word_last)[None] + 1
    spans = SpanTokens(
        PieceTargets(np.arange(len(words)), record, start, end, np.arange(len(record)), 0)
    )
    labels = np.eye(LABELS, dtype=bool)[rng.integers(LABELS, size=len(record))][None]
    return Examples(spans, Features(activations, spans.tokens), torch.from_numpy(labels))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mirror")
    parser.add_argument("--probes", type=int, default=4)
    parser.add_argument("--sentences", type=int, default=160)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--probe-width", type=int, default=256)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    index = index_of(sentence_lengths(arguments.mirror, arguments.sentences, rng), rng)
    config = BertConfig(
        num_hidden_layers=arguments.layers,
        hidden_size=arguments.width,
        num_attention_heads=arguments.width // 64,
        intermediate_size=4 * arguments.width,
    )
    model = BertModel(config).eval()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        with writing(path, index, arguments.layers, arguments.width, dtype="float16") as writer:
            encode(model, index, np.arange(arguments.sentences), writer)
        examples = split_of(Activations(path), rng)

    batches = rng.permutation(arguments.sentences)[: 2 * arguments.batch].reshape(2, -1)
    start = process_time()
    for batch in batches:
        encode(model, index, batch)
    encoding = (process_time() - start) / len(batches)

    def step(probes):
        """Seconds of one step of a bank; a validation of one record is in it."""
        settings = ProbeSettings(
            width=arguments.probe_width,
            max_steps=arguments.steps,
            max_dev=1,
            batch_records=arguments.batch,
        )
        layers = tuple(range(arguments.layers + 1))
        bank = Bank(
            [Probe(layers, 0, seed) for seed in range(probes)], examples, settings, "benchmark"
        )
        began = process_time()
        train(bank, examples, examples.records, examples, MICRO_F1)
        return (process_time() - began) / arguments.steps

    one, bank = step(1), step(arguments.probes)
    tokens = len(index["token_ids"]) * arguments.batch // arguments.sentences
    print(
        f"{arguments.layers} layers of width {arguments.width}, {arguments.batch} sentences, {tokens} word pieces"
    )
    print(f"{'a step of':32}{'stored, s':>12}{'encoding, s':>14}{'ratio':>8}")
    for name, seconds in (("one probe", one), (f"{arguments.probes} probes, a bank", bank)):
        again = encoding + seconds
        print(f"{name:32}{seconds:12.4f}{again:14.4f}{again / seconds:8.1f}")


if __name__ == "__main__":
    main()
