"""Loaded models: refused where they compute something else than their weights say, where two of
them are one in memory, and where their weights are no plain numbers."""

import copy
import warnings

import accelerate
import peft
import pytest
import torch
import torch.nn.utils.prune
from made_encoders import TEXTS, model_of, tokenizer_of
from torch import nn
from transformers import AutoModel, AutoModelForSequenceClassification, BertModel

import bertshift
from bertshift.api.models import given_names, name_of
from bertshift.models.loading import save_model

LORA = peft.LoraConfig(r=2, init_lora_weights=False, target_modules=["query", "value"])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    # In 16 bits, rounded frequencies of rotary positions differ at the hundredth token.
    sizes = {"bert": {}, "gpt2": {}, "llama": {"max_position_embeddings": 512}}
    for kind, size in sizes.items():
        model = model_of(kind, vocab_size=len(tokenizer_of(kind)), **size)
        save_model(folder / kind, model, tokenizer_of(kind))
        with torch.no_grad():
            model.get_input_embeddings().weight *= 1.1
        save_model(folder / f"{kind}-base", model, tokenizer_of(kind))
    return folder


def compared(model, reference, texts=TEXTS[:2]):
    return bertshift.compare(model, reference, texts, measures="rsa")


class Doubled(BertModel):
    def forward(self, *arguments, **options):
        output = super().forward(*arguments, **options)
        output.last_hidden_state = 2 * output.last_hidden_state
        return output


def with_forward(model):
    layer = model.encoder.layer[1].output
    forward = layer.forward
    layer.forward = lambda *arguments: 1.01 * forward(*arguments)


def with_hook(model):
    model.encoder.layer[1].register_forward_hook(lambda _, __, output: 1.01 * output)


def with_relu(model):
    model.encoder.layer[3].intermediate.intermediate_act_fn = nn.ReLU()


def with_other_gelu(model):
    model.encoder.layer[0].intermediate.intermediate_act_fn = nn.GELU(approximate="tanh")


def with_norm(model):
    model.embeddings.LayerNorm = nn.Identity()
    model.embeddings.LayerNorm.weight = nn.Parameter(torch.ones(32))
    model.embeddings.LayerNorm.bias = nn.Parameter(torch.zeros(32))


def with_no_forward(model):
    model.encoder.forward = None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (with_forward, "computes other hidden states"),
        (with_hook, "computes other hidden states"),
        (with_relu, "computes other hidden states"),
        (with_other_gelu, "computes other hidden states"),
        (with_norm, "computes other hidden states"),
        (with_no_forward, "cannot be run as a model of its class"),
    ],
)
def test_what_weights_do_not_say_is_refused(change, said, folders):
    model = AutoModel.from_pretrained(folders / "bert")
    change(model)
    with pytest.raises(bertshift.UserError, match=f"bert {said}"):
        compared(model, folders / "bert-base")


def test_a_class_of_ones_own_and_a_hook_beside_adapters_are_refused(folders):
    with pytest.raises(bertshift.UserError, match="computes other hidden states"):
        compared(Doubled.from_pretrained(folders / "bert"), folders / "bert-base")
    whole = AutoModelForSequenceClassification.from_pretrained(folders / "bert")
    adapted = peft.get_peft_model(whole, LORA)
    compared(adapted, folders / "bert-base")
    with_hook(whole.bert)
    with pytest.raises(bertshift.UserError, match="computes other hidden states"):
        compared(adapted, folders / "bert-base")


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_plain_models_pass_in_any_precision_and_stay_as_they_are(kind, dtype, attention, folders):
    model = AutoModel.from_pretrained(
        folders / kind, dtype=dtype, attn_implementation=attention
    ).train()
    seen = []
    model.get_input_embeddings().register_forward_hook(lambda *_: seen.append(1))
    compared(model, folders / f"{kind}-base")
    assert seen and model.config._attn_implementation == attention
    assert all(module.training for module in model.modules())
    assert all(weight.dtype == dtype for weight in model.parameters())


@pytest.mark.parametrize("kind", [AutoModel, AutoModelForSequenceClassification])
def test_a_model_that_accelerate_trains_in_mixed_precision_passes(kind, folders):
    model = kind.from_pretrained(folders / "bert")
    accelerator = accelerate.Accelerator(cpu=True, mixed_precision="bf16")
    try:
        prepared = accelerator.prepare_model(model)
    finally:
        accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    forward = prepared.forward
    compared(prepared, folders / "bert-base")
    assert prepared.forward == forward != prepared._original_forward


