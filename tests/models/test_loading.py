import json
import math
import os

import pytest
import torch
from made_encoders import model_of, tokenizer_of
from made_toys import tokenizer_with
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForPreTraining, BertModel

from bertshift.errors import UserError
from bertshift.models.heads import load_task_model
from bertshift.models.loading import (
    WEIGHTS,
    import_checkpoint,
    load_encoder,
    save_model,
    save_weights,
)
from bertshift.models.weights import norms

TOKENIZER = tokenizer_with([])
IDS = torch.tensor([[2, 1, 4, 0, 3]])
CONFIG = BertConfig(
    vocab_size=len(TOKENIZER), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=32,
)  # fmt: skip


class Pretrained:
    """A folder with a model of pretraining, which can be damaged and imported."""

    def __init__(self, folder):
        torch.manual_seed(0)
        self.folder, self.run = folder / "pretrained", folder / "run"
        self.model = BertForPreTraining(CONFIG).eval()
        save_model(self.folder, self.model, TOKENIZER)
        self.config, self.weights = self.folder / "config.json", self.folder / "model.safetensors"

    def rewrite(self, change):
        save_file(change(load_file(self.weights)), self.weights)

    def imported(self):
        """The bytes of the weights that an import writes."""
        import_checkpoint(self.folder, self.run)
        return (self.run / "model.safetensors").read_bytes()

    def is_refused(self, problem):
        with pytest.raises(UserError, match=problem):
            import_checkpoint(self.folder, self.run)
        assert not self.run.exists()


@pytest.fixture
def pretrained(tmp_path):
    return Pretrained(tmp_path)


@torch.no_grad()
def test_the_encoder_of_a_pretraining_model_gives_its_hidden_states(pretrained):
    expected = pretrained.model.bert(IDS)
    pretrained.imported()
    for folder in (pretrained.folder, pretrained.run):
        output = load_encoder(folder)(IDS)
        torch.testing.assert_close(output.last_hidden_state, expected.last_hidden_state)
        torch.testing.assert_close(output.pooler_output, expected.pooler_output)
    source = json.loads((pretrained.run / "source.json").read_text())
    assert (source["source"], source["family"]) == ("local:pretrained", "bert")
    saved = {path.name for path in pretrained.folder.iterdir()}
    assert {path.name for path in pretrained.run.iterdir()} == saved | {"source.json"}


@pytest.mark.parametrize("share", [0.5, 1])
def test_a_flipped_bit_of_weights_is_noticed(pretrained, share):
    content = bytearray(pretrained.weights.read_bytes())
    content[int(share * len(content)) - 1] ^= 1
    pretrained.weights.write_bytes(content)
    for read in (load_encoder, norms):
        with pytest.raises(UserError, match=r"model\.safetensors is damaged"):
            read(pretrained.folder)
    pretrained.is_refused(r"model\.safetensors is damaged")


def early(state):
    """The bare model, with the names of norms and the buffers of an early export."""
    bare = {
        name.removeprefix("bert.")
        .replace("LayerNorm.weight", "LayerNorm.gamma")
        .replace("LayerNorm.bias", "LayerNorm.beta"): weight
        for name, weight in state.items()
        if "bert." in name
    }
    return bare | {"embeddings.position_ids": torch.arange(32)[None]}


def wrapped(prefix):
    return lambda state: {prefix + name: weight for name, weight in state.items()}


@pytest.mark.parametrize(
    "change",
    [
        early,
        wrapped("module._orig_mod."),
        lambda state: wrapped("bert._orig_mod.")(early(state)),
    ],
)
def test_other_names_of_the_same_weights_are_read(pretrained, change):
    pretrained.rewrite(change)
    pretrained.imported()
    with torch.no_grad():
        assert torch.equal(load_encoder(pretrained.run)(IDS)[0], pretrained.model.bert(IDS)[0])


