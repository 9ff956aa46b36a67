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
from bertshift.models.heads import SequenceClassifier, load_task_model
from bertshift.models.loading import (
    import_checkpoint,
    load_encoder,
    save_model,
)
from bertshift.models.tokenizer import load_tokenizer
from bertshift.models.weights import norms

torch.set_num_threads(1)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "Hello", "[", "]", "mask", "##s"]
IDS = torch.tensor([[2, 5, 6, 11, 3]])


def tokenizer(lowercase=True):
    return BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}, do_lower_case=lowercase)


def config(**changes):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    return BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **sizes | changes)


@pytest.fixture
def pretrained(tmp_path):
    torch.manual_seed(0)
    model = BertForPreTraining(config()).eval()
    save_model(tmp_path / "pretrained", model, tokenizer())
    return tmp_path / "pretrained", model


def rewrite(folder, change):
    state = load_file(folder / "model.safetensors")
    save_file(change(state), folder / "model.safetensors")


def test_encoder_of_a_pretraining_model_gives_its_hidden_states(pretrained):
    folder, model = pretrained
    with torch.no_grad():
        expected = model.bert(IDS)
        output = load_encoder(folder)(IDS)
    torch.testing.assert_close(output.last_hidden_state, expected.last_hidden_state)
    torch.testing.assert_close(output.pooler_output, expected.pooler_output)


@pytest.mark.parametrize("read", [load_encoder, import_checkpoint, norms])
def test_a_flipped_bit_of_weights_is_noticed(pretrained, tmp_path, read):
    weights = pretrained[0] / "model.safetensors"
    whole = weights.read_bytes()
    save_model(tmp_path / "again", pretrained[1], tokenizer())
    assert (tmp_path / "again/model.safetensors").read_bytes() == whole
    for place in (len(whole) - 1, len(whole) // 2):
        weights.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(
            UserError, match=r"model\.safetensors is damaged; delete it and call the same command"
        ):
            read(pretrained[0], *[tmp_path / "run"] * (read is import_checkpoint))


def test_bare_bert_with_old_layer_norm_names_and_buffers_loads(pretrained):
    folder, model = pretrained

    def like_an_early_export(state):
        bare = {k.removeprefix("bert."): v for k, v in state.items() if k.startswith("bert.")}
        bare = {
            k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
            for k, v in bare.items()
        }
        return bare | {"embeddings.position_ids": torch.arange(32)[None]}

    rewrite(folder, like_an_early_export)
    expected = {k: v for k, v in model.bert.state_dict().items() if not k.endswith("_ids")}
    loaded = load_encoder(folder).state_dict()
    assert all(torch.equal(loaded[k], expected[k]) for k in expected)


def test_missing_pooler_is_drawn_from_the_seed_and_said(pretrained, caplog):
    folder, _ = pretrained
    rewrite(folder, lambda state: {k: v for k, v in state.items() if ".pooler." not in k})
    with caplog.at_level(logging.WARNING):
        first, again, other = (load_encoder(folder, seed=seed).pooler.dense for seed in (1, 1, 2))
    assert torch.equal(first.weight, again.weight) and not torch.equal(first.weight, other.weight)
    assert first.bias.abs().max() == 0 and "has no pooler" in caplog.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda s: {k: v for k, v in s.items() if "layer.1.output.dense.weight" not in k},
            "lacks encoder.layer.1",
        ),
        (
            lambda s: s | {"bert.encoder.layer.2.output.dense.bias": torch.zeros(32)},
            "unknown encoder.layer.2",
        ),
        (
            lambda s: s | {"bert.pooler.dense.bias": torch.zeros(16)},
            "another shape than config.json for pooler",
        ),
    ],
)
def test_unexpected_layout_is_named(pretrained, change, words):
    folder, _ = pretrained
    rewrite(folder, change)
    with pytest.raises(UserError, match=words):
        load_encoder(folder)


