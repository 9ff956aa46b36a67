"""The oracle of every loss is transformers' own, input by input, with the labels of the hidden
words."""

from copy import deepcopy
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from made_encoders import DECODERS, ENCODERS, TEXTS, model_of, tokenizer_of
from made_tables import in_columns
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from bertshift.activations.extract import encode
from bertshift.errors import UserError
from bertshift.metrics.forgetting import (
    count_words,
    forgetting,
    hidden_words,
    losses,
    moved,
    unigram_losses,
)
from bertshift.models.headless import has_no_head
from bertshift.models.language_head import LanguageHead, load_language_model
from bertshift.models.loading import import_checkpoint, load_encoder, save_model

ROWS = [{"id": n, "text_a": text} for n, text in enumerate(TEXTS)]
LENGTH = 40


@cache
def index_of(kind):
    return encode(tokenizer_of(kind), ROWS, LENGTH)


def with_head(kind, seed=0):
    """A family's own model with its head, all weights random."""
    base = model_of(kind, vocab_size=len(tokenizer_of(kind)))
    auto_class = AutoModelForCausalLM if kind in DECODERS else AutoModelForMaskedLM
    model = auto_class.from_config(base.config)
    torch.manual_seed(seed)
    for weight in model.parameters():
        weight.data = 0.2 * torch.randn_like(weight)
    return model.eval()


def save_with_head(kind, folder, seed=0):
    model = with_head(kind, seed)
    model.save_pretrained(folder)
    tokenizer_of(kind).save_pretrained(folder)
    save_model(folder / "bare", model.base_model, tokenizer_of(kind))
    return model


def load_with_head(folder):
    encoder = load_encoder(folder)
    return encoder, LanguageHead(load_language_model(folder, encoder))


@torch.no_grad()
def transformers_loss(model, kind, positions):
    """The mean over all hidden words."""
    index = index_of(kind)
    all_ids = torch.tensor(index["token_ids"], dtype=torch.long)
    is_hidden = torch.zeros_like(all_ids, dtype=torch.bool)
    is_hidden[positions] = True
    labels = all_ids.where(is_hidden, -100)
    if kind in ENCODERS:
        all_ids = all_ids.where(~is_hidden, tokenizer_of(kind).mask_token_id)
    total = 0.0
    for first, end in pairwise(index["example_offsets"]):
        loss = model(input_ids=all_ids[None, first:end], labels=labels[None, first:end]).loss
        total += loss.item() * is_hidden[first:end].sum().item()
    return total / len(positions)


# Encoders and decoders without and with a norm before the head.
@pytest.mark.parametrize("kind", ["bert", "modernbert", "gpt2", "llama"])
def test_the_loss_is_transformers_own(kind, tmp_path):
    parent = save_with_head(kind, tmp_path)
    encoder, head = load_with_head(tmp_path)
    index, causal = index_of(kind), kind in DECODERS
    positions = hidden_words(index, causal, "wiki")
    mask = None if causal else tokenizer_of(kind).mask_token_id

    def check_losses():
        by_layer = losses(encoder, head, index, positions, mask)
        assert by_layer.shape == (encoder.config.num_hidden_layers + 1, len(positions))
        expected = transformers_loss(parent, kind, positions)
        assert by_layer[-1].mean() == pytest.approx(expected, rel=1e-5)

    check_losses()
    # A tuned encoder below the head of the parent, which has the parent's matrix of words.
    tuned = with_head(kind, seed=1).base_model.state_dict()
    state = {name: value for name, value in tuned.items() if "pooler" not in name}
    parent.set_output_embeddings(deepcopy(parent.get_output_embeddings()))
    for model in (parent.base_model, encoder):
        model.load_state_dict(state, strict=False)
    check_losses()


@pytest.mark.parametrize("kind", ENCODERS + DECODERS)
def test_a_missing_head_is_known_before_a_model_is_read(kind, tmp_path):
    save_with_head(kind, tmp_path)
    bare = tmp_path / "bare"
    assert not has_no_head(tmp_path) and has_no_head(bare) == (kind in ENCODERS)
    if kind in ENCODERS:
        with pytest.raises(UserError, match="bare has no head for words"):
            load_with_head(bare)


def test_where_there_are_no_weights_a_missing_head_is_not_known(tmp_path):
    save_model(tmp_path, model_of("bert"), tokenizer_of("bert"))
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")
    assert not has_no_head(tmp_path) and not has_no_head(tmp_path / "none")


def test_a_share_of_content_words_is_hidden():
    index = index_of("bert")
    positions = hidden_words(index, False, "wiki")
    content = np.add.reduceat(~index["special"], index["example_offsets"][:-1])
    assert not index["special"][positions].any() and (np.diff(positions) > 0).all()
    assert len(positions) == np.maximum(1, np.round(0.15 * content)).sum()
    again, other = (hidden_words(index, False, name) for name in ("wiki", "other"))
    assert np.array_equal(positions, again) and not np.array_equal(positions, other)
    firsts = index_of("gpt2")["example_offsets"][:-1]
    assert not np.isin(firsts, hidden_words(index_of("gpt2"), True, "wiki")).any()
    with pytest.raises(UserError, match="no input has a word to be hidden"):
        hidden_words(index | {"special": np.ones_like(index["special"])}, False, "wiki")


