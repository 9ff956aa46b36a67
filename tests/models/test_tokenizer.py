"""Tokenizers of every kind: inputs, words, characters, and what is read from and written to
folders."""

import json
import re
import warnings
from itertools import chain, compress

import pytest
import torch
from made_encoders import (
    TEXTS,
    TOKENIZERS,
    inputs_of,
    made_tokenizer,
    model_of,
    tokenizer,
    tokenizer_folder,
)
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from bertshift.activations.extract import encode
from bertshift.errors import UserError
from bertshift.models.family import run
from bertshift.models.loading import import_checkpoint, load_encoder
from bertshift.models.tokenizer import (
    join,
    layout_of,
    load_tokenizer,
    pieces,
    save_tokenizer,
    spans,
    special_tokens,
    word_pieces,
)
from bertshift.tasks.text_classification import encode_pairs

kinds = pytest.mark.parametrize("kind", TOKENIZERS)
ODD = ["café", "cafe\u0301", "naïve", "北京", "東京タワー", "🙂", "👩‍👩‍👧", "ﬁne", "n't", "don't", "1 000",
       "1\u00a0000",
       "\u00ad", "a\u200bb", "\u200b", "\u2028", "\x07", "...", "—", "½", "Straße", "İ", "e-mail",
       "#", "##s", "▁", "▁the",
       "Ġ", "<s>", "</s>", "[CLS]", "[SEP]", "[MASK]", "<mask>", "<pad>", "[UNK]", "<unk>",
       "<|endoftext|>", "<0x0A>"]  # fmt: skip
SENTENCES = [["The", *ODD, "end"], *([word, "old", word, word] for word in ODD), [*reversed(ODD)]]


def assert_same_pieces(tokenizer, expected):
    texts = [*TEXTS, *ODD, " ".join(ODD)]
    assert spans(tokenizer, texts) == spans(expected, texts)
    assert pieces(tokenizer, texts) == pieces(expected, texts)


@kinds
def test_joined_pieces_are_the_tokenizers_own_inputs(kind):
    ours = tokenizer(kind)
    for first, second in zip(TEXTS, reversed(TEXTS)):
        a, b = pieces(ours, [first, second])
        assert join(ours, a)[0] == ours(first)["input_ids"]
        ids, segments = join(ours, a, b)
        theirs = ours(first, second)
        assert ids == theirs["input_ids"]
        text_segments = [text for text in theirs.sequence_ids() if text is not None]
        ordinary = [text is not None for text in theirs.sequence_ids()]
        assert [*compress(segments, ordinary)] == text_segments
        assert special_tokens(ours, pair=True) == len(ids) - len(a) - len(b)
    if kind in ("bert", "albert"):
        assert segments == ours(first, second, return_token_type_ids=True)["token_type_ids"]


@kinds
def test_no_input_is_empty(kind):
    ours = tokenizer(kind)
    (ids, _), [(encoded, _)] = join(ours, pieces(ours, [""])[0]), encode_pairs([""], None, ours, 8)
    assert ids and None not in ids and encoded == ids


@kinds
def test_no_text_has_the_special_tokens_that_surround_texts(kind):
    ours = tokenizer(kind)
    special = layout_of(ours).special
    literal = {*ours.all_special_tokens} - {ours.unk_token, ours.mask_token}
    assert special == {ours.convert_tokens_to_ids(token) for token in literal}
    texts = [f"the {token} dog{token}" for token in literal] + [" ".join(ODD)]
    words = word_pieces(ours, [text.split() for text in texts])
    tokens = [[token for token, *_ in text] for text in spans(ours, texts)]
    for ids in (*pieces(ours, texts), *tokens, *chain(*words)):
        assert ids and special.isdisjoint(ids) and None not in ids
    if mask := ours.mask_token:
        assert pieces(ours, [f"the {mask} dog"])[0].count(ours.mask_token_id) == 1


def test_special_tokens_that_are_written_out_are_counted():
    rows = [
        {"id": "1", "text_a": "the [SEP] dog"},
        {"id": "2", "text_a": "a [MASK]", "text_b": "[SEP]"},
    ]
    with pytest.warns(UserWarning, match=re.escape("2 of 2 texts have [SEP]")) as warnings:
        encode(tokenizer("bert"), rows, 20)
    assert len(warnings) == 1