def test_tokenizer_keeps_case_and_cuts_special_words(tmp_path):
    for lowercase, first in ((True, "hello"), (False, "Hello")):
        save_model(tmp_path, BertModel(config()), tokenizer(lowercase))
        for missing in ("tokenizer_config.json", "tokenizer.json"):
            (tmp_path / missing).unlink()
            if missing == "tokenizer.json":  # a vocab.txt alone does not say which case it is
                (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
                with pytest.raises(UserError, match="whether its vocabulary is lowercased"):
                    load_tokenizer(tmp_path)
                (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lowercase}))
            pieces = load_tokenizer(tmp_path)("Hello [CLS] [MASK] worlds").tokens()
            assert pieces == ["[CLS]", first, "[", "[UNK]", "]", "[MASK]", "world", "##s", "[SEP]"]


def test_task_model_comes_back_whole_and_as_an_encoder(tmp_path):
    torch.manual_seed(0)
    model = SequenceClassifier(BertModel(config()), outputs=3, seed=5).eval()
    save_model(tmp_path, model, tokenizer())
    with torch.no_grad():
        torch.testing.assert_close(load_task_model(tmp_path)(input_ids=IDS), model(input_ids=IDS))
        torch.testing.assert_close(
            load_encoder(tmp_path)(IDS).last_hidden_state, model.encoder(IDS).last_hidden_state
        )
    save_model(tmp_path, BertModel(config()), tokenizer())
    with pytest.raises(UserError, match="no fine-tuned model"):
        load_task_model(tmp_path)


def test_failed_save_leaves_the_old_weights(pretrained, monkeypatch):
    folder, _ = pretrained
    before = (folder / "model.safetensors").read_bytes()

    def full_disk(*_args, **_kwargs):
        raise OSError("no space left")

    monkeypatch.setattr("bertshift.models.loading.save_file", full_disk)
    with pytest.raises(OSError, match="no space"):
        save_model(folder, BertModel(config()), tokenizer())
    assert (folder / "model.safetensors").read_bytes() == before
    assert not list(folder.glob(".*"))


def test_import_writes_a_model_folder_that_says_where_it_is_from(pretrained, tmp_path):
    folder, model = pretrained
    import_checkpoint(folder, tmp_path / "run")
    names = {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "source.json",
    }
    assert {path.name for path in (tmp_path / "run").iterdir()} == names
    source = json.loads((tmp_path / "run" / "source.json").read_text())
    assert (source["source"], source["family"]) == ("local:pretrained", "bert")
    with torch.no_grad():
        torch.testing.assert_close(load_encoder(tmp_path / "run")(IDS)[0], model.bert(IDS)[0])


def test_a_pickle_of_tensors_is_the_same_checkpoint(pretrained, tmp_path):
    folder, model = pretrained
    import_checkpoint(folder, tmp_path / "safe")
    positions = {"bert.embeddings.position_ids": torch.arange(32)[None]}
    torch.save(model.state_dict() | positions, folder / "pytorch_model.bin")
    (folder / "model.safetensors").rename(tmp_path / "kept")
    import_checkpoint(folder, tmp_path / "run")
    written = (tmp_path / "run" / "model.safetensors").read_bytes()
    assert written == (tmp_path / "safe" / "model.safetensors").read_bytes()
    (tmp_path / "kept").rename(folder / "model.safetensors")
    (folder / "pytorch_model.bin").write_bytes(b"not looked at")
    import_checkpoint(folder, tmp_path / "run")


@pytest.mark.parametrize("wrapped", ["module.{}", "_orig_mod.{}", "module._orig_mod.{}", "bert._orig_mod.{}"])
def test_names_of_wrappers_are_left_out(pretrained, tmp_path, wrapped):
    folder, model = pretrained
    bare = {name.removeprefix("bert."): value for name, value in model.state_dict().items()}
    state = bare if wrapped.startswith("bert") else model.state_dict()
    rewrite(folder, lambda _: {wrapped.format(name): value.clone() for name, value in state.items()})
    import_checkpoint(folder, tmp_path / "run")
    with torch.no_grad():
        assert torch.equal(load_encoder(tmp_path / "run")(IDS)[0], model.bert(IDS)[0])


