import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.metrics import cosine, cosine_padded, jensen_shannon
from bertshift.metrics.pairs import Pair
from bertshift.models.loading import save_model
from bertshift.rows.blocks import JACKKNIFE_COLUMNS


def cosines(a, b):
    """[heads] of two inputs' maps [heads, length, length]."""
    a, b = (x.reshape(len(x), -1).astype(float) for x in (a, b))
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def divergences(a, b):
    return (jensenshannon(a.astype(float), b.astype(float), axis=2) ** 2).mean(axis=1)


MEASURES = {
    "cosine": (cosine.compare, "crop", cosines),
    "js": (jensen_shannon.compare, "nats", divergences),
}


@pytest.fixture(params=["encoder", "decoder"])
def attention_pair(make_file, request):
    """(two files of 40 examples, 2 layers x 3 heads; their maps), which have zeros and differ a
    little more in layer 2."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 60, size=40)
    logits = [[4 * rng.normal(size=(3, n, n)) for n in lengths] for _ in range(2)]
    changed = [
        [x + 0.1 * layer * rng.normal(size=x.shape) for x in logits[layer - 1]] for layer in (1, 2)
    ]

    def softmax(x):
        p = np.exp(x - x.max(-1, keepdims=True))
        p[p < 1e-4] = 0
        p = np.tril(p + 1e-9) if request.param == "decoder" else p
        return (p / p.sum(-1, keepdims=True)).astype(np.float32)

    maps = [[[softmax(x) for x in layer] for layer in side] for side in (changed, logits)]
    hidden = np.zeros((3, lengths.sum(), 2), np.float32)
    return [
        make_file(f"{name}.npz", hidden, lengths, side) for name, side in enumerate(maps)
    ], maps


@pytest.mark.parametrize("measure", MEASURES)
def test_same_as_its_definition_map_by_map(measure, attention_pair):
    compare, variant, definition = MEASURES[measure]
    (model, base), maps = attention_pair
    table = compare([Pair(model, base, {"model": "rte", "seed": 1})])
    assert list(table) == [
        "model", "seed", "variant", "layer", "ref_layer", "head", "value", "sd", "n", *JACKKNIFE_COLUMNS
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
            bits = table[(table["layer"] == layer) & (table["variant"] == "bits")].sort_values(
                "head"
            )
            np.testing.assert_allclose(bits["value"] * np.log(2), rows["value"], rtol=1e-12)


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


def padded_toys(letters="abc", heads=2):
    torch.set_num_threads(1)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    config = BertConfig(vocab_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=heads, intermediate_size=16,
                        max_position_embeddings=12, initializer_range=0.5, attn_implementation="eager")  # fmt: skip
    return BertModel(config).eval(), BertTokenizer(vocab={word: i for i, word in enumerate(words)})


PADDED = [{"id": text, "text_a": text} for text in ("a b", "c c a b", "b")]


def test_padded_is_the_cosine_of_the_padded_maps(tmp_path):
    (model, tokenizer), (reference, _) = padded_toys(), padded_toys()
    table = cosine_padded.compare(
        model, reference, tokenizer, PADDED, {"model": "x"}, pad_to=12, batch_size=2
    )
    texts = [row["text_a"] for row in PADDED]
    batch = tokenizer(texts, padding="max_length", max_length=12, return_tensors="pt")
    with torch.inference_mode():
        maps = [
            torch.stack(one(**batch, output_attentions=True).attentions).numpy()
            for one in (model, reference)
        ]
    expected = [np.mean(list(map(cosines, *layers)), axis=0) for layers in zip(*maps, strict=True)]
    heads = table[table["head"] > 0].pivot(index="layer", columns="head", values="value")
    np.testing.assert_allclose(heads, expected, rtol=1e-6)
    assert set(table.variant) == {"padded"} and (table.n == 3).all()
    folders = tmp_path / "model", tmp_path / "reference"
    for folder, one in zip(folders, (model, reference), strict=True):
        save_model(folder, one, tokenizer)
    pair = (*folders, {"model": "x", "stimuli": "toys"})
    saved = cosine_padded.compare_saved([pair, pair], {"toys": PADDED}, 12)
    assert saved["value"].to_numpy() == pytest.approx([*table["value"]] * 2, rel=1e-6)


@pytest.mark.parametrize(
    ("letters", "heads", "length", "told"),
    [
        ("cba", 2, 12, "model and .*other cut the inputs into other tokens"),
        ("abc", 4, 12, "2 x 4"),
        ("abc", 2, 13, "13 is beyond 12"),
    ],
)
def test_padded_models_must_have_the_same_tokens_and_heads_and_enough_positions(
    letters, heads, length, told, tmp_path
):
    save_model(tmp_path / "model", *padded_toys())
    save_model(tmp_path / "other", *padded_toys(letters, heads))
    pair = (tmp_path / "model", tmp_path / "other", {"stimuli": "toys"})
    with pytest.raises(UserError, match=told):
        cosine_padded.compare_saved([pair], {"toys": PADDED}, length)
