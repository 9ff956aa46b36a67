import subprocess
import sys

import pytest
from transformers import AutoTokenizer

from bertshift.errors import UserError
from bertshift.training.vocabulary import train_wordpiece

# Every pair of letters is about equally frequent, so the merges are decided by ties.
TEXTS = [
    "The cat sat, the mat sang.",
    "Ça va? Sing, cat: sing!",
    "tan nat ant tin nit its sit mat cat sat",
] * 3


def test_vocabulary_loads_offline_and_splits_as_bert(tmp_path):
    train_wordpiece(TEXTS, 120, True, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    pieces = (tmp_path / "vocab.txt").read_text().split("\n")[:-1]
    assert pieces[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.convert_ids_to_tokens(range(len(pieces))) == pieces
    assert len(set(pieces)) == len(pieces) <= 120
    encoded = tokenizer("Cat sat", "ÇA!")
    assert tokenizer.convert_ids_to_tokens(encoded.input_ids)[:3] == ["[CLS]", "cat", "sat"]
    assert tokenizer.convert_ids_to_tokens(encoded.input_ids)[4:6] == ["ca", "!"]
    assert encoded.token_type_ids == [0, 0, 0, 0, 1, 1, 1]


def test_cased_vocabulary_keeps_case_and_accents(tmp_path):
    train_wordpiece(TEXTS, 120, False, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert "".join(tokenizer.tokenize("Ça The")).replace("##", "") == "ÇaThe"


def test_same_bytes_in_another_process(tmp_path):
    train_wordpiece(TEXTS, 120, True, tmp_path / "here")
    code = (
        "import sys; sys.path[:0] = sys.argv[3:]; from bertshift.training.vocabulary import train_wordpiece;"
        "train_wordpiece(eval(sys.argv[2]), 120, True, sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "there", repr(TEXTS), *sys.path], check=True)
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_impossible_vocabularies_are_named(tmp_path):
    with pytest.raises(UserError, match="no words"):
        train_wordpiece([" ", ""], 100, True, tmp_path)
    with pytest.raises(UserError, match="write a vocabulary size of at least 64"):
        train_wordpiece(TEXTS, 40, True, tmp_path)
