from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from made_toys import tokenizer_with

from bertshift.activations.extract import encode
from bertshift.activations.store import Activations, writing
from bertshift.files import sha256, write_json, write_jsonl
from bertshift.running.parts import PartCache

LAYERS, WIDTH = 2, 12


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


def make(folder: Path, sentences, noise=0.3, dtype="float32", cut=None) -> World:
    """Each word is 1 to 3 tokens, whose states are the vector of the word in a layer, and noise.

    cut: the word that the window has cut off.
    """
    rng = np.random.default_rng(0)
    types = sorted({*chain(*sentences)})
    tokenizer = tokenizer_with(["w", *(f"##{digit}" for digit in range(10)), *types[::2]])
    rows = [{"id": f"s{number}", "words": words} for number, words in enumerate(sentences)]
    index = encode(tokenizer, rows, max_length=64)
    offsets = index["example_offsets"]
    starts = np.repeat(offsets[:-1], np.diff(index["word_offsets"]))
    bounds = zip(starts + index["word_first"], starts + index["word_last"] + 1)
    vectors = {word: rng.normal(size=(LAYERS + 1, 1, WIDTH)) for word in types}
    states = rng.normal(size=(LAYERS + 1, offsets[-1], WIDTH)) * noise
    for word, (first, end) in zip(chain(*sentences), bounds, strict=True):
        states[:, first:end] += vectors[word]
    if cut is not None:
        index["word_first"][cut] = index["word_last"][cut] = -1
    world = World(folder)
    folder.mkdir(exist_ok=True)
    with writing(world.activations, index, LAYERS, WIDTH, dtype=dtype) as writer:
        for layer in range(LAYERS + 1):
            for example, bounds in enumerate(pairwise(offsets)):
                writer.hidden(layer, example, states[layer, slice(*bounds)])
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