@kinds
def test_words_are_cut_as_in_a_text(kind):
    ours = tokenizer(kind)
    for sentence, cut in zip(SENTENCES, word_pieces(ours, SENTENCES), strict=True):
        # A word without pieces is one unknown token here, and nothing in the text.
        empty = [not pieces(ours, [" " + word])[0] for word in sentence]
        assert all(part == [ours.unk_token_id] for part in compress(cut, empty))
        ids = [*chain(*(part for part, is_empty in zip(cut, empty, strict=True) if not is_empty))]
        assert ids == pieces(ours, [" ".join(sentence)])[0], sentence
        assert all(cut)


@kinds
def test_every_piece_is_in_one_word(kind):
    ours = tokenizer(kind)
    texts = [" ".join(sentence) for sentence in SENTENCES]
    texts += ["  two  spaces\tand a tab\n", " ", ""]
    for text, tokens in zip(texts, spans(ours, texts), strict=True):
        assert [token for token, *_ in tokens] == pieces(ours, [text])[0]
        for _, start, end in tokens:
            assert 0 <= start <= end <= len(text)
            assert not any(letter.isspace() for letter in text[start:end])
        starts = [start for _, start, _ in tokens]
        assert starts == sorted(starts)


@kinds
def test_a_tokenizer_is_loaded_from_every_kind_of_folder(kind, tmp_path):
    ours = load_tokenizer(tokenizer_folder(kind, tmp_path / "published"))
    without_config = tokenizer_folder(kind, tmp_path / "without_config", config=False)
    model_type = kind if kind != "llama" else "mistral"
    (without_config / "config.json").write_text(json.dumps({"model_type": model_type}))
    save_tokenizer(tmp_path / "saved", ours)
    saved = load_tokenizer(tmp_path / "saved")
    layout = layout_of(ours)
    for loaded in (saved, load_tokenizer(without_config)):
        assert_same_pieces(loaded, ours)
        assert layout_of(loaded).one == layout.one and layout_of(loaded).two == layout.two
        assert loaded.pad_token is not None and loaded.get_vocab() == ours.get_vocab()
    assert layout_of(saved) == layout and saved.special_tokens_map == ours.special_tokens_map
    save_tokenizer(tmp_path / "twice", saved)
    for path in (tmp_path / "saved").iterdir():
        assert path.read_bytes() == (tmp_path / "twice" / path.name).read_bytes()


@pytest.mark.parametrize("kind", ["gpt2", "roberta"])
def test_vocab_json_and_merges_are_read(kind, tmp_path):
    ours = load_tokenizer(tokenizer_folder(kind, tmp_path))
    (tmp_path / "tokenizer.json").unlink()
    model = json.loads(made_tokenizer(kind).to_str())["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]))
    merges = ["#version: 0.2", *map(" ".join, model["merges"])]
    (tmp_path / "merges.txt").write_text("\n".join(merges))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    loaded = load_tokenizer(tmp_path)
    assert pieces(loaded, [*TEXTS, *ODD]) == pieces(ours, [*TEXTS, *ODD])
    assert layout_of(loaded) == layout_of(ours)


ADDED = ("<e1>", "</e1>", "covid19")
TAGGED = ["the <e1> dog </e1> saw the house<e1>", "a covid19 test"]


def slow_folder(kind, model_type, folder):
    """Write a folder without tokenizer.json; return its config and the size of its vocabulary."""
    folder = tokenizer_folder(kind, folder)
    (folder / "tokenizer.json").unlink()
    model = json.loads(made_tokenizer(kind).to_str())["model"]
    vocabulary = model["vocab"]
    if "merges" in model:
        (folder / "vocab.json").write_text(json.dumps(vocabulary))
        merges = ["#version: 0.2", *map(" ".join, model["merges"])]
        (folder / "merges.txt").write_text("\n".join(merges))
    else:
        (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)))
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    return config | {"do_lower_case": True}, len(vocabulary)


def write_files(folder, **files):
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


