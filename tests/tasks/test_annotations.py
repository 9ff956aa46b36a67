from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.models.biaffine import DependencyParser
from bertshift.models.heads import TokenClassifier
from bertshift.models.loading import save_model
from bertshift.tasks.annotations import annotate, describe
from bertshift.tasks.dependency_parsing import DependencyParsing
from bertshift.tasks.tagging import Tagging

torch.set_num_threads(1)
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "he",
    "did",
    "see",
    "dogs",
    "bark",
    ".",
    "?",
    "n",
    "'",
    "t",
]
TOKENIZER = BertTokenizer(vocab={piece: i for i, piece in enumerate(PIECES)})
ROWS = [
    {"id": "7", "text_a": "He didn't see. Dogs bark.", "text_b": "Dogs  see?"},
    {"id": "8", "text_a": "Dogs bark.", "text_b": ""},
]


@pytest.fixture
def folders(tmp_path):
    torch.manual_seed(0)
    made = []
    for name, kind, labels in (
        ("upos", TokenClassifier, ["NOUN", "VERB"]),
        ("dep", DependencyParser, ["obj", "subj"]),
    ):
        bert = BertModel(BertConfig(vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                    intermediate_size=16, initializer_range=0.3))  # fmt: skip
        made.append((tmp_path / name / "init1_seed1", kind(bert, labels, 1).eval()))
        save_model(*made[-1], TOKENIZER)
    return made


def test_texts_are_cut_and_each_sentence_is_read_by_itself(folders):
    (tagger, tag_model), (parser, parse_model) = folders
    rows = annotate(ROWS, tagger, parser)
    assert [row["id"] for row in rows] == ["7", "8"]
    first = rows[0]["text_a"]
    assert first["words"] == ["He", "did", "n't", "see", ".", "Dogs", "bark", "."]
    assert [ROWS[0]["text_a"][a:b] for a, b in zip(first["start"], first["end"])] == first["words"]
    alone = [{"words": words, "upos": ["_"] * len(words), "heads": [0] * len(words), "deprels": ["_"] * len(words)}
             for words in (first["words"][:5], first["words"][5:])]  # fmt: skip
    tags = Tagging("", "", (), 512, tag_model.labels).predict(tag_model, alone, TOKENIZER)
    parses = DependencyParsing("", "", (), 512, parse_model.labels).predict(parse_model, alone, TOKENIZER)
    assert first["upos"] == tags[0] + tags[1]
    heads, deprels = zip(*(arc for parse in parses for arc in parse.arcs))
    shifted = np.array(heads) + np.where((np.arange(8) >= 5) & (np.array(heads) > 0), 5, 0)
    assert first["heads"] == shifted.tolist() and first["deprels"] == list(deprels)
    assert rows[1]["text_a"]["upos"] == tags[1] and rows[1]["text_b"]["words"] == []


def test_a_model_of_another_kind_is_refused(folders):
    with pytest.raises(UserError, match="is a DependencyParser, not a TokenClassifier; under 'annotators'"):
        annotate(ROWS, folders[1][0], folders[1][0])


def test_the_record_names_model_and_score():
    scores = [{"metric": "accuracy", "scores": {"accuracy": 0.98724}}]
    folders = [Path("results/models/dep@large/init1_seed2")]
    assert describe(folders, scores) == "dep@large init1_seed2 (accuracy 0.987)"
