"""Words of activation files, beside means by hand."""

import numpy as np
import pytest

from bertshift.activations.store import Activations, writing
from bertshift.activations.words import words_of, write_words
from bertshift.errors import UserError

ROWS = [{"id": "1", "text_a": "so be  it,", "text_b": "then go"}, {"id": "2", "text_a": "no way"}]
# Of each text: (segment, start, end), or None of a special token.
PIECES = [
    [
        None,
        (0, 0, 1),
        (0, 1, 2),
        (0, 3, 5),
        (0, 7, 9),
        (0, 9, 10),
        None,
        (1, 0, 4),
        (1, 4, 7),
        None,
    ],
    [None, (0, 0, 6), None],  # one token of two words
]
WIDE = [[(0, 0, 5), (0, 5, 10), (1, 0, 7)], [(0, 0, 2), (0, 2, 6)]]


def write(path, pieces, seed):
    tokens = [piece for text in pieces for piece in text]
    lengths = np.array([len(text) for text in pieces])
    spans = np.array([piece or (0, 0, 0) for piece in tokens])
    index = {
        "token_ids": np.arange(len(tokens), dtype=np.int32),
        "special": np.array([piece is None for piece in tokens]),
        "char_start": spans[:, 1].astype(np.int32),
        "char_end": spans[:, 2].astype(np.int32),
        "segment": spans[:, 0].astype(np.uint8),
        "example_offsets": np.append(0, np.cumsum(lengths)),
        "map_offsets": np.append(0, np.cumsum(lengths**2)),
        "example_ids": np.array(["1", "2"]),
    }
    states = np.random.default_rng(seed).normal(size=(2, len(tokens), 3)).astype(np.float32)
    with writing(path, index, 1, 3) as writer:
        for layer in (0, 1):
            for example, start in enumerate(index["example_offsets"][:-1]):
                end = start + lengths[example]
                writer.hidden(layer, example, states[layer, start:end])
    return states


def test_a_word_is_the_mean_of_its_tokens_in_both_files(tmp_path):
    fine = write(tmp_path / "fine.npz", PIECES, 0)
    wide = write(tmp_path / "wide.npz", WIDE, 1)
    files = {tmp_path / f"{name}.npz": tmp_path / f"{name}-words.npz" for name in ("fine", "wide")}
    write_words(files, ROWS)
    found, other = (Activations(file) for file in files.values())
    assert [word.text for row in ROWS for word in words_of(row)] == [
        "so", "be", "it,", "then", "go", "no", "way",
    ]  # fmt: skip
    assert found.offsets.tolist() == other.offsets.tolist() == [0, 5, 7]
    by_hand = [[1, 2], [3], [4, 5], [7], [8], [11], [11]]
    expected = np.array([fine[1][tokens].mean(axis=0) for tokens in by_hand])
    assert found.hidden(1) == pytest.approx(expected, abs=1e-6)
    by_hand = [[0], [0], [1], [2], [2], [3], [4]]
    expected = np.array([wide[1][tokens].mean(axis=0) for tokens in by_hand])
    assert other.hidden(1) == pytest.approx(expected, abs=1e-6)
    assert found.token_ids.tolist() == other.token_ids.tolist() and not found.special.any()


def test_a_word_that_one_file_lacks_is_in_none(tmp_path):
    write(tmp_path / "all.npz", PIECES, 0)
    write(tmp_path / "some.npz", [PIECES[0][:6] + PIECES[0][8:], PIECES[1]], 1)
    files = {tmp_path / f"{name}.npz": tmp_path / f"{name}-words.npz" for name in ("all", "some")}
    write_words(files, ROWS)
    assert [Activations(file).offsets.tolist() for file in files.values()] == [[0, 4, 6]] * 2


def test_a_text_that_one_model_does_not_read_is_refused(tmp_path):
    write(tmp_path / "all.npz", PIECES, 0)
    write(tmp_path / "none.npz", [PIECES[0], [None, None]], 1)
    files = {tmp_path / f"{name}.npz": tmp_path / f"{name}-words.npz" for name in ("all", "none")}
    with pytest.raises(UserError, match="text 2 has no word that all models read"):
        write_words(files, ROWS)
