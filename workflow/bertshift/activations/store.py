"""Activation files: an NPZ of real tokens only, whose members are read one at a time through a
memory map.

Members, in this order (n examples, N real tokens, L layers, H heads, d width):

    token_ids             [N] int32
    special               [N] bool
    segment               [N] uint8
    char_start, char_end  [N] int32    span in the text of the token's segment; 0, 0 if special
    example_offsets       [n+1] int64  example i owns tokens example_offsets[i] to [i+1]
    map_offsets           [n+1] int64  cumulated squared lengths
    example_ids           [n] unicode
    word_offsets          [n+1] int64  example i owns words word_offsets[i] to [i+1]
    word_first, word_last [W] int32    a word's tokens, counted from its example's first = 0; -1
                                       where max_length cut them off
    kept_tokens           [K] int64    the tokens that have hidden states, rising
    hidden_00 .. hidden_LL             [N, d] or [K, d], float32 (or float16, see below); layer 0
                                       is the embedding output
    attention_01 .. attention_LL       [H * map_offsets[n]] float32, example after example, each
                                       [H, length, length]

A file has words only where the stimuli are words, `kept_tokens` only for a sample of tokens, and
attention only where the metrics need it.

Both are float32 where models are compared. The table has the relative error of a metric, in the
worst layer, if they were stored in 16 bits instead (`benchmarks/storage_precision.py`: BERT-base
with random weights against a copy moved by a share of their size; a metric's size grows with the
square of the share):

    weights moved   metric        its size          float16   bfloat16
    0.1 %           JS            2e-6 .. 8e-6       0.4 %      32 %
                    1 - RSA       3e-7 .. 6e-6        10 %     330 %
                    SVCCA         1e-6 .. 2e-5        20 %     600 %
    1 %             JS            2e-4 .. 8e-4     0.006 %     0.3 %
                    1 - RSA       3e-5 .. 7e-4       0.1 %     7.5 %
                    SVCCA         1e-4 .. 2e-3         3 %      18 %

Lower layers can move as little as that, and the papers' figures compare them with the upper ones.

Probes read one model's hidden states, and for them float16 does: edge probes trained on float16
instead of float32 states of the demo's encoder differ by at most 0.0007 in F1 (SRL; 0 for
dependencies), and not at all if only tested on them; probe seeds differ by 0.003 to 0.008
(standard deviation; 400 steps, 6 probes a task).
"""

import math
import os
import shutil
import struct
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bertshift.errors import UserError

KEPT = "kept_tokens"
ALIGNMENT = 64
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def hidden_name(layer: int) -> str:
    return f"hidden_{layer:02d}"


def attention_name(layer: int) -> str:
    return f"attention_{layer:02d}"


class Maps(Sequence):
    """One layer's attention maps: `maps[i]` is [heads, length_i, length_i] (query, key), a view of
    the file.

    `flat` holds all of them one after the other, `lengths` [n] the examples' lengths in tokens.
    """

    def __init__(self, flat: np.ndarray, map_offsets: np.ndarray, lengths: np.ndarray):
        self.flat = flat
        self.lengths = lengths
        self.heads = len(flat) // int(map_offsets[-1])
        self._starts = map_offsets * self.heads

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, example: int) -> np.ndarray:
        example = range(len(self))[example]
        length = self.lengths[example]
        values = self.flat[self._starts[example] : self._starts[example + 1]]
        return values.reshape(self.heads, length, length)


