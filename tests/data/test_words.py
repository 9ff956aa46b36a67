from itertools import chain

import pytest
from transformers import BertTokenizer

from bertshift.models.tokenizer import word_pieces

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [
    "in",
    "##com",
    "##pre",
    "##hen",
    "##si",
    "##bil",
    "##ity",
    "the",
    "[",
    "]",
    "mask",
    "mr",
    ".",
    "a",
    "##a",
]
TOKENIZER = BertTokenizer(vocab={piece: i for i, piece in enumerate([*SPECIAL, *PIECES])})


def cut(*words):
    [pieces] = word_pieces(TOKENIZER, [words])
    return [TOKENIZER.convert_ids_to_tokens(ids) for ids in pieces]


def test_every_word_has_its_pieces():
    assert cut("The", "Incomprehensibility", "Mr.") == [["the"], PIECES[:7], ["mr", "."]]
    assert word_pieces(TOKENIZER, [["a", "the"], [], ["a"]]) == [[[18], [12]], [], [[18]]]
    assert word_pieces(TOKENIZER, [[], []]) == [[], []] and word_pieces(TOKENIZER, []) == []


@pytest.mark.parametrize("word", ["\u200b", "\x00\x07", "\ufeff\u200d", "", " "])
def test_a_word_without_pieces_is_one_unknown(word):
    assert cut("a", word, "the") == [["a"], ["[UNK]"], ["the"]]


def test_a_literal_special_token_is_a_word():
    assert cut("[MASK]", "[mask]", "[CLS]") == [["[", "mask", "]"]] * 2 + [["[", "[UNK]", "]"]]


def test_an_over_long_word_is_one_unknown():
    assert cut("a" * 100) == [["a"] + ["##a"] * 99] and cut("a" * 101) == [["[UNK]"]]


def test_words_are_cut_as_in_a_text():
    words = ["[MASK]", "the", "incomprehensibility", "mr.", "The", "xx"]
    joined = TOKENIZER(" ".join(words), add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert list(chain(*word_pieces(TOKENIZER, [words])[0])) == joined
