"""`bertshift.compare` of models whose tokenizers cut the texts differently, beside Hugging Face's own
states averaged by hand."""

import re

import numpy as np
import pytest
import torch
from made_encoders import TEXTS, model_of, tokenizer_of

import bertshift
from bertshift.models.loading import save_model

KINDS = ("bert", "gpt2")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for kind in KINDS:
        model = model_of(kind, 0, vocab_size=len(tokenizer_of(kind)))
        save_model(folder / kind, model, tokenizer_of(kind))
    return [folder / kind for kind in KINDS]


@pytest.fixture(scope="module")
def change(folders):
    return bertshift.compare(*folders, TEXTS, null="texts")


def states_by_hand(kind, layer):
    """Means over the tokens of each word but the first of a text, [words, width]."""
    tokenizer = tokenizer_of(kind)
    model = model_of(kind, 0, vocab_size=len(tokenizer)).eval()
    words = []
    for text in TEXTS:
        given = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
        spans = given.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            states = model(**given, output_hidden_states=True).hidden_states[layer][0].numpy()
        for match in list(re.finditer(r"\S+", text))[1:]:
            rows = [n for n, (a, b) in enumerate(spans) if a < match.end() and b > match.start()]
            words.append(states[rows].mean(axis=0))
    return np.array(words, np.float64)


@pytest.mark.parametrize("measure, variant", [("rsa", "content"), ("cka", "cka_debiased")])
def test_states_are_means_over_the_tokens_of_each_word(change, measure, variant):
    """But for the last layer, to whose states transformers adds GPT-2's last norm."""
    function = getattr(bertshift, measure)
    rows = change.rows[(change.rows["metric"] == measure) & (change.rows["variant"] == variant)]
    values = change.by_layer(measure)["value"]
    for layer, ref_layer in zip(rows["layer"][:-1], rows["ref_layer"][:-1], strict=True):
        by_hand = function(states_by_hand("bert", layer), states_by_hand("gpt2", ref_layer))
        assert values[layer] == pytest.approx(by_hand, abs=1e-5)


def test_what_is_of_tokens_is_left_out_with_the_reason(change):
    assert {*change.left_out} == {"js", "cosine", "made"}
    assert all("tokenizers cut these texts differently" in why for why in change.left_out.values())
    assert any("means over the tokens of each word" in line for line in change.report)
    assert set(change.tests["measure"]) <= {"rsa", "svcca", "cka"}


@pytest.mark.parametrize(
    "options, said",
    [
        ({"max_length": 8}, "that 8 tokens are not the same words; leave max_length= out"),
        ({"null": "noise"}, "noise of one has no like in the other"),
        ({"measures": "js"}, "maps of tokens have nothing in common"),
    ],
)
def test_what_needs_the_same_tokens_is_refused(options, said, folders):
    with pytest.raises(bertshift.UserError, match=said):
        bertshift.compare(*folders, TEXTS, **options)
