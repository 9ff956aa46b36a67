"""A training step of edge probes from stored hidden states, against one that encodes its sentences
again; CPU time.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/edge_probes.py
        [--probes 4] [--mirror DIRECTORY]

BERT-base with random weights, and one label of 48 a word as in part-of-speech probing. Sentences
have the lengths of English Web Treebank (mean 16 words; or those of the mirror's
UD_English-EWT/en_ewt-ud-dev.conllu) and random word pieces, 1.2 a word. A sentence is encoded
together with those of its length, as the workflow does it: without padding.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from made_activations import make_index
from timing import timed
from transformers import BertConfig, BertModel

from bertshift.activations.store import Activations, writing
from bertshift.data import conllu
from bertshift.probes.bank import Bank, Features, Probe, TaskSplit, train
from bertshift.probes.edge import MICRO_F1
from bertshift.probes.settings import ProbeSettings
from bertshift.probes.spans import PieceTargets, SpanTokens

LABELS = 48


def sentence_lengths(mirror, count, rng):
    """Return the number of words of each sentence."""
    if mirror is None:
        return np.clip(rng.gamma(1.5, 11, count).astype(int), 1, 80)
    rows, _ = conllu.read(Path(mirror) / "UD_English-EWT/en_ewt-ud-dev.conllu", {})
    return np.array([len(row["words"]) for row in rows[:count]])


def make_word_index(words, rng):
    """Return the members of an activation file for sentences of these numbers of words."""
    pieces = 1 + (rng.random(words.sum()) < 0.2)
    last_pieces = [np.cumsum(counts) for counts in np.split(pieces, np.cumsum(words)[:-1])]
    lengths = np.array([last[-1] + 2 for last in last_pieces])
    word_last = np.concatenate(last_pieces)
    return make_index(lengths) | {
        "token_ids": rng.integers(1000, 30000, lengths.sum()).astype(np.int32),
        "word_offsets": np.append(0, np.cumsum(words)),
        "word_first": (word_last - pieces + 1).astype(np.int32),
        "word_last": word_last.astype(np.int32),
    }


def encode(model, index, examples, writer=None):
    """Pass `examples` forward, equal lengths together; store the states if there is a writer."""
    lengths = np.diff(index["example_offsets"])
    for length in np.unique(lengths[examples]):
        same_length = examples[lengths[examples] == length]
        tokens = index["example_offsets"][same_length][:, None] + np.arange(length)
        with torch.inference_mode():
            ids = torch.from_numpy(index["token_ids"][tokens].astype(np.int64))
            states = model(ids, output_hidden_states=True).hidden_states
        if writer:
            for layer, values in enumerate(states):
                for example, value in zip(same_length, values.numpy()):
                    writer.hidden(layer, example, value)


def label_words(activations, rng):
    """Make every word a target with a random label."""
    words = np.diff(activations.word_offsets)
    record = np.repeat(np.arange(len(words)), words)
    start = (activations.offsets[record] + activations.word_first)[None]
    end = (activations.offsets[record] + activations.word_last)[None] + 1
    targets = PieceTargets(np.arange(len(words)), record, start, end, np.arange(len(record)), 0)
    spans = SpanTokens(targets)
    labels = np.eye(LABELS, dtype=bool)[rng.integers(LABELS, size=len(record))][None]
    return TaskSplit(spans, Features(activations, spans.tokens), torch.from_numpy(labels))


def step_seconds(examples, probes, arguments):
    """Return the seconds of one step of a bank, validation of one record included."""
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
    seconds, _ = timed(train, bank, examples, examples.records, examples, MICRO_F1)
    return seconds / arguments.steps


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
    words = sentence_lengths(arguments.mirror, arguments.sentences, rng)
    index = make_word_index(words, rng)
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
        examples = label_words(Activations(path), rng)

    batches = rng.permutation(arguments.sentences)[: 2 * arguments.batch].reshape(2, -1)
    encoding = np.mean([timed(encode, model, index, batch)[0] for batch in batches])
    one_probe = step_seconds(examples, 1, arguments)
    bank = step_seconds(examples, arguments.probes, arguments)
    tokens = len(index["token_ids"]) * arguments.batch // arguments.sentences
    print(
        f"{arguments.layers} layers of width {arguments.width}, {arguments.batch} sentences,"
        f" {tokens} word pieces"
    )
    print(f"{'a step of':32}{'stored, s':>12}{'encoding, s':>14}{'ratio':>8}")
    for name, stored in (
        ("one probe", one_probe),
        (f"{arguments.probes} probes, a bank", bank),
    ):
        encoded = encoding + stored
        print(f"{name:32}{stored:12.4f}{encoded:14.4f}{encoded / stored:8.1f}")


if __name__ == "__main__":
    main()
