import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.metrics import cosine, cosine_padded
from bertshift.metrics.pairs import Pair
from bertshift.models.loading import save_model


def direct(a, b):
    a, b = (x.reshape(len(x), -1).astype(float) for x in (a, b))
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def test_same_as_brute_force(attention_pair):
    model, base, maps, base_maps = attention_pair
    table = cosine.compare([Pair(model, base)])
    for layer in (1, 2):
        expected = np.array(
            [direct(a, b) for a, b in zip(maps[layer - 1], base_maps[layer - 1], strict=True)]
        )
        rows = table[table.layer == layer].sort_values("head")
        np.testing.assert_allclose(rows.value[1:], expected.mean(0), rtol=1e-12)
        assert rows.value.iloc[0] == pytest.approx(expected.mean(), rel=1e-12)
        np.testing.assert_allclose(rows.sd.iloc[0], expected.mean(1).std(ddof=1), rtol=1e-9)


def test_model_against_itself_is_one(attention_pair):
    table = cosine.compare([Pair(attention_pair[0], attention_pair[0])])
    assert (table.value == 1).all() and (table.sd == 0).all()


def padded_toys(**sizes):
    torch.set_num_threads(1)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2} | sizes
    config = BertConfig(
        vocab_size=8,
        intermediate_size=16,
        max_position_embeddings=12,
        initializer_range=0.5,
        attn_implementation="eager",
        **shape,
    )
    rows = [{"id": str(i), "text_a": text} for i, text in enumerate(["a b", "c c a b", "b"])]
    return BertModel(config).eval(), BertTokenizer(vocab={w: i for i, w in enumerate(words)}), rows


def test_padded_is_the_cosine_of_the_padded_maps(tmp_path):
    (model, tokenizer, rows), (reference, _, _) = padded_toys(), padded_toys()
    table = cosine_padded.compare(model, reference, tokenizer, rows, {"model": "x"}, pad_to=12, batch_size=2)
    batch = tokenizer(
        [row["text_a"] for row in rows], padding="max_length", max_length=12, return_tensors="pt"
    )
    with torch.inference_mode():
        maps = [one(**batch, output_attentions=True).attentions for one in (model, reference)]
    for layer in (1, 2):
        pairs = zip(maps[0][layer - 1].numpy(), maps[1][layer - 1].numpy(), strict=True)
        expected = np.mean([direct(a, b) for a, b in pairs], axis=0)
        np.testing.assert_allclose(
            table[(table.layer == layer) & (table["head"] > 0)].value, expected, rtol=1e-6
        )
    assert set(table.variant) == {"padded"} and (table.n == 3).all()
    for name, one in (("model", model), ("reference", reference)):
        save_model(tmp_path / name, one, tokenizer)
    pair = (tmp_path / "model", tmp_path / "reference", {"model": "x", "stimuli": "toys"})
    saved = cosine_padded.compare_saved([pair, pair], {"toys": rows}, 12)
    assert saved["value"].to_numpy() == pytest.approx([*table["value"]] * 2, rel=1e-6)


def test_padded_models_must_cut_inputs_alike(tmp_path):
    model, tokenizer, rows = padded_toys()
    words = [word for word, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
    save_model(tmp_path / "model", model, tokenizer)
    other = BertTokenizer(vocab={word: i for i, word in enumerate([*words[:5], *words[:4:-1]])})
    save_model(tmp_path / "other", model, other)
    with pytest.raises(UserError, match="model and .*other cut the inputs into other tokens"):
        cosine_padded.compare_saved(
            [(tmp_path / "model", tmp_path / "other", {"stimuli": "toys"})], {"toys": rows}, 12
        )


def test_padded_models_must_have_the_same_heads_and_enough_positions():
    (model, tokenizer, rows), (other, _, _) = padded_toys(), padded_toys(num_attention_heads=4)
    with pytest.raises(UserError, match="2 layers x 2 heads and of 2 x 4"):
        cosine_padded.compare(model, other, tokenizer, rows, {}, pad_to=12)
    with pytest.raises(UserError, match="samples.padded_length: 13 is beyond 12"):
        cosine_padded.compare(model, model, tokenizer, rows, {}, pad_to=13)