def test_one_model_twice_is_refused(folders):
    whole = AutoModelForSequenceClassification.from_pretrained(folders / "bert")
    twin = AutoModelForSequenceClassification.from_pretrained(folders / "bert-base")
    twin.load_state_dict(whole.state_dict(), assign=True)
    for reference in (whole, whole.bert, twin):
        with pytest.raises(bertshift.UserError, match="are one model in memory"):
            compared(whole, reference)
    with pytest.raises(bertshift.UserError, match="two replicates .* are one model in memory"):
        compared([whole, whole], folders / "bert-base")


def test_a_reference_that_was_trained_in_place_is_warned_of(folders, tmp_path):
    trained = AutoModelForSequenceClassification.from_pretrained(folders / "bert")
    with torch.no_grad():
        trained.bert.embeddings.word_embeddings.weight *= 1.1
    save_model(tmp_path, trained, tokenizer_of("bert"))
    for model in (tmp_path, copy.deepcopy(trained)):
        with pytest.warns(UserWarning, match="are equal in every layer"):
            same = compared(model, trained)
        assert same.table["value"].to_numpy() == pytest.approx(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compared(tmp_path, AutoModel.from_pretrained(folders / "bert"))
        compared(folders / "bert", folders / "bert")


def test_a_base_that_adapters_were_put_into_is_no_reference(folders, tmp_path):
    base = AutoModelForSequenceClassification.from_pretrained(folders / "bert")
    adapted = peft.get_peft_model(base, LORA)
    adapted.save_pretrained(tmp_path)
    with pytest.raises(bertshift.UserError, match="are one model in memory"):
        compared(adapted, base)
    with pytest.raises(bertshift.UserError, match="the base that PEFT put adapters into"):
        compared(tmp_path, base)
    assert compared(tmp_path, adapted.unload()).table["value"].min() < 0.99
    merged = peft.get_peft_model(base, LORA).merge_and_unload()
    with pytest.raises(bertshift.UserError, match="are one model in memory"):
        compared(merged, base)
    # Adapters that the reference was asked to have are a part of it.
    base.load_adapter(str(tmp_path))
    compared(folders / "bert-base", base)


def quantised(model, _):
    return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)


def sparse(model, _):
    dense = model.encoder.layer[1].output.dense
    dense.weight = nn.Parameter(dense.weight.detach().to_sparse())
    return model


def on_meta(model, _):
    return model.to("meta")


def on_disk(model, folder):
    parts = {"embeddings": "cpu", "encoder": "disk", "pooler": "cpu"}
    return AutoModel.from_pretrained(
        model.name_or_path, device_map=parts, offload_folder=folder / "disk"
    )


def pruned(model, _):
    nn.utils.prune.l1_unstructured(model.encoder.layer[1].output.dense, "weight", 0.5)
    return model


def normed(model, _):
    nn.utils.parametrizations.weight_norm(model.encoder.layer[1].output.dense)
    return model


def cut(model, _):
    model.encoder.layer = model.encoder.layer[:2]
    return model


def repeated(model, _):
    model.encoder.layer[1] = model.encoder.layer[0]
    return model


@pytest.mark.filterwarnings("ignore:.*quantization is deprecated")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (quantised, "holds no plain numbers"),
        (sparse, "encoder.layer.1.output.dense.weight holds no plain numbers"),
        (on_meta, "word_embeddings.weight is not in memory"),
        (on_disk, "encoder.layer.0.attention.self.query.weight is not in memory"),
        (pruned, "the loaded model .*bert has .*dense.weight_mask in the place of .*dense.weight"),
        (normed, "dense.parametrizations.weight.original0 in the place of"),
        (cut, "no weights of its own for layers 3, 4 of the 4"),
        (repeated, "no weights of its own for layer 2 of the 4"),
    ],
)
def test_weights_that_are_not_there_as_such_are_named(change, said, folders, tmp_path):
    model = change(AutoModel.from_pretrained(folders / "bert"), tmp_path)
    with pytest.raises(bertshift.UserError, match=said):
        compared(model, folders / "bert-base")


@pytest.mark.parametrize(
    ("models", "reference", "names"),
    [(["runs/m1"], "runs/m0", ("m1", "m0")), (["/x/a/model"], "/x/b/model", ("a/model", "b/model")),
     (["a/m1", "a/m2", "a/m3"], "b/m0/", ("a/m1 and 2 more", "b/m0")),
     (["somebody/bert@main"], "./out", ("somebody/bert@main", "./out")),
     (["m"], "m", ("m (model)", "m (reference)"))],
)  # fmt: skip
def test_both_sides_have_the_names_that_were_given(models, reference, names):
    assert given_names(models, [reference]) == names


def test_a_loaded_model_remembers_its_folder_with_or_without_a_slash(folders):
    loaded = AutoModel.from_pretrained(f"{folders}/bert/")
    assert name_of(loaded) == str(folders / "bert")
