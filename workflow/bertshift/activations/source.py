"""From a model's folder to its activation files."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bertshift.activations.extract import extract
from bertshift.activations.sampling import sampled
from bertshift.activations.store import Activations
from bertshift.files import read_jsonl, sha256
from bertshift.models.loading import MODEL_FILES, load_encoder
from bertshift.models.tokenizer import load_tokenizer
from bertshift.tasks.inference import best_device


def dump(
    folder: Path,
    stimuli: Mapping[Path, Sequence[dict]],
    max_length: int,
    attention: bool,
    precision: str,
    sample: int | None = None,
) -> None:
    """Write the activations of the model in `folder` for each set of inputs. A file is named by
    the run and its folder by the inputs.

    stimuli: {activation file: rows}
    attention, precision: as in `extract`
    sample: the number of tokens, where only those of `sampled` are stored
    """
    model = load_encoder(folder).to(best_device())
    tokenizer = load_tokenizer(folder)
    for out, rows in stimuli.items():
        print(f"activations: {folder}, {out}: {len(rows)} inputs", file=sys.stderr, flush=True)
        tokens = partial(sampled, count=sample, stimuli=out.parent.name) if sample else None
        extract(model, tokenizer, rows, out, max_length, attention, dtype=precision, tokens=tokens)


@dataclass(frozen=True)
class Source:
    """The hidden states of the model in `folder` for the inputs in `stimuli`, as probes read them:
    all, in float16."""

    folder: Path
    stimuli: Path
    max_length: int

    def recipe(self) -> dict:
        """Describe all that the states depend on apart from code, as the recipe of a part."""
        files = [self.stimuli, *(self.folder / name for name in MODEL_FILES)]
        return {
            "files": [sha256(file) for file in files if file.is_file()],
            "max_length": self.max_length,
        }

    def written(self, path: Path) -> Activations:
        """Extract the states into `path`. An existing file is deleted first: the disk never holds
        two."""
        path.unlink(missing_ok=True)
        rows = list(read_jsonl(self.stimuli))
        dump(self.folder, {path: rows}, self.max_length, attention=False, precision="float16")
        return Activations(path)


def sources(settings: Mapping, stimuli: Path) -> dict[tuple[int, int], Source]:
    """Map (init, seed) to Source by a rule's `runs` {run: [init, seed]}, `folders` {run: folder}
    and `max_length`."""
    result = {}
    for run, (init, seed) in settings["runs"].items():
        folder = Path(settings["folders"][run])
        result[init, seed] = Source(folder, Path(stimuli), settings["max_length"])
    return result
