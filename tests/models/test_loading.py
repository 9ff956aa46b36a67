import json
import logging
import math
import os

import pytest
import torch
from made_encoders import model_of, tokenizer_of
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForPreTraining, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.models.family import longest_input, run
from bertshift.models.heads import load_task_model
from bertshift.models.loading import import_checkpoint, load_encoder, save_model
from bertshift.models.weights import norms

torch.set_num_threads(1)
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "hello",
    "world",
    "Hello",
    "[",
    "]",
    "mask",
    "##s",
]
IDS = torch.tensor([[2, 5, 6, 11, 3]])
CONFIG = BertConfig(
    vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
    max_position_embeddings=32,
)  # fmt: skip


def tokenizer():
    return BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}, do_lower_case=True)


class Pretrained:
    """A folder with a model of pretraining, which can be spoilt and imported."""

    def __init__(self, place):
        torch.manual_seed(0)
        self.folder, self.run = place / "pretrained", place / "run"
        self.model = BertForPreTraining(CONFIG).eval()
        save_model(self.folder, self.model, tokenizer())
        self.config, self.weights = self.folder / "config.json", self.folder / "model.safetensors"

    def rewrite(self, change):
        save_file(change(load_file(self.weights)), self.weights)

    def imported(self):
        """The bytes of the weights that an import writes."""
        import_checkpoint(self.folder, self.run)
        return (self.run / "model.safetensors").read_bytes()

    def refuses(self, words):
        with pytest.raises(UserError, match=words):
            import_checkpoint(self.folder, self.run)
        assert not self.run.exists()


@pytest.fixture
def pretrained(tmp_path):
    return Pretrained(tmp_path)


@torch.no_grad()
def test_encoder_of_a_pretraining_model_gives_its_hidden_states(pretrained):
    expected = pretrained.model.bert(IDS)
    pretrained.imported()
    for folder in (pretrained.folder, pretrained.run):
        output = load_encoder(folder)(IDS)
        torch.testing.assert_close(output.last_hidden_state, expected.last_hidden_state)
        torch.testing.assert_close(output.pooler_output, expected.pooler_output)
    source = json.loads((pretrained.run / "source.json").read_text())
    assert (source["source"], source["family"]) == ("local:pretrained", "bert")
    names = {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "source.json",
    }
    assert {path.name for path in pretrained.run.iterdir()} == names


@pytest.mark.parametrize("place", [0.5, 1])
def test_a_flipped_bit_of_weights_is_noticed(pretrained, tmp_path, place):
    whole = bytearray(pretrained.weights.read_bytes())
    save_model(tmp_path / "again", pretrained.model, tokenizer())
    assert (tmp_path / "again/model.safetensors").read_bytes() == whole
    whole[int(place * len(whole)) - 1] ^= 1
    pretrained.weights.write_bytes(whole)
    for read in (load_encoder, norms):
        with pytest.raises(UserError, match=r"model\.safetensors is damaged"):
            read(pretrained.folder)
    pretrained.refuses(r"model\.safetensors is damaged")


def early(state):
    """The bare model, with the names of norms and the buffers of an early export."""
    bare = {name.removeprefix("bert."): value for name, value in state.items() if "bert." in name}
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, before in old.items():
        bare = {name.replace(new, before): value for name, value in bare.items()}
    return bare | {"embeddings.position_ids": torch.arange(32)[None]}


def wrapped(prefix):
    return lambda state: {prefix + name: value for name, value in state.items()}


@pytest.mark.parametrize(
    "change",
    [
        early,
        wrapped("module."),
        wrapped("module._orig_mod."),
        lambda s: wrapped("bert._orig_mod.")(early(s)),
    ],
)
def test_other_names_of_the_same_weights_are_read(pretrained, change):
    pretrained.rewrite(change)
    pretrained.imported()
    with torch.no_grad():
        assert torch.equal(load_encoder(pretrained.run)(IDS)[0], pretrained.model.bert(IDS)[0])


