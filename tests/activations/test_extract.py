import copy
from itertools import pairwise

import numpy as np
import pytest
import torch
from made_toys import bert_with, tokenizer_with

from bertshift.activations.extract import encode, extract
from bertshift.activations.store import Activations
from bertshift.errors import UserError

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "dog", "ran", "un", "##able", "##s", "."]
ROWS = [
    {"id": "dev-0", "text_a": "The cats sat .", "text_b": "a dog ran unables and ran and ran ."},
    {"id": "dev-1", "text_a": "the mat"},
    {
        "id": "dev-2",
        "text_a": "a dog ran on and on and on and on",
        "text_b": "the dog sat on the mat and sat",
    },
    {"id": "dev-3", "text_a": "dog mat"},
]


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizer_with(WORDS)


@pytest.fixture(scope="module")
def model(tokenizer):
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "max_position_embeddings": 24}
    model = bert_with(tokenizer, 3, **sizes, initializer_range=0.5, attn_implementation="eager")
    return model.train()  # extract itself must turn dropout off


@pytest.fixture(scope="module")
def write(model, tokenizer):
    """write(path, ...) -> its activations."""

    def extract_rows(path, model=model, rows=ROWS, max_length=14, attention=True, **settings):
        extract(model, tokenizer, rows, path, max_length, attention, batch_tokens=8, **settings)
        return Activations(path)

    return extract_rows


@pytest.fixture(scope="module")
def activations(write, tmp_path_factory):
    return write(tmp_path_factory.mktemp("activations") / "run.npz")


def test_encoding_cuts_the_longest_text_and_keeps_spans(tokenizer):
    index = encode(tokenizer, ROWS, max_length=14)
    assert index["example_offsets"].tolist() == [0, 14, 18, 32, 36]
    third = slice(18, 32)  # 6 + 5 pieces: the tie is cut from the second
    assert index["segment"][third].tolist() == [0] * 8 + [1] * 6
    assert np.flatnonzero(index["special"][third]).tolist() == [0, 7, 13]
    spans = zip(index["segment"][:14], index["char_start"], index["char_end"], strict=False)
    pieces = [
        ROWS[0]["text_b" if segment else "text_a"][start:end] for segment, start, end in spans
    ]
    assert " ".join(pieces) == " The cat s sat .  a dog ran un able s "


def test_same_as_the_model_on_one_unpadded_example_at_a_time(activations, model):
    assert (activations.layers, activations.heads, activations.width) == (3, 2, 16)
    assert activations.ids.tolist() == [row["id"] for row in ROWS]
    for example, bounds in enumerate(pairwise(activations.offsets)):
        tokens = slice(*bounds)
        ids = torch.tensor(activations.token_ids[None, tokens])
        segment = torch.tensor(activations.segment[None, tokens], dtype=torch.long)
        with torch.inference_mode():
            output = model.eval()(
                ids, token_type_ids=segment, output_hidden_states=True, output_attentions=True
            )
        for layer, expected in enumerate(output.hidden_states):
            np.testing.assert_allclose(activations.hidden(layer)[tokens], expected[0], atol=2e-6)
        for layer, expected in enumerate(output.attentions, 1):
            maps = activations.attention(layer)
            np.testing.assert_allclose(maps[example], expected[0], atol=1e-6)


def test_same_bytes_again_and_nothing_left_behind(activations, write, tmp_path):
    again = write(tmp_path / "again.npz").path
    assert again.read_bytes() == activations.path.read_bytes()
    assert list(tmp_path.iterdir()) == [again]


def test_words_are_cut_one_by_one_and_none_gets_lost(tokenizer):
    words = [["Cats", "\u200b", "[MASK]", "unables"], ["dog", "ran"], ["unables"] * 5]
    index = encode(tokenizer, [{"id": "a", "words": row} for row in words], max_length=9)
    pieces = tokenizer.convert_ids_to_tokens(index["token_ids"])
    # "[", "mask", "]" are unknown.
    expected = "[CLS] cat ##s [UNK] [UNK] [UNK] [UNK] un [SEP] [CLS] dog ran [SEP]"
    assert pieces[:13] == expected.split()
    assert index["word_offsets"].tolist() == [0, 4, 6, 11]
    assert index["word_first"].tolist() == [1, 3, 4, -1, 1, 2, 1, 4, -1, -1, -1]
    assert index["word_last"].tolist() == [2, 3, 6, -1, 1, 2, 3, 6, -1, -1, -1]
    assert index["char_start"][:5].tolist() == [0, 0, 0, 5, 7] and index["char_end"][3] == 6
    assert not index["segment"].any() and index["special"].sum() == 6


def test_states_can_be_stored_in_half_the_space(activations, write, tmp_path):
    stored = write(tmp_path / "small.npz", dtype="float16")
    for layer in range(4):
        states = activations.hidden(layer).astype(np.float16)
        np.testing.assert_array_equal(stored.hidden(layer), states, strict=True)
    assert stored.attention(1).flat.dtype == np.float32


def test_only_a_sample_of_tokens_is_stored(activations, write, tmp_path):
    chosen = np.flatnonzero(~activations.special)[::3]
    stored = write(tmp_path / "some.npz", attention=False, tokens=lambda _: chosen)
    assert stored.path.stat().st_size < activations.path.stat().st_size / 2
    for layer in range(4):
        states = activations.hidden(layer)[chosen[1:]]
        np.testing.assert_array_equal(stored.states(layer, chosen[1:]), states)
    with pytest.raises(UserError, match=f"{len(chosen)} of 36 tokens"):
        stored.hidden(1)


def test_refusals(model, write, tmp_path):
    large, broken = copy.deepcopy(model), copy.deepcopy(model)
    torch.nn.init.constant_(large.embeddings.LayerNorm.weight, 1e5)
    torch.nn.init.constant_(broken.encoder.layer[1].output.LayerNorm.bias, float("nan"))
    for settings, message in (
        ({"max_length": 25}, "24 positions"),
        ({"rows": []}, "no stimuli"),
        ({"model": large, "dtype": "float16"}, "beyond float16"),
        ({"model": broken}, r"x\.npz: hidden states of layer 2 are not finite"),
    ):
        with pytest.raises(UserError, match=message):
            write(tmp_path / "x.npz", **settings)
    assert not list(tmp_path.iterdir())