@pytest.mark.parametrize("form", ["beside it", "with special ones", "without a config", "in it"])
@pytest.mark.parametrize(
    ("kind", "model_type"),
    [("bert", "bert"), ("bert", "electra"), ("mpnet", "mpnet"), ("roberta", "roberta"), ("gpt2", "gpt2")],
)  # fmt: skip
def test_added_tokens_of_slow_tokenizers_are_whole(kind, model_type, form, tmp_path):
    config, size = slow_folder(kind, model_type, tmp_path)
    added = {token: size + number for number, token in enumerate(ADDED)}
    extra = {"additional_special_tokens": ["<e1>", "</e1>"]}
    if form == "in it":
        flags = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
        decoder = {
            str(number): {
                "__type": "AddedToken",
                "content": token,
                "special": token in str(extra),
                **flags,
            }
            for token, number in added.items()
        }
        config |= extra | {"added_tokens_decoder": decoder}
    else:
        write_files(tmp_path, added_tokens=added)
    if form == "with special ones":
        write_files(tmp_path, special_tokens_map=extra)
    if form == "without a config":
        roles = {role: token for role, token in config.items() if role.endswith("_token")}
        write_files(tmp_path, special_tokens_map=roles | extra)
        config = {"do_lower_case": True}
    write_files(tmp_path, tokenizer_config=config)
    loaded = load_tokenizer(tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)(TAGGED, add_special_tokens=False)
    cut = pieces(loaded, TAGGED)
    assert cut == theirs["input_ids"]
    assert [sum(ids.count(number) for ids in cut) for number in added.values()] == [2, 1, 1]
    save_tokenizer(tmp_path / "saved", loaded)
    assert pieces(load_tokenizer(tmp_path / "saved"), TAGGED) == cut


def test_a_special_token_of_the_vocabulary_is_whole(tmp_path):
    config, size = slow_folder("bert", "bert", tmp_path)
    with open(tmp_path / "vocab.txt", "a") as file:
        file.write("\n<e1>")
    special = {"additional_special_tokens": ["<e1>", "<unknown to the model>"]}
    write_files(tmp_path, tokenizer_config=config, special_tokens_map=special)
    loaded = load_tokenizer(tmp_path)
    assert pieces(loaded, TAGGED)[0].count(size) == 2 and len(loaded) == size + 1


def test_an_added_token_has_the_number_that_it_was_trained_with(tmp_path):
    config, size = slow_folder("bert", "bert", tmp_path)
    for number, problem in ((size + 1, f"as number {size + 1}, which would be {size}"),
                            ("1", "the number '1'")):  # fmt: skip
        write_files(tmp_path, tokenizer_config=config, added_tokens={"<e1>": number})
        with pytest.raises(UserError, match=problem):
            load_tokenizer(tmp_path)


@pytest.mark.parametrize(("role", "token"), [("pad", ","), ("pad", "dog"), ("eos", ",")])
def test_a_special_token_that_is_a_word_stays_one(role, token, tmp_path):
    folder = tokenizer_folder("bert", tmp_path)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config[f"{role}_token"] = token
    write_files(folder, tokenizer_config=config)
    loaded = load_tokenizer(folder)
    texts = ["the dog , the dog [SEP]"]
    [ids], [expected] = pieces(loaded, texts), pieces(tokenizer("bert"), texts)
    assert ids == expected and getattr(loaded, f"{role}_token") == token
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode(loaded, [{"id": "1", "text_a": "the dog , the dog"}], 20)
    assert loaded.convert_tokens_to_ids("[SEP]") not in ids


