"""Maps of a few short inputs, beside those that transformers itself gives."""

import zlib
from base64 import b64decode

import numpy as np
import pytest
import torch
from made_encoders import HEADS, LAYERS, TEXTS, model_of, tokenizer_of

from bertshift.activations.examples import chosen, examples
from bertshift.errors import UserError
from bertshift.models.loading import save_model
from bertshift.models.truncate import keep_layers

ROWS = [{"id": str(number), "text_a": text} for number, text in enumerate(TEXTS)]
ROWS[1]["text_b"] = "a dog"
LONGEST = 60
# Of a byte: what lies halfway between two may be rounded either way.
HALF = 0.5 + 1e-3


def folders(path, kind):
    """Two models of one family, as a run and its parent lie on the disk."""
    for seed, side in enumerate(("before", "after")):
        save_model(path / side, model_of(kind, seed), tokenizer_of(kind))
    return path / "before", path / "after"


def unpack(text, layers, length):
    values = np.frombuffer(zlib.decompress(b64decode(text)), np.uint8)
    return values.reshape(layers, HEADS, length, length)


@torch.no_grad()
def transformers_maps(kind, seed, encoding):
    """[layers, heads, query, key] of one input."""
    model, inputs = model_of(kind, seed), {"input_ids": encoding["input_ids"]}
    if getattr(model.config, "type_vocab_size", 0) >= 2:
        inputs["token_type_ids"] = encoding["token_type_ids"]
    return torch.stack(model(**inputs, output_attentions=True).attentions)[:, 0].numpy()


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_maps_are_those_of_transformers_in_bytes(kind, tmp_path):
    before, after = folders(tmp_path, kind)
    # Two of them have the same length, and so share a batch.
    result = examples(before, after, ROWS[:3], 3, LONGEST)
    texts = [item["text"] for item in result["inputs"]]
    assert texts == [TEXTS[0], f"{TEXTS[1]}\na dog", TEXTS[2]]
    tokenizer = tokenizer_of(kind)
    for item, row in zip(result["inputs"], ROWS, strict=False):
        texts = [row[key] for key in ("text_a", "text_b") if key in row]
        encoding = tokenizer(*texts, return_tensors="pt", return_token_type_ids=True)
        assert item["tokens"] == tokenizer.convert_ids_to_tokens(encoding["input_ids"][0].tolist())
        assert (item["layers"], item["heads"], item["cut"]) == (LAYERS, HEADS, False)
        for seed, side in enumerate(("before", "after")):
            maps = unpack(item[side], LAYERS, len(item["tokens"]))
            assert np.abs(maps - 255 * transformers_maps(kind, seed, encoding)).max() <= HALF
            assert result["causal"] == (not np.triu(maps, 1).any())


def test_the_first_short_inputs_are_chosen_and_then_the_shortest():
    lengths = [30, 20, 25, 5, 20, 21]
    assert chosen(lengths, 5, 20) == [1, 3, 4, 5, 2]
    assert chosen(lengths, 9, 20) == [1, 3, 4, 5, 2, 0]


def test_what_is_too_long_is_cut_and_a_model_without_its_upper_layers_beside_its_parents_lower(
    tmp_path,
):
    before, after = folders(tmp_path, "bert")
    model = model_of("bert", 1)
    keep_layers(model, 2)
    save_model(after, model, tokenizer_of("bert"))
    (item,) = examples(before, after, ROWS[:1], 1, 8)["inputs"]
    assert item["cut"] and len(item["tokens"]) == 8 and item["tokens"][-1] == "[SEP]"
    assert item["layers"] == 2
    text = ROWS[0]["text_a"]
    encoding = tokenizer_of("bert")(text, max_length=8, truncation=True, return_tensors="pt")
    expected = 255 * transformers_maps("bert", 0, encoding)[:2]
    assert np.abs(unpack(item["before"], 2, 8) - expected).max() <= HALF


def test_without_inputs_there_is_nothing_to_show(tmp_path):
    with pytest.raises(UserError, match="no stimuli"):
        examples(*folders(tmp_path, "bert"), [], 2, 20)
