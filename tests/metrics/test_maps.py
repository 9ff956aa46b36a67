import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.metrics import cosine, cosine_padded, jensen_shannon
from bertshift.metrics.pairs import Pair
from bertshift.models.loading import save_model
from bertshift.rows.blocks import WITHOUT


def cosines(a, b):
    """[heads] of two inputs' maps [heads, length, length]."""
    a, b = (x.reshape(len(x), -1).astype(float) for x in (a, b))
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def divergences(a, b):
    return (jensenshannon(a.astype(float), b.astype(float), axis=2) ** 2).mean(axis=1)


MEASURES = {
    "cosine": (cosine.compare, "crop", cosines, 1),
    "js": (jensen_shannon.compare, "nats", divergences, 0),
}


@pytest.fixture(params=["encoder", "decoder"])
def attention_pair(make_file, request):
    """(two files of 40 examples, 2 layers x 3 heads; their maps), which have zeros and differ a little more in layer 2."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 60, size=40)
    logits = [[4 * rng.normal(size=(3, n, n)) for n in lengths] for _ in range(2)]
    changed = [[x + 0.1 * layer * rng.normal(size=x.shape) for x in logits[layer - 1]] for layer in (1, 2)]

    def softmax(x):
        p = np.exp(x - x.max(-1, keepdims=True))
        p[p < 1e-4] = 0
        p = np.tril(p + 1e-9) if request.param == "decoder" else p
        return (p / p.sum(-1, keepdims=True)).astype(np.float32)

    maps = [[[softmax(x) for x in layer] for layer in side] for side in (changed, logits)]
    hidden = np.zeros((3, lengths.sum(), 2), np.float32)
    return [make_file(f"{name}.npz", hidden, lengths, side) for name, side in enumerate(maps)], maps


@pytest.mark.parametrize("measure", MEASURES)
def test_same_as_its_definition_map_by_map(measure, attention_pair):
    compare, variant, definition, _ = MEASURES[measure]
    (model, base), maps = attention_pair
    table = compare([Pair(model, base, {"model": "rte", "seed": 1})])
    assert list(table) == [
        "model", "seed", "variant", "layer", "ref_layer", "head", "value", "sd", "n", *WITHOUT
    ]  # fmt: skip
    assert (table["n"] == 40).all()
    for layer, own, before in zip((1, 2), *maps, strict=True):
        expected = np.array([definition(a, b) for a, b in zip(own, before, strict=True)])
        rows = table[(table["layer"] == layer) & (table["variant"] == variant)].sort_values("head")
        within = 1e-12 if measure == "cosine" else 1e-6
        each = np.column_stack([expected.mean(axis=1), expected])
        np.testing.assert_allclose(rows["value"], each.mean(axis=0), rtol=within)
        np.testing.assert_allclose(rows["sd"], each.std(axis=0, ddof=1), rtol=max(within, 1e-9))
        if measure == "js":
            bits = table[(table["layer"] == layer) & (table["variant"] == "bits")].sort_values("head")
            np.testing.assert_allclose(bits["value"] * np.log(2), rows["value"], rtol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_model_against_itself_has_not_changed(measure, attention_pair):
    compare, *_, same = MEASURES[measure]
    table = compare([Pair(attention_pair[0][0], attention_pair[0][0])])
    assert (table["value"] == same).all() and (table["sd"] == 0).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_other_numbers_of_heads_are_refused(measure, make_file):
    hidden = np.zeros((2, 3, 4))
    one, two = (make_file(f"{h}.npz", hidden, [3], [[np.full((h, 3, 3), 1 / 3)]]) for h in (2, 4))
    with pytest.raises(UserError, match="1 layers x 2 heads .* 1 x 4"):
        MEASURES[measure][0]([Pair(one, two)])


@pytest.mark.parametrize("size", [1e-2, 1e-3])
def test_small_divergences_keep_their_digits(size):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(50)).astype(np.float32)
    q = (p * (1 + size * rng.choice([-1, 1], 50))).astype(np.float32)
    exact_p, exact_q = p.astype(np.longdouble), q.astype(np.longdouble)
    middle = (exact_p + exact_q) / 2
    exact = (exact_p * np.log(exact_p / middle) + exact_q * np.log(exact_q / middle)).sum() / 2
    assert 1e-8 < exact < 1e-4
    assert jensen_shannon.terms(p, q).sum() / 2 == pytest.approx(float(exact), rel=1e-7)


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
        expected = np.mean([cosines(a, b) for a, b in pairs], axis=0)
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
