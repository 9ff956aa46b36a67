"""The oracle of every loss is transformers' own, input by input, with the labels of the hidden
words."""

from copy import deepcopy
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from made_encoders import DECODERS, ENCODERS, TEXTS, model_of, tokenizer_of
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
    model = (AutoModelForCausalLM if kind in DECODERS else AutoModelForMaskedLM).from_config(
        base.config
    )
    torch.manual_seed(seed)
    for weight in model.parameters():
        weight.data = 0.2 * torch.randn_like(weight)
    return model.eval()


def saved(kind, folder, seed=0):
    model = with_head(kind, seed)
    model.save_pretrained(folder)
    save_model(folder / "bare", model.base_model, tokenizer_of(kind))
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (folder / file).write_bytes((folder / "bare" / file).read_bytes())
    return model


def own_loss(model, kind, positions):
    """Compute the loss by transformers, as the mean over all hidden words."""
    index, mask = index_of(kind), tokenizer_of(kind).mask_token_id
    total = 0.0
    for first, end in pairwise(index["example_offsets"]):
        ids = torch.from_numpy(index["token_ids"][first:end].astype(np.int64))[None]
        here = positions[(positions >= first) & (positions < end)] - first
        labels = torch.full_like(ids, -100)
        labels[0, here] = ids[0, here]
        if kind in ENCODERS:
            ids[0, here] = mask
        with torch.no_grad():
            total += model(input_ids=ids, labels=labels).loss.item() * len(here)
    return total / len(positions)


@pytest.mark.parametrize("kind", ENCODERS + DECODERS)
def test_the_loss_is_transformers_own(kind, tmp_path):
    parent = saved(kind, tmp_path)
    encoder = load_encoder(tmp_path)
    head = LanguageHead(load_language_model(tmp_path, encoder))
    index, causal = index_of(kind), kind in DECODERS
    positions = hidden_words(index, causal, "wiki")
    mask = None if causal else tokenizer_of(kind).mask_token_id
    found = losses(encoder, head, index, positions, mask)
    assert found.shape == (encoder.config.num_hidden_layers + 1, len(positions))
    assert found[-1].mean() == pytest.approx(own_loss(parent, kind, positions), rel=1e-5)
    # A tuned encoder below the head of the parent, which has the parent's matrix of words.
    tuned = with_head(kind, seed=1).base_model.state_dict()
    state = {name: value for name, value in tuned.items() if "pooler" not in name}
    parent.set_output_embeddings(deepcopy(parent.get_output_embeddings()))
    parent.base_model.load_state_dict(state, strict=False)
    encoder.load_state_dict(state, strict=False)
    found = losses(encoder, head, index, positions, mask)[-1].mean()
    assert found == pytest.approx(own_loss(parent, kind, positions), rel=1e-5)
    # Whether there is a head is known before a model is read.
    assert not has_no_head(tmp_path) and has_no_head(tmp_path / "bare") == (not causal)
    if not causal:
        with pytest.raises(UserError, match="bare has no head for words"):
            load_language_model(tmp_path / "bare", load_encoder(tmp_path / "bare"))


def test_where_there_are_no_weights_a_missing_head_is_not_known(tmp_path):
    saved("bert", tmp_path)
    (tmp_path / "bare/model.safetensors").write_text(
        "version https://git-lfs.github.com/spec/v1\n"
    )
    assert not has_no_head(tmp_path / "bare") and not has_no_head(tmp_path / "none")


def test_a_share_of_content_words_is_hidden():
    index = index_of("bert")
    positions = hidden_words(index, False, "wiki")
    content = [
        np.count_nonzero(~index["special"][a:b]) for a, b in pairwise(index["example_offsets"])
    ]
    assert not index["special"][positions].any() and (np.diff(positions) > 0).all()
    assert len(positions) == sum(max(1, round(0.15 * n)) for n in content)
    again, other = (hidden_words(index, False, name) for name in ("wiki", "other"))
    assert np.array_equal(positions, again) and not np.array_equal(positions, other)
    firsts = index_of("gpt2")["example_offsets"][:-1]
    assert not np.isin(firsts, hidden_words(index_of("gpt2"), True, "wiki")).any()
    with pytest.raises(UserError, match="no input has a word to be hidden"):
        hidden_words(index | {"special": np.ones_like(index["special"])}, False, "wiki")