def test_a_pickle_in_parts_is_the_same_checkpoint(pretrained, tmp_path):
    folder, model = pretrained
    import_checkpoint(folder, tmp_path / "safe")
    (folder / "model.safetensors").unlink()
    parts = {f"pytorch_model-0000{number}-of-00002.bin": {} for number in (1, 2)}
    for number, (name, value) in enumerate(model.state_dict().items()):
        list(parts.values())[number % 2][name] = value
    for file, state in parts.items():
        torch.save(state, folder / file)
    names = {name: file for file, state in parts.items() for name in state}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": names}))
    import_checkpoint(folder, tmp_path / "run")
    written = (tmp_path / "run" / "model.safetensors").read_bytes()
    assert written == (tmp_path / "safe" / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    "change", [{"return_dict": False}, {"chunk_size_feed_forward": 4}, {"pad_token_id": None}]
)
@pytest.mark.parametrize("kind", ["bert", "roberta", "ernie"])
@torch.no_grad()
def test_keys_about_how_a_model_hands_out_change_nothing(kind, change, tmp_path):
    model = model_of(kind, vocab_size=len(tokenizer_of(kind)))
    save_model(tmp_path / "given", model, tokenizer_of(kind))
    path = tmp_path / "given/config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    import_checkpoint(tmp_path / "given", tmp_path / "run")
    encoder, ids = load_encoder(tmp_path / "run"), torch.tensor([[3, 4, 5, 6, 7]])
    torch.testing.assert_close(run(encoder, ids).last_hidden_state, run(model, ids).last_hidden_state)
    assert longest_input(encoder) == longest_input(model)


