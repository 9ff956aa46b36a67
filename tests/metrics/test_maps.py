from itertools import permutations

import numpy as np
import pytest
import torch
from made_tables import WITHOUT, in_columns
from made_toys import bert_with, tokenizer_with
from scipy.spatial.distance import jensenshannon

from bertshift.errors import UserError
from bertshift.metrics import cosine, cosine_padded, jensen_shannon
from bertshift.metrics.pairs import Pair
from bertshift.models.loading import save_model


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


@pytest.fixture
def attention_pair(make_file):
    """(a Pair of 40 examples, 2 layers x 3 heads; the maps of both), which have zeros and differ a
    little more in layer 2."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 60, size=40)

    def draw(n):
        return rng.dirichlet(np.full(n, 0.01), size=(3, n)).astype(np.float32)

    after, before = [], []
    for layer in (1, 2):
        before.append([draw(n) for n in lengths])
        changes = [0.05 * layer * (draw(len(p[0])) - p) for p in before[-1]]
        after.append([p + change for p, change in zip(before[-1], changes, strict=True)])
    hidden = np.zeros((3, lengths.sum(), 2), np.float32)
    model, base = (
        make_file(name, hidden, lengths, maps) for name, maps in (("a", after), ("b", before))
    )
    return Pair(model, base, {"model": "rte", "seed": 1}), after, before


@pytest.mark.parametrize("measure", MEASURES)
def test_same_as_its_definition_map_by_map(measure, attention_pair):
    compare, variant, definition = MEASURES[measure]
    pair, after, before = attention_pair
    table = in_columns(compare([pair]))
    assert list(table) == [
        "model", "seed", "variant", "layer", "ref_layer", "head", "value", "sd", "n", *WITHOUT
    ]  # fmt: skip
    assert (table["n"] == 40).all()
    table = table.set_index(["variant", "layer", "head"]).sort_index()
    for layer in (1, 2):
        heads = np.array(list(map(definition, after[layer - 1], before[layer - 1])))
        rows = table.loc[variant, layer]
        rtol = 1e-12 if measure == "cosine" else 1e-6
        values = np.column_stack([heads.mean(axis=1), heads])
        np.testing.assert_allclose(rows["value"], values.mean(axis=0), rtol=rtol)
        np.testing.assert_allclose(rows["sd"], values.std(axis=0, ddof=1), rtol=max(rtol, 1e-9))
        if measure == "js":
            nats = table.loc["bits", layer]["value"] * np.log(2)
            np.testing.assert_allclose(nats, rows["value"], rtol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_matched_is_the_best_of_all_ways_to_pair_the_heads(measure, attention_pair, make_file):
    compare, _variant, definition = MEASURES[measure]
    pair, after, before = attention_pair
    rows = compare([pair]).rows.query("variant == 'matched'").set_index(["layer", "head"])["value"]
    pairings = []
    for layer in (1, 2):
        ways = {
            order: np.mean(
                [
                    definition(x, y[list(order)])
                    for x, y in zip(after[layer - 1], before[layer - 1], strict=True)
                ],
                axis=0,
            )
            for order in permutations(range(3))
        }
        best = (min if measure == "js" else max)(ways.values(), key=np.mean)
        pairings.append(best)
    np.testing.assert_allclose(rows.drop(0, level="head"), np.concatenate(pairings), rtol=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_heads_in_another_order_match_exactly(measure, attention_pair, make_file):
    compare, variant, _ = MEASURES[measure]
    _, _, before = attention_pair
    lengths = np.array([len(maps[0]) for maps in before[0]])
    hidden = np.zeros((3, lengths.sum(), 2), np.float32)
    moved = [[maps[[2, 0, 1]] for maps in layer] for layer in before]
    base, model = (
        make_file(*one)
        for one in (("base", hidden, lengths, before), ("moved", hidden, lengths, moved))
    )
    table = compare([Pair(model, base)]).rows.set_index(["variant", "layer", "head"])["value"]
    unchanged = 0 if measure == "js" else 1
    np.testing.assert_allclose(table["matched"], unchanged, atol=1e-12)
    assert (abs(table[variant] - unchanged) > 0.1).all()


def test_other_numbers_of_heads_are_refused(make_file):
    hidden = np.zeros((2, 3, 4))
    pair = Pair(*(make_file(str(h), hidden, [3], [[np.full((h, 3, 3), 1 / 3)]]) for h in (2, 4)))
    with pytest.raises(UserError, match="1 layers x 2 heads .* 1 x 4"):
        cosine.compare([pair])


@pytest.mark.parametrize("size", [1e-2, 1e-3])
def test_small_divergences_keep_their_digits(size):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(50)).astype(np.float32)
    q = (p * (1 + size * rng.choice([-1, 1], 50))).astype(np.float32)
    exact = np.stack([p, q]).astype(np.longdouble)
    divergence = (exact * np.log(exact / exact.mean(axis=0))).sum() / 2
    assert 1e-8 < divergence < 1e-4
    assert jensen_shannon.terms(p, q).sum() / 2 == pytest.approx(float(divergence), rel=1e-7)


def padded_toys(letters="abc", heads=2, scale=0.5):
    tokenizer = tokenizer_with(letters)
    sizes = {"num_attention_heads": heads, "max_position_embeddings": 12}
    return bert_with(tokenizer, 2, **sizes, initializer_range=scale), tokenizer


PADDED = [{"id": text, "text_a": text} for text in ("a b", "c c a b", "b")]


def test_padded_is_the_cosine_of_the_padded_maps(tmp_path):
    (model, tokenizer), (reference, _) = padded_toys(), padded_toys(scale=0.2)
    model.set_attn_implementation("eager"), reference.set_attn_implementation("eager")
    save_model(tmp_path / "model", model, tokenizer)
    save_model(tmp_path / "reference", reference, tokenizer)
    pair = (tmp_path / "model", tmp_path / "reference", {"stimuli": "toys"})
    table = cosine_padded.compare_saved([pair, pair], {"toys": PADDED}, 12).rows
    texts = [row["text_a"] for row in PADDED]
    batch = tokenizer(texts, padding="max_length", max_length=12, return_tensors="pt")
    with torch.inference_mode():
        after, before = (
            torch.stack(side(**batch, output_attentions=True).attentions).flatten(0, 1).numpy()
            for side in (model, reference)
        )
    expected = np.array(list(map(cosines, after, before))).reshape(2, 3, 2).mean(axis=1)
    heads = table[table["head"] > 0]["value"]
    np.testing.assert_allclose(heads, [*expected.ravel()] * 2, rtol=1e-6)
    assert set(table["variant"]) == {"padded"} and (table["n"] == 3).all()
    batches = cosine_padded.compare(model, reference, tokenizer, PADDED, {}, 12, batch_size=2).rows
    np.testing.assert_allclose([*batches["value"]] * 2, table["value"], rtol=1e-6)


@pytest.mark.parametrize(
    ("letters", "heads", "length", "message"),
    [
        ("cba", 2, 12, "model and .*other cut the inputs into other tokens"),
        ("abc", 4, 12, "2 x 4"),
        ("abc", 2, 13, "13 is beyond 12"),
    ],
)
def test_padded_models_must_have_the_same_tokens_and_heads_and_enough_positions(
    letters, heads, length, message, tmp_path
):
    save_model(tmp_path / "model", *padded_toys())
    save_model(tmp_path / "other", *padded_toys(letters, heads))
    pair = (tmp_path / "model", tmp_path / "other", {"stimuli": "toys"})
    with pytest.raises(UserError, match=message):
        cosine_padded.compare_saved([pair], {"toys": PADDED}, length)
