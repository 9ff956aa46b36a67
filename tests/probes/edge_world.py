from dataclasses import dataclass
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
    """A file of activations that is there already, in the place of a Source."""

    path: Path
    folder: Path | None = None

    def recipe(self):
        return {"file": sha256(self.path)}

    def written(self, _):
        return Activations(self.path)


@dataclass
class Made:
    """Stimuli, activations and edge folders as the workflow makes them, of random words and hidden
    states."""

    folder: Path

    @property
    def sentences(self) -> Path:
        return self.folder / "stimuli.jsonl"

    @property
    def activations(self) -> Path:
        return self.folder / "run.npz"

    @property
    def source(self) -> Stored:
        return Stored(self.activations)

    @property
    def kept(self) -> PartCache:
        return PartCache(self.folder / "parts", "code")

    def edges(
        self, task: str, spans: int, splits: dict[str, list[dict]], multilabel: bool = False
    ) -> Path:
        folder = self.folder / task
        folder.mkdir(exist_ok=True)
        said = [
            t["label"]
            for records in splits.values()
            for record in records
            for t in record["targets"]
        ]
        labels = sorted(
            {label for each in said for label in ([each] if isinstance(each, str) else each)}
        )
        for split, records in splits.items():
            write_jsonl(folder / f"{split}.jsonl", records)
        counts = {split: {} for split in splits}
        sidecar = {"spans": spans, "multilabel": multilabel, "labels": labels, "counts": counts}
        write_json(folder / "edges.json", sidecar)
        return folder


def record(words, *targets):
    """targets: (label, span1, perhaps span2)"""
    found = [
        {"label": label} | {f"span{n}": list(span) for n, span in enumerate(spans, 1)}
        for label, *spans in targets
    ]
    return {"words": list(words), "targets": found}


def make(
    folder: Path,
    sentences: list[list[str]],
    pieces: int = 2,
    noise: float = 0.3,
    dtype: str = "float32",
    cut: int | None = None,
) -> Made:
    """Each word is 1 to `pieces` tokens; a token's state is its word's own vector, a layer's, and
    noise.

    cut: the word that the window has cut off.
    """
    rng = np.random.default_rng(0)
    types = sorted({word for words in sentences for word in words})
    vectors = {word: rng.normal(size=(LAYERS + 1, WIDTH)) for word in types}
    sizes = {word: 1 + number % pieces for number, word in enumerate(types)}
    tokens = [
        ["", *(word for word in words for _ in range(sizes[word])), ""] for words in sentences
    ]
    ends = [np.cumsum([sizes[word] for word in words]) for words in sentences]
    lengths = np.array([len(each) for each in tokens])
    flat = [word for each in tokens for word in each]
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
        "word_last": np.concatenate(ends).astype(np.int32),
        "word_first": np.concatenate(
            [end - [sizes[word] for word in words] + 1 for end, words in zip(ends, sentences)]
        ).astype(np.int32),
    }
    if cut is not None:
        index["word_first"][cut] = index["word_last"][cut] = -1
    result = Made(folder)
    folder.mkdir(exist_ok=True)
    with writing(result.activations, index, LAYERS, WIDTH, dtype=dtype) as writer:
        for layer in range(LAYERS + 1):
            for example, start in enumerate(index["example_offsets"][:-1]):
                writer.hidden(layer, example, states[layer, start : start + lengths[example]])
    rows = [{"id": f"s{number}", "words": words} for number, words in enumerate(sentences)]
    write_jsonl(result.sentences, rows)
    return result


def random_sentences(
    count: int, types: int = 40, longest: int = 9, seed: int = 0
) -> list[list[str]]:
    """Distinct sentences of random words."""
    rng = np.random.default_rng(seed)
    found = {}
    while len(found) < count:
        found[tuple(f"w{word}" for word in rng.integers(types, size=rng.integers(4, longest)))] = (
            None
        )
    return [list(words) for words in found]