class Code:
    """What a pickle can hold: a call."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_what_a_pickle_may_not_hold_is_refused_and_not_run(pretrained, tmp_path):
    folder, model = pretrained
    (folder / "model.safetensors").unlink()
    path, made = folder / "pytorch_model.bin", tmp_path / "made"
    for more in ({"hook": Code(made)}, {"step": 3}, {"optimizer": {"lr": torch.ones(1)}}):
        torch.save(model.state_dict() | more, path)
        with pytest.raises(UserError, match="pytorch_model.bin is broken or holds more than named tensors"):
            import_checkpoint(folder, tmp_path / "run")
        assert not made.exists() and not (tmp_path / "run").exists()
    torch.save({"hook": Code(made)}, path)
    torch.load(path, weights_only=False)
    assert made.exists()  # it would have run


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("encoder.layer.1.output.dense.weight", lambda w: w * math.nan, "NaN or infinite numbers"),
        ("predictions.transform.dense.bias", lambda w: w + math.inf, "NaN or infinite numbers"),
        ("embeddings.LayerNorm.weight", lambda w: w.double() * 1e300, "NaN or infinite numbers"),
        ("encoder.layer.0.output.dense.weight", lambda w: (w * 100).to(torch.int8), "int8, a quantised"),
        (
            "encoder.layer.0.output.dense.weight",
            lambda w: w.to(torch.float8_e4m3fn),
            "float8_e4m3fn, a quant",
        ),
    ],
)
def test_a_weight_that_is_no_usable_number_is_named(pretrained, tmp_path, part, change, words):
    folder, _ = pretrained
    rewrite(folder, lambda state: {k: change(v) if k.endswith(part) else v for k, v in state.items()})
    with pytest.raises(UserError, match=f"pretrained/model.safetensors: .*{part} holds {words}"):
        import_checkpoint(folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ({"metadata": {}}, "index.json has no weight_map"),
        ({"weight_map": {"bert.pooler.dense.bias": 1}}, "index.json has no weight_map"),
        ([], "index.json holds no JSON object"),
        ({"weight_map": {"bert.pooler.dense.bias": "../part.safetensors"}}, "names ../part.safetensors, which is outside"),
        ({"weight_map": {"bert.pooler.dense.bias": "HERE/part.safetensors"}}, "/part.safetensors, which is outside"),
        ({"weight_map": {"bert.pooler.dense.bias": "part.safetensors"}}, "names part.safetensors, which is missing"),
    ],
)  # fmt: skip
def test_an_index_names_files_beside_it(pretrained, tmp_path, index, words):
    folder, _ = pretrained
    (folder / "model.safetensors").rename(tmp_path / "part.safetensors")
    text = json.dumps(index).replace("HERE", str(tmp_path))
    (folder / "model.safetensors.index.json").write_text(text)
    with pytest.raises(UserError, match=words):
        import_checkpoint(folder, tmp_path / "run")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_what_may_not_be_read_is_not_called_missing(pretrained, tmp_path, name):
    folder, _ = pretrained
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(UserError, match=f"pretrained/{name} cannot be read .Is a directory."):
        import_checkpoint(folder, tmp_path / "run")


def test_import_says_what_is_wrong(pretrained, tmp_path):
    folder, _ = pretrained

    def refuses(words):
        with pytest.raises(UserError, match=words):
            import_checkpoint(folder, tmp_path / "run")
        assert not (tmp_path / "run" / "model.safetensors").exists()

    weights, settings = folder / "model.safetensors", json.loads((folder / "config.json").read_text())
    content = weights.read_bytes()
    weights.write_bytes(content[:-100])
    refuses("not a complete safetensors file")
    weights.unlink()
    refuses("model.safetensors is missing")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    refuses("pytorch_model.bin is broken or holds more than named tensors")
    (folder / "pytorch_model.bin").rename(folder / "tf_model.h5")
    refuses("tf_model.h5 alone .*save_pretrained")
    (folder / "tf_model.h5").rename(folder / "bert_model.ckpt.index")
    refuses("bert_model.ckpt is a TensorFlow checkpoint, which is not read; convert it")
    (folder / "config.json").rename(folder / "bert_config.json")
    refuses("bert_model.ckpt is a TensorFlow checkpoint, which is not read; convert it")
    (folder / "bert_model.ckpt.index").unlink()
    weights.write_bytes(content)
    for change, words in (
        ({"num_attention_heads": 3}, "config.json: hidden_size 32 cannot be divided among .*_heads 3"),
        ({"num_attention_heads": 0}, "config.json: num_attention_heads is 0; write a whole number from 1"),
        ({"hidden_size": "32"}, "config.json: hidden_size is '32'; write a whole number"),
        ({"hidden_size": 10**9}, "pretrained/model.safetensors has another shape than config.json for"),
        ({"intermediate_size": 48}, "pretrained/model.safetensors has another shape than config.json for"),
        ({"vocab_size": "12"}, "config.json describes no model .*'vocab_size' expected int, got str"),
        ({"hidden_act": "gelly"}, "config.json describes no model .*gelly"),
        ({"model_type": ["bert"]}, "model_type is \\['bert'\\]; write the name"),
        ({"is_encoder_decoder": True}, "an encoder-decoder"),
        ({"quantization_config": {"bits": 4}}, "a quantised checkpoint"),
        ({"model_type": "barts"}, "knows no model_type 'barts'; nearest: bart"),
    ):
        (folder / "config.json").write_text(json.dumps(settings | change))
        refuses(words)
    for content, words in (
        (b"[]", "config.json holds no JSON object"),
        ("{}".encode("utf-16"), "config.json:1 is not UTF-8"),
    ):
        (folder / "config.json").write_bytes(content)
        refuses(words)
    (folder / "config.json").write_text(
        json.dumps(settings | {"model_type": "mine", "auto_map": {"AutoModel": "m.M"}})
    )
    refuses("'mine' needs code from its repository, which is never run here")
    (folder / "config.json").write_text(json.dumps(settings | {"model_type": "roberta"}))
    refuses("config.json and weights must belong together")
    (folder / "config.json").write_text(json.dumps(settings))
    save_model(
        tmp_path / "other",
        BertModel(config()),
        BertTokenizer(vocab={w: i for i, w in enumerate([*WORDS, "more"])}),
    )
    (folder / "tokenizer.json").write_bytes((tmp_path / "other" / "tokenizer.json").read_bytes())
    refuses("13 entries, its config.json says vocab_size 12")
    (folder / "config.json").unlink()
    refuses("config.json is missing")
    with pytest.raises(UserError, match="not a folder"):
        import_checkpoint(tmp_path / "nowhere", tmp_path / "run")
