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


@pytest.fixture
def tokens():
    offsets = np.array([0, 11, 14])
    return SimpleNamespace(
        path="x.npz", ids=np.array(["0", "1"]), offsets=offsets, lengths=np.diff(offsets), special=SPECIAL,
        char_start=STARTS, segment=SEGMENT,
    )  # fmt: skip


def test_pieces_are_of_the_kinds_of_their_words(tokens):
    assert word_of_token(tokens, TEXTS).tolist() == [-1, 0, 1, 1, 2, 3, -1, 4, 5, 6, -1, -1, 7, -1]
    assert {kind: places.tolist() for kind, places in token_kinds(tokens, TEXTS).items()} == KINDS


def test_kinds_hold_as_the_tokenizer_cuts_and_the_window_ends(tokens, capsys):
    """Offsets of characters decide, not numbers of pieces: of n't the last two pieces are n't,
    whatever the first is."""
    one = {"id": "0", "text_a": {"start": [0, 2], "end": [2, 5], "words": ["do", "N’T"], "upos": ["AUX", "PART"],
                                 "deprels": ["root", "advmod"]}}  # fmt: skip
    tokens.ids, tokens.offsets = np.array(["0"]), np.array([0, 5])
    tokens.special, tokens.segment = np.array([1, 0, 0, 0, 0], bool), np.zeros(5, int)
    tokens.char_start = np.array(
        [0, 0, 3, 4, 7]
    )  # [CLS] don ' t, and a piece of the spaces behind
    assert token_kinds(tokens, [one])["neg"].tolist() == [2, 3, 4]
    assert word_of_token(tokens, [{"id": "0", "text_a": {}}]).tolist() == [-1] * 5
    assert "4 of 5 word pieces are of a text without words" in capsys.readouterr().err
    with pytest.raises(UserError, match="hold different inputs"):
        word_of_token(tokens, [one | {"id": "7"}])


def test_a_decoders_first_token_is_of_no_other_kind(tokens):
    """Without [CLS] and [SEP] "He" comes first: heads rest on it for its place, not for the
    pronoun."""
    own = np.array([1, 2, 3, 4, 5, 7, 8, 9, 12])
    tokens.offsets, tokens.special = np.array([0, 8, 9]), np.zeros(9, bool)
    tokens.char_start, tokens.segment = STARTS[own], SEGMENT[own]
    assert {kind: places.tolist() for kind, places in token_kinds(tokens, TEXTS).items()} == {
        "cls": [0, 8], "sep": [], "punct": [7], "noun": [5], "verb": [1, 2, 4, 6], "pron": [], "subj": [5], "obj": [],
        "neg": [3],
    }  # fmt: skip


def test_same_as_its_definition():
    """One example, head and token at a time."""
    rng = np.random.default_rng(0)
    maps = [rng.dirichlet(np.ones(n), (3, n)).astype(np.float32) for n in LENGTHS]
    norms = rng.uniform(0.1, 3, size=(3, sum(LENGTHS)))
    flat = np.concatenate([one.ravel() for one in maps])
    kinds = {kind: np.array(places, int) for kind, places in KINDS.items()}
    found = per_kind(Maps(flat, np.array([0, 121, 130]), np.array(LENGTHS)), norms, kinds)
    assert len(found) == 6 * 9 and ("obj", "received") not in found
    for (kind, variant), values in found.items():
        combine, places = (sum, kinds["sep"]) if kind == "sep_sum" else (max, kinds[kind])
        expected = []
        for start, one in ((0, maps[0]), (11, maps[1])):
            own = [j - start for j in places if start <= j < start + one.shape[1]]
            each = []
            for a, f in zip(one.astype(float), norms[:, start:], strict=True):
                m = a.mean(axis=0) if variant.startswith("received") else a[0]
                m = m * f[: len(m)] if "_norm" in variant else m
                each.append(
                    combine(m[own] / m.sum() if "_share" in variant else m[own]) if own else 0
                )
            expected += [each] if own else []
        np.testing.assert_allclose(values, expected, rtol=1e-12)
