from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from bertshift.activations.store import Activations, writing
from bertshift.files import sha256, write_json, write_jsonl
from bertshift.running.parts import PartCache

LAYERS, WIDTH = 2, 12

torch.set_num_threads(1)  # on matrices this small, threads only wait for each other


@dataclass(frozen=True)
class Stored:
    """A Source of activations that are in a file already."""

    path: Path
    folder: Path | None = None

    def recipe(self):
        return {"file": sha256(self.path)}

    def written(self, _):
        return Activations(self.path)


class World:
    """Stimuli, activations and edge folders as the workflow makes them, of random words and hidden
    states."""

    def __init__(self, folder: Path):
        self.folder, self.sentences = folder, folder / "stimuli.jsonl"
        self.activations = folder / "run.npz"
        self.parts = PartCache(folder / "parts", "code")

    @property
    def source(self) -> Stored:
        return Stored(self.activations)

    def edges(self, task, spans, splits: dict[str, list[dict]], multilabel=False) -> Path:
        folder = self.folder / task
        folder.mkdir(exist_ok=True)
        labels = set()
        for split, records in splits.items():
            write_jsonl(folder / f"{split}.jsonl", records)
            for target in chain(*(record["targets"] for record in records)):
                labels |= {*target["label"]} if multilabel else {target["label"]}
        sidecar = {"spans": spans, "multilabel": multilabel, "labels": sorted(labels)}
        sidecar["counts"] = {split: {} for split in splits}
        write_json(folder / "edges.json", sidecar)
        return folder


def record(words, *targets):
    """targets: (label, span1, perhaps span2)"""
    targets = [
        {"label": label} | {f"span{n}": list(span) for n, span in enumerate(spans, 1)}
        for label, *spans in targets
    ]
    return {"words": list(words), "targets": targets}


def make(folder: Path, sentences, pieces=2, noise=0.3, dtype="float32", cut=None) -> World:
    """Each word is 1 to `pieces` tokens; a token's state is the vector of its word in a layer, and
    noise.

    cut: the word that the window has cut off.
    """
    rng = np.random.default_rng(0)
    types = sorted({*chain(*sentences)})
    vectors = {word: rng.normal(size=(LAYERS + 1, WIDTH)) for word in types}
    sizes = {word: 1 + number % pieces for number, word in enumerate(types)}
    tokens, first, last = [], [], []
    for words in sentences:
        ends = np.cumsum([sizes[word] for word in words])
        last.extend(ends)
        first.extend(ends - [sizes[word] - 1 for word in words])
        tokens.append(["", *(word for word in words for _ in range(sizes[word])), ""])
    lengths = np.array([len(words) for words in tokens])
    flat = [*chain(*tokens)]
    states = rng.normal(size=(LAYERS + 1, len(flat), WIDTH)) * noise
    for position, word in enumerate(flat):
        if word:
            states[:, position] += vectors[word]
    index = {
        "token_ids": np.array([types.index(word) + 1 if word else 0 for word in flat], np.int32),
        "special": np.array([not word for word in flat]),
        "segment": np.zeros(len(flat), np.uint8),
        "example_offsets": np.append(0, np.cumsum(lengths)),
        "map_offsets": np.append(0, np.cumsum(lengths**2)),
        "example_ids": np.array([f"s{number}" for number in range(len(sentences))]),
        "word_offsets": np.append(0, np.cumsum([len(words) for words in sentences])),
        "word_last": np.array(last, np.int32),
        "word_first": np.array(first, np.int32),
    }
    if cut is not None:
        index["word_first"][cut] = index["word_last"][cut] = -1
    world = World(folder)
    folder.mkdir(exist_ok=True)
    with writing(world.activations, index, LAYERS, WIDTH, dtype=dtype) as writer:
        for layer in range(LAYERS + 1):
            for example, start in enumerate(index["example_offsets"][:-1]):
                writer.hidden(layer, example, states[layer, start : start + lengths[example]])
    rows = [{"id": f"s{number}", "words": words} for number, words in enumerate(sentences)]
    write_jsonl(world.sentences, rows)
    return world


def random_sentences(count, types=40, longest=9) -> list[list[str]]:
    """Distinct sentences of random words."""
    rng = np.random.default_rng(0)
    sentences = {}
    while len(sentences) < count:
        numbers = rng.integers(types, size=rng.integers(4, longest))
        sentences[tuple(f"w{number}" for number in numbers)] = None
    return [list(words) for words in sentences]
