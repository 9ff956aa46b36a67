"""Changes of known place and size: what they change, and what they leave as it is."""

import numpy as np
import pytest
import torch
from made_encoders import (
    FAMILIES,
    HEADS,
    LAYERS,
    changed,
    copied,
    inputs_of,
    model_of,
    tokenizer_of,
)

from bertshift.edits import KINDS, Edit
from bertshift.errors import UserError
from bertshift.models.family import family_of, head_width
from bertshift.models.heads import SequenceClassifier
from bertshift.models.layers import read
from bertshift.models.plant import plant

LAYER, HEAD = 2, 3
QUERY_AND_KEY = {
    f"attention.self.{name}.{part}" for name in ("query", "key") for part in ("weight", "bias")
}
ATTENTION = QUERY_AND_KEY | {
    f"attention.{name}.{part}"
    for name in ("self.value", "output.dense")
    for part in ("weight", "bias")
}
FEED_FORWARD = {
    f"{name}.dense.{part}" for name in ("intermediate", "output") for part in ("weight", "bias")
}
UNITS = {"intermediate.dense.weight", "intermediate.dense.bias", "output.dense.weight"}
IN_LAYER = {
    "head": QUERY_AND_KEY,
    "attention": ATTENTION,
    "feed_forward": FEED_FORWARD,
    "rank_one": {"output.dense.weight"},
    "heads_reordered": ATTENTION - {"attention.output.dense.bias"},
    "units_reordered": UNITS,
}  # fmt: skip
# Where heads, or the blocks of a layer, are not their own or not known.
WITHOUT_ORDER_OF_HEADS = {
    "albert": "runs one layer", "mpnet": "relative_attention_bias.* depends on the number of a head",
    "llama": "serve others", "qwen3": "serve others", "olmo2": "a norm over all heads",
    **dict.fromkeys(["gpt_neox", "eurobert", "nomic_bert", "opt", "phi3"], "not known"),
}  # fmt: skip
WITHOUT_BLOCKS = dict.fromkeys(["albert", "gpt_neox", "eurobert", "nomic_bert", "opt", "phi3"])


def tensors(kind):
    """Name the tensors of the BERT that an edit of this kind changes."""
    if kind == "nothing":
        return set()
    if kind == "words":
        return {"embeddings.word_embeddings.weight"}
    if kind == "all_layers":
        return {
            f"encoder.layer.{number}.{name}"
            for number in range(LAYERS)
            for name in ATTENTION | FEED_FORWARD
        }
    return {f"encoder.layer.{LAYER - 1}.{name}" for name in IN_LAYER[kind]}


def edit_of(kind, **changes):
    values = {"layer": LAYER, "head": HEAD, "size": 0.3, "words": ("house", "river")} | changes
    return Edit.of({"kind": kind} | values)


def planted(family, kind, seed=1, **changes):
    """Return the weights before, and the model with the change."""
    model = model_of(family, vocab_size=len(tokenizer_of(family)))
    before = copied(model)
    plant(model, edit_of(kind, **changes), seed, tokenizer_of(family))
    return before, model


@pytest.mark.parametrize("kind", KINDS)
def test_exactly_the_tensors_of_its_place_are_changed(kind):
    before, model = planted("bert", kind)
    assert changed(before, model) == tensors(kind)


@pytest.mark.parametrize("kind", ["attention", "feed_forward", "rank_one", "all_layers"])
def test_the_change_of_each_tensor_has_its_size(kind):
    before, model = planted("bert", kind, size=0.05)
    for name in changed(before, model):
        weights = model.get_parameter(name).detach().double()
        change = torch.linalg.norm(weights - before[name].double())
        assert float(change / torch.linalg.norm(before[name].double())) == pytest.approx(
            0.05, rel=1e-5
        )


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "modernbert", "distilbert"])
def test_noise_in_one_head_changes_the_maps_of_that_head_alone(family):
    _, model = planted(family, "head")
    inputs = {name: value % len(tokenizer_of(family)) for name, value in inputs_of(family).items()}
    with torch.no_grad():
        _, maps = read(model, maps=True, **inputs)
        _, plain = read(
            model_of(family, vocab_size=len(tokenizer_of(family))), maps=True, **inputs
        )
    differ = [
        [not torch.equal(maps[layer][:, head], plain[layer][:, head]) for head in range(HEADS)]
        for layer in range(LAYER)
    ]
    assert not any(differ[0])
    assert differ[LAYER - 1] == [head == HEAD - 1 for head in range(HEADS)]