def test_missing_pooler_is_drawn_from_the_seed_and_said(pretrained, caplog):
    pretrained.rewrite(lambda state: {k: v for k, v in state.items() if ".pooler." not in k})
    with caplog.at_level(logging.WARNING):
        first, again, other = (
            load_encoder(pretrained.folder, seed=n).pooler.dense for n in (1, 1, 2)
        )
    assert torch.equal(first.weight, again.weight) and not torch.equal(first.weight, other.weight)
    assert first.bias.abs().max() == 0 and "has no pooler" in caplog.text


def test_failed_save_leaves_the_old_weights(pretrained, monkeypatch):
    before = pretrained.weights.read_bytes()

    def full_disk(*_args, **_kwargs):
        raise OSError("no space left")

    monkeypatch.setattr("bertshift.models.loading.save_file", full_disk)
    with pytest.raises(OSError, match="no space"):
        save_model(pretrained.folder, BertModel(CONFIG), tokenizer())
    assert pretrained.weights.read_bytes() == before and not list(pretrained.folder.glob(".*"))


def test_a_pickle_of_tensors_is_the_same_checkpoint_whole_and_in_parts(pretrained):
    safe, folder, whole = (
        pretrained.imported(),
        pretrained.folder,
        pretrained.folder / "pytorch_model.bin",
    )
    positions = {"bert.embeddings.position_ids": torch.arange(32)[None]}
    state = pretrained.model.state_dict() | positions
    whole.write_bytes(b"not looked at beside safetensors")
    assert pretrained.imported() == safe
    pretrained.weights.unlink()
    torch.save(state, whole)
    assert pretrained.imported() == safe
    whole.unlink()
    names = {name: f"part{number % 2}.bin" for number, name in enumerate(state)}
    for file in ("part0.bin", "part1.bin"):
        torch.save({name: state[name] for name in names if names[name] == file}, folder / file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": names}))
    assert pretrained.imported() == safe


class Code:
    """What a pickle can hold: a call."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_what_a_pickle_may_not_hold_is_refused_and_not_run(pretrained, tmp_path):
    pretrained.weights.unlink()
    path, made = pretrained.folder / "pytorch_model.bin", tmp_path / "made"
    for more in ({"step": 3}, {"optimizer": {"lr": torch.ones(1)}}, {"hook": Code(made)}):
        torch.save(pretrained.model.state_dict() | more, path)
        pretrained.refuses("pytorch_model.bin is broken or holds more than named tensors")
    assert not made.exists()
    torch.load(path, weights_only=False)
    assert made.exists()  # it would have run


DENSE = "encoder.layer.1.output.dense.weight"


def part(name, change):
    return lambda state: {k: change(v) if k.endswith(name) else v for k, v in state.items()}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: {k: v for k, v in s.items() if DENSE not in k}, f"lacks {DENSE}"),
        (
            lambda s: s | {"bert.encoder.layer.2.x.bias": torch.zeros(32)},
            "unknown encoder.layer.2",
        ),
        (lambda s: s | {"bert.pooler.dense.bias": torch.zeros(16)}, "another shape .* for pooler"),
        (part(DENSE, lambda w: w * math.nan), f"{DENSE} holds NaN"),
        (
            part("LayerNorm.weight", lambda w: w.double() * 1e300),
            "LayerNorm.weight holds NaN or inf",
        ),
        (part(DENSE, lambda w: (w * 100).to(torch.int8)), f"{DENSE} holds int8"),
        (part(DENSE, lambda w: w.to(torch.float8_e4m3fn)), f"{DENSE} holds float8"),
    ],
)
def test_weights_that_cannot_be_used_are_named(pretrained, change, words):
    pretrained.rewrite(change)
    pretrained.refuses(words)


@pytest.mark.parametrize(
    ("weight_map", "words"),
    [
        (None, "index.json has no weight_map"),
        ({"bert.pooler.dense.bias": 1}, "index.json has no weight_map"),
        ({"bert.pooler.dense.bias": "../part.safetensors"}, "part.safetensors, which is outside"),
        (
            {"bert.pooler.dense.bias": "HERE/part.safetensors"},
            "part.safetensors, which is outside",
        ),
        ({"bert.pooler.dense.bias": "part.safetensors"}, "part.safetensors, which is missing"),
    ],
)
def test_an_index_names_files_beside_it(pretrained, tmp_path, weight_map, words):
    pretrained.weights.rename(tmp_path / "part.safetensors")
    text = json.dumps({"weight_map": weight_map}).replace("HERE", str(tmp_path))
    (pretrained.folder / "model.safetensors.index.json").write_text(text)
    pretrained.refuses(words)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_what_may_not_be_read_is_not_called_missing(pretrained, name):
    path = pretrained.folder / name
    path.unlink()
    if name != "tokenizer.json":
        pretrained.refuses(f"{name} is missing")
    path.mkdir()
    pretrained.refuses(f"pretrained/{name} cannot be read")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_attention_heads": 3}, "hidden_size 32 .*_heads 3"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0"),
        ({"hidden_size": "32"}, "hidden_size is '32'"),
        ({"hidden_size": 10**9}, "model.safetensors has another shape"),
        ({"vocab_size": "12"}, "'vocab_size'"),
        ({"hidden_act": "gelly"}, "gelly"),
        ({"model_type": ["bert"]}, "model_type is"),
        ({"model_type": "barts"}, "'barts'; nearest: bart"),
        ({"model_type": "roberta"}, "config.json and weights must belong together"),
        ({"model_type": "mine", "auto_map": {"AutoModel": "m.M"}}, "'mine' needs code"),
        ({"is_encoder_decoder": True}, "an encoder-decoder"),
        ({"quantization_config": {"bits": 4}}, "a quantised checkpoint"),
    ],
)
def test_a_config_that_describes_no_usable_model_is_named(pretrained, change, words):
    settings = json.loads(pretrained.config.read_text()) | change
    pretrained.config.write_text(json.dumps(settings))
    pretrained.refuses(words)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("model.safetensors", lambda old: old[:-100], "not a complete safetensors file"),
        ("config.json", lambda old: b"[]", "config.json holds no JSON"),
        ("config.json", lambda old: "{}".encode("utf-16"), "not UTF-8"),
    ],
)
def test_a_file_that_is_broken_is_named(pretrained, name, change, words):
    path = pretrained.folder / name
    path.write_bytes(change(path.read_bytes()))
    pretrained.refuses(words)


def test_what_is_no_checkpoint_is_named(pretrained, tmp_path):
    with pytest.raises(UserError, match="no fine-tuned model"):
        load_task_model(pretrained.folder)
    with pytest.raises(UserError, match="not a folder"):
        import_checkpoint(tmp_path / "nowhere", tmp_path / "run")
    pretrained.weights.rename(pretrained.folder / "tf_model.h5")
    pretrained.refuses("tf_model.h5")


@pytest.mark.parametrize("kind", ["bert", "roberta", "ernie"])
@torch.no_grad()
def test_keys_about_how_a_model_hands_out_change_nothing(kind, tmp_path):
    model = model_of(kind, vocab_size=len(tokenizer_of(kind)))
    save_model(tmp_path / "given", model, tokenizer_of(kind))
    path = tmp_path / "given/config.json"
    change = {"return_dict": False, "chunk_size_feed_forward": 4, "pad_token_id": None}
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    import_checkpoint(tmp_path / "given", tmp_path / "run")
    encoder, ids = load_encoder(tmp_path / "run"), torch.tensor([[3, 4, 5, 6, 7]])
    torch.testing.assert_close(
        run(encoder, ids).last_hidden_state, run(model, ids).last_hidden_state
    )
    assert longest_input(encoder) == longest_input(model)