def test_a_vocabulary_without_special_tokens_has_every_token_in_texts(tmp_path):
    path = tokenizer_folder("gpt2", tmp_path, config=False) / "tokenizer.json"
    fast = json.loads(path.read_text())
    del fast["model"]["vocab"]["<|endoftext|>"]
    shifted = {token: number - 1 for token, number in fast["model"]["vocab"].items()}
    fast["model"]["vocab"] = shifted
    path.write_text(json.dumps(fast | {"added_tokens": []}))
    loaded = load_tokenizer(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode(loaded, [{"id": "1", "text_a": "the dog! said so!"}], 20)
    assert pieces(loaded, ["the!"])[0].count(shifted["!"]) == 1 and loaded.pad_token == "!"


@pytest.mark.parametrize("lowercase", [True, False])
def test_lowercase_is_as_the_configuration_says(lowercase, tmp_path):
    path = tokenizer_folder("bert", tmp_path) / "tokenizer.json"
    fast = json.loads(path.read_text())
    fast["normalizer"]["lowercase"] = not lowercase
    path.write_text(json.dumps(fast))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    theirs = AutoTokenizer.from_pretrained(tmp_path)("The Dog", add_special_tokens=False)
    assert pieces(load_tokenizer(tmp_path), ["The Dog"]) == [theirs["input_ids"]]


def test_added_tokens_and_rows_of_padding_are_imported(tmp_path):
    folder = tokenizer_folder("bert", tmp_path / "published")
    theirs = AutoTokenizer.from_pretrained(folder)
    theirs.add_tokens(["covid19"])
    theirs.save_pretrained(folder)
    model = model_of("bert")
    model.resize_token_embeddings(len(theirs), pad_to_multiple_of=64)
    model.save_pretrained(folder)
    import_checkpoint(folder, tmp_path / "run")
    expected = theirs("the covid19 dog", add_special_tokens=False)["input_ids"]
    assert pieces(load_tokenizer(tmp_path / "run"), ["the covid19 dog"]) == [expected]
    assert load_encoder(tmp_path / "run").config.vocab_size == model.config.vocab_size


def test_a_tokenizer_that_needs_its_own_code_is_refused(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n")
    config = '{"tokenizer_class": "BertJapaneseTokenizer"}'
    (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(UserError, match="BertJapaneseTokenizer"):
        load_tokenizer(tmp_path)


def test_files_that_are_no_tokenizer_are_named(tmp_path):
    for name, content, problem in (
        ("config.json", '{"model_type": "albert"}', "neither tokenizer.json nor a vocabulary"),
        ("spiece.model", "<unk>", "sentencepiece and protobuf"),
        ("tokenizer.json", "{", "tokenizer.json is not JSON"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(UserError, match=problem):
            load_tokenizer(tmp_path)


def test_code_of_a_repository_is_not_run(tmp_path):
    path = tokenizer_folder("albert", tmp_path) / "tokenizer_config.json"
    code = {"auto_map": {"AutoTokenizer": ["code.Mine", None]}, "tokenizer_class": "Mine"}
    path.write_text(json.dumps(json.loads(path.read_text()) | code))
    (tmp_path / "code.py").write_text("raise SystemExit('run')")
    assert_same_pieces(load_tokenizer(tmp_path), tokenizer("albert"))


@pytest.mark.parametrize("kind", ["roberta", "gpt2", "llama", "modernbert"])
@torch.no_grad()
def test_a_published_folder_is_imported(kind, tmp_path, caplog):
    """As transformers writes it, in bfloat16, with a language model's names and head; GPT-2 once
    had its mask among its weights."""
    model, folder = model_of(kind), tokenizer_folder(kind, tmp_path / "published")
    for weight in model.parameters():
        weight.copy_(weight.bfloat16())
    prefix = f"{model.base_model_prefix}."
    state = {prefix + name: value.bfloat16() for name, value in model.state_dict().items()}
    state["lm_head.weight"] = torch.zeros(600, 32)
    if kind == "gpt2":
        state[f"{prefix}h.0.attn.bias"] = torch.ones(1, 1, 64, 64)
    model.config.save_pretrained(folder)
    save_file(state, folder / "model.safetensors")
    import_checkpoint(folder, tmp_path / "run")
    assert "no pooler" not in caplog.text
    loaded = load_encoder(tmp_path / "run")
    loaded.set_attn_implementation("eager")
    states, expected = (
        run(encoder, **inputs_of(kind)).last_hidden_state for encoder in (loaded, model)
    )
    assert torch.equal(states, expected)
    stored = load_file(tmp_path / "run/model.safetensors")
    assert {weight.dtype for weight in stored.values()} == {torch.float32}
    assert not [name for name in stored if name.endswith(".attn.bias")]


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        ("{0}: {1}, {0}: {1}", "twice"),
        ("{0}: 7", "one number"),
        ("{0}: {2}", "the number .*, its config.json says vocab_size"),
        ('{0}: {1}, "more": {2}', "entries, its config.json says vocab_size"),
        ('{0}: "one"', "tokenizer.json is not a tokenizer"),
    ],
)
def test_a_vocabulary_has_each_token_and_each_number_once(tmp_path, last, problem):
    folder = tokenizer_folder("bert", tmp_path / "published")
    path = folder / "tokenizer.json"
    vocabulary = json.loads(path.read_text())["model"]["vocab"]
    size = len(vocabulary)
    model_of("bert", vocab_size=size).save_pretrained(folder)
    token = json.dumps(max(vocabulary, key=vocabulary.get))
    changed = last.format(token, size - 1, size)
    path.write_text(path.read_text().replace(f"{token}: {size - 1}", changed))
    with pytest.raises(UserError, match=problem):
        import_checkpoint(folder, tmp_path / "run")