def test_noise_in_a_head_has_its_size_in_the_rows_of_that_head():
    before, model = planted("bert", "head", size=0.05)
    name = f"encoder.layer.{LAYER - 1}.attention.self.query.weight"
    width = head_width(model)
    rows = slice((HEAD - 1) * width, HEAD * width)
    old, new = before[name].double(), model.get_parameter(name).detach().double()
    size = torch.linalg.norm(new[rows] - old[rows]) / torch.linalg.norm(old[rows])
    assert float(size) == pytest.approx(0.05, rel=1e-5)
    assert torch.equal(new[: rows.start], old[: rows.start])
    assert torch.equal(new[rows.stop :], old[rows.stop :])


def test_a_change_of_rank_one_has_rank_one():
    before, model = planted("bert", "rank_one")
    [name] = changed(before, model)
    change = (model.get_parameter(name).detach().double() - before[name].double()).numpy()
    singular = np.linalg.svd(change, compute_uv=False)
    assert singular[1] < 1e-5 * singular[0]


def test_the_pieces_of_the_words_are_changed_and_no_others():
    before, model = planted("bert", "words", size=0.5)
    name = "embeddings.word_embeddings.weight"
    is_changed = (model.get_parameter(name) != before[name]).any(dim=1)
    pieces = tokenizer_of("bert").convert_ids_to_tokens(torch.nonzero(is_changed).ravel().tolist())
    assert set(pieces) == {"house", "river"}


@pytest.mark.parametrize("kind", ["heads_reordered", "units_reordered"])
@pytest.mark.parametrize("family", FAMILIES)
def test_another_order_changes_weights_and_no_hidden_state(family, kind):
    refused = WITHOUT_ORDER_OF_HEADS if kind == "heads_reordered" else WITHOUT_BLOCKS
    if family in refused:
        with pytest.raises(UserError, match=refused[family]):
            planted(family, kind)
        return
    before, model = planted(family, kind)
    inputs = {name: value % len(tokenizer_of(family)) for name, value in inputs_of(family).items()}
    with torch.no_grad():
        states, maps = read(model, maps=True, **inputs)
        plain, plain_maps = read(
            model_of(family, vocab_size=len(tokenizer_of(family))), maps=True, **inputs
        )
    assert {family_of(model).group(name) for name in changed(before, model)} == {str(LAYER)}
    for ours, theirs in zip(states, plain, strict=True):
        assert torch.linalg.norm(ours - theirs) <= 1e-6 * torch.linalg.norm(theirs)
    is_moved = not torch.allclose(maps[LAYER - 1], plain_maps[LAYER - 1], atol=1e-3)
    assert is_moved == (kind == "heads_reordered")


@pytest.mark.parametrize("kind", ["heads_reordered", "units_reordered"])
def test_another_order_changes_no_logit(kind):
    inputs = inputs_of("bert")
    logits = []
    for encoder in (model_of("bert"), model_of("bert")):
        if logits:
            plant(encoder, edit_of(kind), seed=1)
        classifier = SequenceClassifier(encoder, 3, seed=1).eval()
        with torch.no_grad():
            logits.append(classifier(**inputs))
    assert torch.allclose(*logits, rtol=1e-6, atol=1e-6)


def test_every_head_and_unit_is_moved():
    for seed in range(20):
        before, model = planted("bert", "heads_reordered", seed=seed)
        name = f"encoder.layer.{LAYER - 1}.attention.self.value.weight"
        heads = zip(before[name].chunk(HEADS), model.get_parameter(name).chunk(HEADS), strict=True)
        assert not any(torch.equal(old, new) for old, new in heads)


def test_a_seed_gives_one_change():
    (_, first), (_, again) = planted("bert", "attention"), planted("bert", "attention")
    assert not changed(copied(first), again)
    assert changed(copied(first), planted("bert", "attention", seed=2)[1]) == tensors("attention")
