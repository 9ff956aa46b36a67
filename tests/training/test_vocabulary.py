import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from bertshift.errors import UserError
from bertshift.models.tokenizer import layout_of, load_tokenizer
from bertshift.training.vocabulary import train_byte_bpe, train_wordpiece

# Every pair of letters is about equally frequent, so the merges are decided by ties.
TEXTS = [
    "The cat sat, the mat sang.",
    "Ça va? Sing, cat: sing!",
    "tan nat ant tin nit its sit mat cat sat",
] * 3


def test_a_wordpiece_vocabulary_loads_offline_and_splits_as_bert(tmp_path):
    train_wordpiece(TEXTS, 120, True, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    vocabulary = tokenizer.get_vocab()
    pieces = sorted(vocabulary, key=vocabulary.get)
    assert pieces[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] and len(pieces) <= 120
    assert sorted(vocabulary.values()) == [*range(len(pieces))]
    encoded = tokenizer("Cat sat", "ÇA!")
    assert tokenizer.decode(encoded.input_ids) == "[CLS] cat sat [SEP] ca! [SEP]"
    assert encoded.token_type_ids == [0, 0, 0, 0, 1, 1, 1]
    train_wordpiece(TEXTS, 120, False, tmp_path)
    cased = AutoTokenizer.from_pretrained(tmp_path).tokenize("Ça The")
    assert "".join(cased).replace("##", "") == "ÇaThe"


@pytest.mark.parametrize(
    ("special", "joined", "names"),
    [
        ("roberta", (((0,), (2,)), ((0,), (2, 2), (2,))), "<s> <pad> </s> <unk>"),
        ("gpt2", (((), ()), ((), (), ())), " ".join(["<|endoftext|>"] * 4)),
    ],
)
def test_a_byte_level_vocabulary_loads_offline_and_joins_as_its_family(
    tmp_path, special, joined, names
):
    lowercase = special == "roberta"
    train_byte_bpe(TEXTS, 300, lowercase, special, tmp_path)
    tokenizer, theirs = load_tokenizer(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    layout = layout_of(tokenizer)
    assert 256 < len(tokenizer) <= 300 and (layout.one, layout.two) == joined
    for text in ("Ça va? Sing,", " \t☃ <mask>"):  # every byte is known
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids) == (text.lower() if lowercase else text)
        assert layout.special.isdisjoint(ids)
    assert theirs("the cat")["input_ids"] == tokenizer("the cat")["input_ids"]
    tokens = [getattr(tokenizer, f"{name}_token") for name in ("bos", "pad", "eos", "unk")]
    assert " ".join(tokens) == names


def train_both(folder):
    train_wordpiece(TEXTS, 120, True, folder / "wordpiece")
    train_byte_bpe(TEXTS, 290, True, "roberta", folder / "bytes")


def test_same_bytes_in_another_process(tmp_path):
    train_both(tmp_path / "here")
    path = [str(Path(__file__).parent), *sys.path]
    code = (
        "import sys; sys.path[:0] = sys.argv[1:];"
        " from test_vocabulary import *; train_both(Path('there'))"
    )
    subprocess.run([sys.executable, "-c", code, *path], check=True, cwd=tmp_path)
    files = [*(tmp_path / "here").glob("*/*.json")]
    assert len(files) == 4
    for file in files:
        there = tmp_path / "there" / file.parent.name / file.name
        assert file.read_bytes() == there.read_bytes()


@pytest.mark.parametrize(
    ("train", "texts", "size", "problem"),
    [
        (train_wordpiece, [" ", ""], 100, "no words"),
        (train_wordpiece, TEXTS, 40, "at least 64"),
        (train_byte_bpe, [" ", ""], 300, "no words"),
        (train_byte_bpe, TEXTS, 260, "at least 261"),
    ],
)
def test_impossible_vocabularies_are_refused(tmp_path, train, texts, size, problem):
    special = ["roberta"] if train is train_byte_bpe else []
    with pytest.raises(UserError, match=problem):
        train(texts, size, True, *special, tmp_path)
