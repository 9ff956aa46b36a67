"""Adapters that PEFT made, of every kind: merged as its own `merge_and_unload` does it, or
refused."""

import copy
from functools import partial

import peft
import pytest
import torch
from made_encoders import changed, copied, model_of, tokenizer_of
from transformers import AutoModel, AutoModelForSequenceClassification

from bertshift.errors import UserError
from bertshift.models.adapters import base_of, merge_folder, merged_copy
from bertshift.models.loading import import_checkpoint, load_encoder, save_model

ATTENTION = ["query", "value"]
lora = partial(peft.LoraConfig, target_modules=ATTENTION)
KINDS = {
    "lora": lora(task_type="SEQ_CLS", r=4),
    "lora of all": lora(r=2, target_modules="all-linear", use_dora=True, bias="all"),
    "lora beside a new pooler": lora(
        r=2, modules_to_save=["classifier", "pooler"], use_rslora=True
    ),
    "lora of the bare model": lora(task_type="FEATURE_EXTRACTION", r=4),
    "lora of gpt2": lora(task_type="SEQ_CLS", target_modules=["c_attn"], fan_in_fan_out=True),
    "ia3": peft.IA3Config(task_type="SEQ_CLS", target_modules=ATTENTION, feedforward_modules=[]),
    "norms": peft.LNTuningConfig(task_type="SEQ_CLS", target_modules=["LayerNorm"]),
    "words": lora(r=2, trainable_token_indices={"word_embeddings": [7, 9]}),
}


def family_of(kind):
    return "gpt2" if "gpt2" in kind else "bert"


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bases")
    for kind in ("bert", "gpt2"):
        tokenizer = tokenizer_of(kind)
        model = model_of(kind, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id)
        save_model(folder / kind, model, tokenizer)
    return folder


def adapted(kind, bases, folder):
    """Save a random adapter of this kind in a folder and return its model."""
    config = KINDS[kind]
    bare_model = config.task_type == "FEATURE_EXTRACTION"
    loader = AutoModel if bare_model else AutoModelForSequenceClassification
    base = loader.from_pretrained(bases / family_of(kind))
    model = peft.get_peft_model(base, copy.deepcopy(config)).eval()
    torch.manual_seed(1)
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data += 0.05 * torch.randn_like(weight)
    model.save_pretrained(folder)
    return model


def bare(model):
    return getattr(model, model.base_model_prefix, model).state_dict()


def assert_identical(weights, expected):
    torch.testing.assert_close(dict(weights), dict(expected), rtol=0, atol=0)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_merged_is_what_peft_merges_to_the_bit(kind, bases, tmp_path):
    model, base = adapted(kind, bases, tmp_path), bases / family_of(kind)
    before, encoder = copied(model), load_encoder(base)
    plain = copied(encoder)
    merge_folder(encoder, tmp_path)
    merged = bare(merged_copy(model, "mine"))
    assert not changed(before, model)
    assert base_of(tmp_path) == base_of(model) == str(base)
    expected = bare(model.merge_and_unload())
    assert_identical(merged, expected)
    assert_identical(encoder.state_dict(), expected)
    assert changed(plain, encoder)


PROMPTS = peft.PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=3)
ROUTED = peft.PolyConfig(task_type="SEQ_CLS", target_modules=ATTENTION, r=2)


@pytest.mark.parametrize(
    ("config", "problem"), [(PROMPTS, "its peft_type is PROMPT_TUNING"), (ROUTED, "task_ids")]
)
def test_what_cannot_be_merged_is_refused(config, problem, bases, tmp_path):
    model = AutoModelForSequenceClassification.from_pretrained(bases / "bert")
    model = peft.get_peft_model(model, copy.deepcopy(config))
    model.save_pretrained(tmp_path)
    with pytest.raises(UserError, match=f"mine: .*{problem}"):
        merged_copy(model, "mine")
    with pytest.raises(UserError, match=f"{tmp_path.name}: .*{problem}"):
        merge_folder(load_encoder(bases / "bert"), tmp_path)


def test_an_adapter_that_does_not_fit_or_is_damaged_is_refused(bases, tmp_path):
    adapted("lora", bases, tmp_path)
    for encoder in (model_of("bert", hidden_size=16), model_of("bert", num_hidden_layers=2)):
        with pytest.raises(UserError, match="does not fit its base"):
            merge_folder(encoder, tmp_path)
    weights, config = tmp_path / "adapter_model.safetensors", tmp_path / "adapter_config.json"
    weights.write_bytes(weights.read_bytes()[:-9])
    with pytest.raises(UserError, match="not a complete safetensors file"):
        merge_folder(load_encoder(bases / "bert"), tmp_path)
    config.write_text('{"peft_type": "LORA", "base_model_name_or_path": null}')
    with pytest.raises(UserError, match="adapter_config.json .*base_model_name_or_path"):
        base_of(tmp_path)


def test_a_checkpoint_of_the_workflow_is_no_adapter(bases, tmp_path):
    adapted("lora", bases, tmp_path / "adapter")
    with pytest.raises(UserError, match="adapter holds an adapter alone; merge it into its base"):
        import_checkpoint(tmp_path / "adapter", tmp_path / "run")


@pytest.mark.parametrize(
    "places",
    [{}, {"modules_to_save": ["word_embeddings"]}, {"target_modules": ["word_embeddings"]}],
)
@torch.no_grad()
def test_an_adapter_with_new_words_enlarges_its_base(places, bases, tmp_path):
    base = AutoModelForSequenceClassification.from_pretrained(bases / "bert")
    words = base.config.vocab_size + 3
    base.resize_token_embeddings(words)
    options = {"r": 2, "init_lora_weights": False, "target_modules": ATTENTION} | places
    model = peft.get_peft_model(base, peft.LoraConfig(task_type="SEQ_CLS", **options)).eval()
    model.save_pretrained(tmp_path)
    encoder = load_encoder(bases / "bert")
    merge_folder(encoder, tmp_path)
    assert encoder.config.vocab_size == words
    assert_identical(encoder.state_dict(), bare(model.merge_and_unload()))