def test_frequencies_of_words_are_of_other_inputs(tmp_path):
    index = {
        "token_ids": np.array([9, 1, 2, 9, 9, 1, 1, 3, 9]),
        "special": np.array([1, 0, 0, 1, 1, 0, 0, 0, 1], bool),
        "example_offsets": np.array([0, 4, 9]),
    }
    found = np.exp(-unigram_losses(index, np.array([1, 2, 5, 7]), vocabulary=10))
    # The first input knows 1, 1, 3 of the other, two kinds of ten; the second knows 1, 2.
    assert found == pytest.approx([2.2 / 5, 0.2 / 5, 1.2 / 4, 0.2 / 4])
    counts = np.array([0, 6, 2] + [0] * 7)
    found = np.exp(-unigram_losses(index, np.array([1, 7]), 10, counts))
    assert found == pytest.approx([6.2 / 10, 0.2 / 10])
    (tmp_path / "corpus.txt").write_text("the river\nthe river\n\nthe house\n")
    counts = count_words(tmp_path / "corpus.txt", tokenizer_of("bert"))
    known = tokenizer_of("bert").convert_tokens_to_ids(["the", "river", "house"])
    assert counts[known].tolist() == [3, 2, 1] and counts.sum() == 6


def test_what_is_forgotten_is_the_difference_of_losses_without_each_input_too(tmp_path):
    """Fewer than 20 inputs: each is a block. The checkpoint itself has forgotten nothing and moved
    nowhere."""
    saved("bert", tmp_path), saved("bert", tmp_path / "tuned", seed=1)
    facts = {"parent": str(tmp_path), "init": 1, "ref_init": 1, "ref_seed": 0}
    runs = [
        {"folder": str(tmp_path / each), "seed": seed, **facts}
        for seed, each in enumerate((".", "tuned"))
    ]
    table = (
        forgetting(runs, ROWS, LENGTH, "wiki")
        .set_index(["seed", "metric", "variant", "layer"])
        .sort_index()
    )
    index = index_of("bert")
    positions = hidden_words(index, False, "wiki")
    head = LanguageHead(load_language_model(tmp_path, load_encoder(tmp_path)))
    mask = tokenizer_of("bert").mask_token_id
    own, theirs = (
        losses(load_encoder(run["folder"]), head, index, positions, mask)[-1] for run in runs
    )
    row = table.loc[1, "forgetting", "forgotten", 4]
    assert row["value"] == pytest.approx((theirs - own).mean())
    assert row["sd"] == pytest.approx((theirs - own).std(ddof=1)) and row["n"] == len(positions)
    for number, (first, end) in enumerate(pairwise(index["example_offsets"]), 1):
        rest = (positions < first) | (positions >= end)
        assert row[f"without{number}"] == pytest.approx((theirs - own)[rest].mean())
    same = table.loc[0, "value"]
    assert same["forgetting", "forgotten", 4] == 0 and (same["weights_moved"] == 0).all()
    assert same["forgetting", "model"].equals(same["forgetting", "parent"])
    assert [*same["weights_moved", "part"].index] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_how_far_weights_moved(kind):
    parent, model = model_of(kind), model_of(kind)
    for name, weight in model.named_parameters():
        if ".2." in name:  # the third layer
            weight.data *= 1.1
    found = {(variant, layer): value for variant, layer, value in moved(model, parent)}
    assert [found["part", layer] for layer in range(5)] == pytest.approx(
        [0, 0, 0, 0.1, 0], abs=1e-7
    )
    new, old = (
        torch.cat(
            [w.double().flatten() for name, w in one.named_parameters() if "pooler" not in name]
        )
        for one in (model, parent)
    )
    assert found["whole", 4] == pytest.approx(((new - old).norm() / old.norm()).item())


@pytest.mark.parametrize("kind", ["roberta", "gpt2"])
def test_a_pickle_in_which_the_head_has_the_matrix_of_the_embeddings(kind, tmp_path):
    """Its two names are one tensor, which an encoder alone must find."""
    model = saved(kind, tmp_path / "from")
    (tmp_path / "from/model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "from/pytorch_model.bin")
    import_checkpoint(tmp_path / "from", tmp_path / "to")
    head = LanguageHead(load_language_model(tmp_path / "to", load_encoder(tmp_path / "to")))
    assert torch.equal(
        head.model.get_output_embeddings().weight, model.get_input_embeddings().weight
    )


def test_a_head_that_does_not_read_the_base_model_is_refused(tmp_path):
    """OPT's reads a part of it."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(model_of("opt").config)
    with pytest.raises(UserError, match="head of a opt model cannot be run alone"):
        LanguageHead(model)(torch.zeros(3, 32))