class Activations:
    """An activation file opened for reading; small members are loaded, a layer is memory-mapped
    when first read.

    Attributes: layers (transformer layers, the embedding output not counted), width, heads (None
    without attention), examples, ids [n], offsets [n+1], lengths [n], token_ids, special, segment,
    char_start, char_end [N]; word_offsets [n+1], word_first, word_last [W] where the stimuli are
    words. UserError where the file is missing or is not a complete activation file.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._starts = _member_starts(self.path)
        needed = {"token_ids", "special", "example_offsets", "map_offsets", hidden_name(0)}
        if missing := needed - set(self._starts):
            raise UserError(
                f"{path} is not an activation file: it lacks {', '.join(sorted(missing))}."
            )
        self.offsets = self._load("example_offsets")
        self.lengths = np.diff(self.offsets)
        self.ids = self._load("example_ids")
        self.token_ids = self._load("token_ids")
        self.special = self._load("special")
        self.segment = self._load("segment")
        self.examples = len(self.lengths)
        self.layers = sum(name.startswith("hidden_") for name in self._starts) - 1

    @cached_property
    def char_start(self) -> np.ndarray:
        return self._load("char_start")

    @cached_property
    def char_end(self) -> np.ndarray:
        return self._load("char_end")

    @cached_property
    def word_offsets(self) -> np.ndarray:
        return self._words("word_offsets")

    @cached_property
    def word_first(self) -> np.ndarray:
        return self._words("word_first")

    @cached_property
    def word_last(self) -> np.ndarray:
        return self._words("word_last")

    @cached_property
    def width(self) -> int:
        return self._map(hidden_name(0)).shape[1]

    @cached_property
    def heads(self) -> int | None:
        return self.attention(1).heads if attention_name(1) in self._starts else None

    def example_of_token(self) -> np.ndarray:
        """Return the index [N] of the example that each token belongs to."""
        return np.repeat(np.arange(self.examples), self.lengths)

    def hidden(self, layer: int) -> np.ndarray:
        """Return hidden states [N, d] in float32 or float16, memory-mapped; layer 0 is the
        embedding output.

        UserError where the file holds a sample of tokens only: ask for `states` of these.
        """
        if self._kept is not None:
            raise UserError(
                f"{self.path} holds {len(self._kept)} of {len(self.token_ids)} tokens, not all:"
                " extract it again."
            )
        return self._map(hidden_name(layer))

    def states(self, layer: int, positions: np.ndarray) -> np.ndarray:
        """Return hidden states [n, d] of the tokens at `positions` [n]. UserError where one was
        not stored."""
        if self._kept is None:
            return self.hidden(layer)[positions]
        rows = np.searchsorted(self._kept, positions)
        if not np.array_equal(self._kept.take(rows, mode="clip"), positions):
            raise UserError(
                f"{self.path} holds the states of other tokens than are compared: a metric that"
                ' reads "sampled" takes those of `two_samples`, as docs/metric.md says; if yours'
                " does, delete this file and run its rule again."
            )
        return self._map(hidden_name(layer))[rows]

    def attention(self, layer: int) -> Maps:
        """Return the maps of a layer, 1..L. UserError where the file was extracted without
        attention."""
        if attention_name(1) not in self._starts:
            raise UserError(
                f"{self.path} holds no attention maps: extract it again with attention: true."
            )
        return Maps(self._map(attention_name(layer)), self._load("map_offsets"), self.lengths)

    @cached_property
    def _kept(self) -> np.ndarray | None:
        return self._load(KEPT) if KEPT in self._starts else None

    def _words(self, name: str) -> np.ndarray:
        if name not in self._starts:
            raise UserError(
                f"{self.path} does not say where words are: extract it from stimuli with words."
            )
        return self._load(name)

    def _load(self, name: str) -> np.ndarray:
        return np.array(self._map(name))

    def _map(self, name: str) -> np.ndarray:
        if name not in self._starts:
            raise UserError(f"{self.path} has no {name}: its layers are 0 to {self.layers}.")
        with open(self.path, "rb") as file:
            file.seek(self._starts[name])
            np.lib.format.read_magic(file)  # numpy writes arrays without fields as version 1.0
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
            start = file.tell()
        return np.memmap(self.path, dtype, "r", start, shape, "F" if is_fortran else "C")


def _member_starts(path: Path) -> dict[str, int]:
    """Find where each member's .npy bytes begin in the file. UserError where the file is missing
    or a member is compressed."""
    try:
        with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
            starts = {}
            for info in archive.infolist():
                if info.compress_type != zipfile.ZIP_STORED:
                    raise UserError(
                        f"{path}: {info.filename} is compressed, so it cannot be memory-mapped."
                    )
                # The local header repeats name and extra field, and only its lengths give the
                # start of the data.
                file.seek(info.header_offset + 26)
                name_length, extra_length = struct.unpack("<HH", file.read(4))
                start = info.header_offset + 30 + name_length + extra_length
                starts[info.filename.removesuffix(".npy")] = start
            return starts
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: ask Snakemake for it by this name.") from None
    except zipfile.BadZipFile:
        raise UserError(
            f"{path} is not a complete NPZ file: delete it and run its rule again."
        ) from None


class _Member:
    """A .npy file of known shape whose rows are written in any order, with nothing kept in
    memory."""

    def __init__(self, file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype):
        self._file = file
        self._dtype = dtype
        header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        self._start = file.tell()
        self._row_bytes = dtype.itemsize * math.prod(shape[1:])
        file.truncate(self._start + self._row_bytes * shape[0])

    def put(self, row: int, values: np.ndarray) -> None:
        if self._dtype == np.float16 and np.abs(values).max() > np.finfo(np.float16).max:
            raise UserError(
                f"{self._file.name}: a value is beyond float16; store these states as float32."
            )
        self._file.seek(self._start + row * self._row_bytes)
        self._file.write(np.ascontiguousarray(values, self._dtype))


class Writer:
    """Writes the arrays of one example and layer at a time, in any order."""

    def __init__(
        self,
        index: dict[str, np.ndarray],
        hidden: list[_Member],
        attention: list[_Member],
        heads: int,
    ):
        self._offsets = index["example_offsets"]
        self._map_starts = index["map_offsets"] * heads
        self._kept = index.get(KEPT)
        self._hidden = hidden
        self._attention = attention

    def hidden(self, layer: int, example: int, values: np.ndarray) -> None:
        """Write an example's hidden states, values [length, d]; layer 0 is the embedding output.
        In a file with a sample of tokens, only those are stored."""
        start = int(self._offsets[example])
        if self._kept is not None:
            first, last = np.searchsorted(self._kept, [start, start + len(values)])
            values = values[self._kept[first:last] - start]
            start = int(first)
        if len(values):
            self._hidden[layer].put(start, values)

    def attention(self, layer: int, example: int, values: np.ndarray) -> None:
        """Write an example's attention maps, values [heads, length, length]; layers count from
        1."""
        self._attention[layer - 1].put(int(self._map_starts[example]), values)


@contextmanager
def writing(
    path: str | Path,
    index: dict[str, np.ndarray],
    layers: int,
    width: int,
    heads: int = 0,
    dtype: str = "float32",
) -> Iterator[Writer]:
    """Write the activation file `path`; it appears, complete, when the block ends without an
    exception.

    The same arrays give the same bytes.

    index: the members that describe tokens and examples, as `extract.encode` makes them, and
        perhaps KEPT
    heads: attention heads a layer, 0 to store no attention
    dtype: of the hidden states
    """
    path = Path(path)
    folder = path.parent / f".{path.name}.part"
    shutil.rmtree(folder, ignore_errors=True)  # from a killed job, perhaps gigabytes
    folder.mkdir(parents=True)
    tokens = len(index.get(KEPT, index["token_ids"]))
    cells = int(index["map_offsets"][-1]) * heads
    hidden = [hidden_name(layer) for layer in range(layers + 1)]
    attention = [attention_name(layer) for layer in range(1, layers + 1)] if heads else []
    try:
        for key, array in index.items():
            np.save(folder / f"{key}.npy", array)
        with ExitStack() as stack:

            def open_member(name: str, dtype: str, *shape: int) -> _Member:
                file = stack.enter_context(open(folder / f"{name}.npy", "wb"))
                return _Member(file, shape, np.dtype(dtype))

            hidden_members = [open_member(name, dtype, tokens, width) for name in hidden]
            attention_members = [open_member(name, "float32", cells) for name in attention]
            yield Writer(index, hidden_members, attention_members, heads)
        members = [folder / f"{name}.npy" for name in [*index, *hidden, *attention]]
        _zip_members(folder / "complete", members)
        os.replace(folder / "complete", path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _zip_members(path: Path, members: Iterable[Path]) -> None:
    """Move .npy files into a stored ZIP without times, the data of each aligned for the reader."""
    with open(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for member in members:
            info = zipfile.ZipInfo(member.name, ZIP_EPOCH)
            info.file_size = member.stat().st_size
            # 30 bytes of local header, the name, 20 of ZIP64 sizes, 6 of the padding field itself.
            padding = -(file.tell() + 30 + len(member.name) + 20 + 6) % ALIGNMENT
            info.extra = struct.pack("<HHH", 0xD935, 2 + padding, ALIGNMENT) + bytes(padding)
            with open(member, "rb") as source, archive.open(info, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, 1 << 20)
            member.unlink()  # so that the disk holds the activations once, plus one member
