from types import SimpleNamespace

import numpy as np
import pytest

from bertshift.activations.store import Maps
from bertshift.errors import UserError
from bertshift.metrics.attention_to import per_kind, token_kinds, word_of_token


def text(words, upos, deprels):
    words = words.split()
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = ends - [len(word) for word in words]
    return {"start": starts.tolist(), "end": ends.tolist(), "words": words, "upos": upos.split(),
            "deprels": deprels.split()}  # fmt: skip


# [CLS] He did n't see [SEP] Dogs bark . [SEP], "did" as two pieces; then [CLS] ? [SEP]
TEXTS = [
    {"id": "0",
     "text_a": text("He did n't see", "PRON AUX PART VERB", "nsubj:pass aux advmod root"),
     "text_b": text("Dogs bark .", "NOUN VERB PUNCT", "nsubj root punct")},
    {"id": "1", "text_a": text("?", "PUNCT", "root")},
]  # fmt: skip
LENGTHS = [11, 3]
SPECIAL = np.array([1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1], bool)
STARTS = np.array([0, 0, 3, 5, 7, 11, 0, 0, 5, 10, 0, 0, 0, 0])
SEGMENT = np.array([0] * 7 + [1] * 4 + [0] * 3)
KINDS = {
    "cls": [0, 11], "sep": [6, 10, 13], "punct": [9, 12], "noun": [7], "verb": [2, 3, 5, 8], "pron": [1], "subj": [1, 7],
    "obj": [], "neg": [4],
}  # fmt: skip


def make_tokens(offsets, special, char_start, segment):
    offsets, ids = np.array(offsets), np.arange(len(offsets) - 1).astype(str)
    return SimpleNamespace(path="x.npz", ids=ids, offsets=offsets, special=np.array(special, bool),
                           char_start=np.array(char_start), segment=np.array(segment))  # fmt: skip


TOKENS = make_tokens([0, 11, 14], SPECIAL, STARTS, SEGMENT)


def positions_by_kind(tokens, texts):
    return {kind: positions.tolist() for kind, positions in token_kinds(tokens, texts).items()}


def test_pieces_are_of_the_kinds_of_their_words():
    assert word_of_token(TOKENS, TEXTS).tolist() == [-1, 0, 1, 1, 2, 3, -1, 4, 5, 6, -1, -1, 7, -1]
    assert positions_by_kind(TOKENS, TEXTS) == KINDS
    with pytest.raises(UserError, match="hold different inputs"):
        word_of_token(TOKENS, TEXTS[::-1])


def test_kinds_hold_as_the_tokenizer_cuts_and_the_window_ends(capsys):
    """Offsets of characters decide, not numbers of pieces: of n't the last two pieces are n't,
    whatever the first is."""
    do_not = {"id": "0", "text_a": {"start": [0, 2], "words": ["do", "N’T"],
                                    "upos": ["AUX", "PART"],
                                    "deprels": ["root", "advmod"]}}  # fmt: skip
    # [CLS] don ' t, and a piece of the spaces behind
    tokens = make_tokens([0, 5], [1, 0, 0, 0, 0], [0, 0, 3, 4, 7], [0] * 5)
    assert positions_by_kind(tokens, [do_not])["neg"] == [2, 3, 4]
    assert word_of_token(tokens, [{"id": "0", "text_a": {}}]).tolist() == [-1] * 5
    assert "4 of 5 word pieces are of a text without words" in capsys.readouterr().err


def test_a_decoders_first_token_is_of_no_other_kind():
    """Without [CLS] and [SEP] "He" comes first: heads rest on it for its position, not for the
    pronoun."""
    words = np.flatnonzero(~SPECIAL)
    tokens = make_tokens([0, 8, 9], [0] * 9, STARTS[words], SEGMENT[words])
    assert positions_by_kind(tokens, TEXTS) == {
        "cls": [0, 8], "sep": [], "punct": [7], "noun": [5], "verb": [1, 2, 4, 6], "pron": [], "subj": [5], "obj": [],
        "neg": [3],
    }  # fmt: skip


def test_same_as_its_definition():
    """One example, head and token at a time."""
    rng = np.random.default_rng(0)
    maps = [rng.dirichlet(np.ones(n), (3, n)).astype(np.float32) for n in LENGTHS]
    norms = rng.uniform(0.1, 3, size=(3, sum(LENGTHS)))
    flat = np.concatenate(list(map(np.ravel, maps)))
    kinds = {kind: np.array(positions, int) for kind, positions in KINDS.items()}
    attention = per_kind(Maps(flat, np.array([0, 121, 130]), np.array(LENGTHS)), norms, kinds)
    assert len(attention) == 6 * 9 and ("obj", "received") not in attention
    for (kind, variant), values in attention.items():
        combine, positions = (sum, KINDS["sep"]) if kind == "sep_sum" else (max, KINDS[kind])
        expected = []
        for start, length, heads in zip((0, 11), LENGTHS, maps, strict=True):
            columns = [j - start for j in positions if 0 <= j - start < length]
            weights = heads.astype(float)
            weights = weights.mean(axis=1) if "received" in variant else weights[:, 0]
            if "_norm" in variant:
                weights = weights * norms[:, start : start + length]
            if "_share" in variant:
                weights = weights / weights.sum(axis=1, keepdims=True)
            if columns:
                expected.append([combine(row[columns]) for row in weights])
        np.testing.assert_allclose(values, expected, rtol=1e-12)