def test_a_missing_pooler_is_drawn_from_the_seed_with_a_warning(pretrained, caplog):
    pretrained.rewrite(lambda state: {k: v for k, v in state.items() if ".pooler." not in k})
    first, same, different = (
        load_encoder(pretrained.folder, seed=seed).pooler.dense for seed in (1, 1, 2)
    )
    assert torch.equal(first.weight, same.weight)
    assert not torch.equal(first.weight, different.weight)
    assert first.bias.abs().max() == 0 and "has no pooler" in caplog.text


def test_a_failed_save_leaves_the_old_weights(pretrained, monkeypatch):
    before = pretrained.weights.read_bytes()

    def full_disk(*_args, **_kwargs):
        raise OSError("no space left")

    monkeypatch.setattr("bertshift.models.loading.save_file", full_disk)
    with pytest.raises(OSError, match="no space"):
        save_model(pretrained.folder, BertModel(CONFIG), TOKENIZER)
    assert pretrained.weights.read_bytes() == before and not list(pretrained.folder.glob(".*"))


def test_a_pickle_of_tensors_is_the_same_checkpoint_whole_and_in_parts(pretrained):
    folder, expected = pretrained.folder, pretrained.imported()
    pickle = folder / "pytorch_model.bin"
    state = pretrained.model.state_dict()
    state["bert.embeddings.position_ids"] = torch.arange(32)[None]
    pickle.write_bytes(b"not read beside safetensors")
    assert pretrained.imported() == expected
    pretrained.weights.unlink()
    torch.save(state, pickle)
    assert pretrained.imported() == expected
    pickle.unlink()
    files = {name: f"part{number % 2}.bin" for number, name in enumerate(state)}
    for file in ("part0.bin", "part1.bin"):
        torch.save({name: state[name] for name in files if files[name] == file}, folder / file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": files}))
    assert pretrained.imported() == expected


class Code:
    """A call that a pickle holds."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_pickle_of_more_than_tensors_is_refused_and_not_run(pretrained, tmp_path):
    pretrained.weights.unlink()
    pickle, made = pretrained.folder / "pytorch_model.bin", tmp_path / "made"
    for more in ({"step": 3}, {"optimizer": {"lr": torch.ones(1)}}, {"hook": Code(made)}):
        torch.save(pretrained.model.state_dict() | more, pickle)
        pretrained.is_refused("pytorch_model.bin is broken or holds more than named tensors")
    assert not made.exists()
    torch.load(pickle, weights_only=False)
    assert made.exists()  # it would have run


DENSE = "encoder.layer.1.output.dense.weight"


def changed(name, change):
    return lambda state: {k: change(v) if k.endswith(name) else v for k, v in state.items()}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda s: {k: v for k, v in s.items() if DENSE not in k}, f"lacks {DENSE}"),
        (lambda s: {k: v for k, v in s.items() if "layer.1." not in k}, "for layer 2 of the 2"),
        (wrapped("net.model."), "has 'net.model.bert.' before the names of its weights"),
        (
            lambda s: wrapped("left.")(s) | wrapped("right.")({k: 1 * v for k, v in s.items()}),
            "has 'left.bert.' and 'right.bert.' before",
        ),
        (
            lambda s: {k.replace(DENSE, DENSE + "_orig"): v for k, v in s.items()},
            f"{DENSE}_orig in the place of {DENSE}",
        ),
        (
            lambda s: {k.replace("query.w", "query.base_layer.w"): v for k, v in s.items()},
            "query.base_layer.weight and adapters beside it",
        ),
        (
            lambda s: s | {"bert.encoder.layer.1.x.bias": torch.zeros(32)},
            "unknown encoder.layer.1",
        ),
        (
            lambda s: s | {"bert.encoder.layer.2.x.bias": torch.zeros(32)},
            "has weights of 3 layers, and its configuration counts 2",
        ),
        (lambda s: s | {"bert.pooler.dense.bias": torch.zeros(16)}, "another shape .* for pooler"),
        (changed(DENSE, lambda w: w * math.nan), f"{DENSE} holds NaN"),
        (changed("LayerNorm.weight", lambda w: w.double() * 1e300), "LayerNorm.weight holds NaN"),
        (changed(DENSE, lambda w: (w * 100).to(torch.int8)), f"{DENSE} holds int8"),
        (changed(DENSE, lambda w: w.to(torch.float8_e4m3fn)), f"{DENSE} holds float8"),
    ],
)
def test_weights_that_cannot_be_used_are_named(pretrained, change, problem):
    pretrained.rewrite(change)
    pretrained.is_refused(problem)


def test_a_prefix_is_named_where_transformers_hides_names(tmp_path):
    model = model_of("gpt2")
    save_model(tmp_path, model, tokenizer_of("gpt2"))
    save_weights(tmp_path / WEIGHTS, wrapped("model.")(model.state_dict()))
    with pytest.raises(UserError, match="has 'model.' before the names of its weights"):
        load_encoder(tmp_path)


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (1, "index.json has no weight_map"),
        ("../part.safetensors", "part.safetensors, which is outside"),
        ("part.safetensors", "part.safetensors, which is missing"),
    ],
)
def test_an_index_names_files_beside_it(pretrained, tmp_path, file, problem):
    pretrained.weights.rename(tmp_path / "part.safetensors")
    index = json.dumps({"weight_map": {"bert.pooler.dense.bias": file}})
    (pretrained.folder / "model.safetensors.index.json").write_text(index)
    pretrained.is_refused(problem)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_file_that_cannot_be_read_is_not_called_missing(pretrained, name):
    path = pretrained.folder / name
    path.unlink()
    path.mkdir()
    pretrained.is_refused(f"pretrained/{name} cannot be read")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"hidden_size": 10**9}, "model.safetensors has another shape"),
        ({"vocab_size": "12"}, "'vocab_size'"),
        ({"hidden_act": "gelly"}, "gelly"),
        ({"model_type": ["bert"]}, "model_type is"),
        ({"model_type": "barts"}, "'barts'; nearest: bart"),
        ({"model_type": "roberta"}, "has 'bert.' before .* correct model_type"),
        ({"model_type": "mine", "auto_map": {"AutoModel": "m.M"}}, "'mine' needs code"),
        ({"is_encoder_decoder": True}, "an encoder-decoder"),
        ({"quantization_config": {"bits": 4}}, "a quantised checkpoint"),
    ],
)
def test_a_config_that_describes_no_usable_model_is_named(pretrained, change, problem):
    settings = json.loads(pretrained.config.read_text()) | change
    pretrained.config.write_text(json.dumps(settings))
    pretrained.is_refused(problem)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("model.safetensors", b"cut short", "not a complete safetensors file"),
        ("config.json", "{}".encode("utf-16"), "not UTF-8"),
    ],
)
def test_a_broken_file_is_named(pretrained, name, content, problem):
    (pretrained.folder / name).write_bytes(content)
    pretrained.is_refused(problem)


def test_a_folder_that_is_no_checkpoint_is_named(pretrained, tmp_path):
    with pytest.raises(UserError, match="no fine-tuned model"):
        load_task_model(pretrained.folder)
    with pytest.raises(UserError, match="not a folder"):
        import_checkpoint(tmp_path / "nowhere", tmp_path / "run")
    pretrained.weights.rename(pretrained.folder / "tf_model.h5")
    pretrained.is_refused("tf_model.h5")
    (pretrained.folder / "tf_model.h5").rename(pretrained.folder / "bert_model.ckpt.index")
    pretrained.is_refused("bert_model.ckpt is a TensorFlow checkpoint")
    pretrained.config.unlink()
    pretrained.is_refused("bert_model.ckpt is a TensorFlow checkpoint")