def test_frequencies_of_words_are_of_other_inputs():
    index = {
        "token_ids": np.array([9, 1, 2, 9, 9, 1, 1, 3, 9]),
        "special": np.array([1, 0, 0, 1, 1, 0, 0, 0, 1], bool),
        "example_offsets": np.array([0, 4, 9]),
    }
    frequencies = np.exp(-unigram_losses(index, np.array([1, 2, 5, 7]), vocabulary=10))
    # The first input knows 1, 1, 3 of the other, two kinds of ten; the second knows 1, 2.
    assert frequencies == pytest.approx([2.2 / 5, 0.2 / 5, 1.2 / 4, 0.2 / 4])
    counts = np.array([0, 6, 2] + [0] * 7)
    frequencies = np.exp(-unigram_losses(index, np.array([1, 7]), 10, counts))
    assert frequencies == pytest.approx([6.2 / 10, 0.2 / 10])


def test_words_of_a_corpus_are_counted(tmp_path):
    (tmp_path / "corpus.txt").write_text("the river\nthe river\n\nthe house\n")
    counts = count_words(tmp_path / "corpus.txt", tokenizer_of("bert"))
    words = tokenizer_of("bert").convert_tokens_to_ids(["the", "river", "house"])
    assert counts[words].tolist() == [3, 2, 1] and counts.sum() == 6


def test_what_is_forgotten_is_the_difference_of_losses_without_each_input_too(tmp_path):
    """Fewer than 20 inputs: each is a block. The checkpoint itself has forgotten nothing and moved
    nowhere."""
    keys = {"parent": str(tmp_path), "init": 1, "ref_init": 1, "ref_seed": 0}
    runs = []
    for seed, folder in enumerate((tmp_path, tmp_path / "tuned")):
        save_with_head("bert", folder, seed)
        runs.append({"folder": str(folder), "seed": seed, **keys})
    table = in_columns(forgetting(runs, ROWS, LENGTH, "wiki"))
    table = table.set_index(["seed", "metric", "variant", "layer"]).sort_index()
    index = index_of("bert")
    positions = hidden_words(index, False, "wiki")
    parent, head = load_with_head(tmp_path)
    before, after = (
        losses(encoder, head, index, positions, tokenizer_of("bert").mask_token_id)[-1]
        for encoder in (parent, load_encoder(tmp_path / "tuned"))
    )
    forgotten = after - before
    row = table.loc[1, "forgetting", "forgotten", 4]
    assert row["n"] == len(positions)
    assert (row["value"], row["sd"]) == pytest.approx((forgotten.mean(), forgotten.std(ddof=1)))
    for number, (first, end) in enumerate(pairwise(index["example_offsets"]), 1):
        is_outside = (positions < first) | (positions >= end)
        assert row[f"without{number}"] == pytest.approx(forgotten[is_outside].mean())
    itself = table.loc[0, "value"]
    assert itself["forgetting", "forgotten", 4] == 0 and (itself["weights_moved"] == 0).all()
    assert itself["forgetting", "model"].equals(itself["forgetting", "parent"])


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_how_far_weights_moved(kind):
    parent, model = model_of(kind), model_of(kind)
    for name, weight in model.named_parameters():
        if ".2." in name:  # the third layer
            weight.data *= 1.1
    *parts, (variant, layer, change) = moved(model, parent)
    assert [(name, layer) for name, layer, _ in parts] == [("part", layer) for layer in range(5)]
    changes = [change for *_, change in parts]
    assert changes == pytest.approx([0, 0, 0, 0.1, 0], abs=1e-7)
    # Of a pooler's weights, none counts; of the others, the third layer's changed by a tenth.
    weights = {name: weight for name, weight in parent.named_parameters() if "pooler" not in name}
    size, changed = (
        torch.stack([weights[name].double().norm() for name in names]).norm().item()
        for names in (weights, [name for name in weights if ".2." in name])
    )
    assert (variant, layer, change) == ("whole", 4, pytest.approx(0.1 * changed / size))


@pytest.mark.parametrize("kind", ["roberta", "gpt2"])
def test_a_pickle_in_which_the_head_has_the_matrix_of_the_embeddings(kind, tmp_path):
    """Its two names are one tensor, which an encoder alone must find."""
    model = save_with_head(kind, tmp_path / "from")
    (tmp_path / "from/model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "from/pytorch_model.bin")
    import_checkpoint(tmp_path / "from", tmp_path / "to")
    _, head = load_with_head(tmp_path / "to")
    embeddings = model.get_input_embeddings().weight
    assert torch.equal(head.model.get_output_embeddings().weight, embeddings)


def test_a_head_that_does_not_read_the_base_model_is_refused(tmp_path):
    """OPT's reads a part of it."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(model_of("opt").config)
    with pytest.raises(UserError, match="head of a opt model cannot be run alone"):
        LanguageHead(model)(torch.zeros(3, 32))
