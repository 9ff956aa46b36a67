from pathlib import Path

import pytest
from made_toys import bert_with, tokenizer_with

from bertshift.errors import UserError
from bertshift.models.biaffine import DependencyParser
from bertshift.models.heads import TokenClassifier
from bertshift.models.loading import save_model
from bertshift.tasks.annotations import annotate, describe
from bertshift.tasks.dependency_parsing import DependencyParsing
from bertshift.tasks.tagging import Tagging

TOKENIZER = tokenizer_with(["he", "did", "see", "dogs", "bark", *".?n't"])
ROWS = [
    {"id": "7", "text_a": "He didn't see. Dogs bark.", "text_b": "Dogs  see?"},
    {"id": "8", "text_a": "Dogs bark.", "text_b": ""},
]
SENTENCES = [["He", "did", "n't", "see", "."], ["Dogs", "bark", "."]]


@pytest.fixture
def annotators(tmp_path):
    """(folder, model) of a tagger and of a parser."""
    tagger = TokenClassifier(bert_with(TOKENIZER), ["NOUN", "VERB"], 1).eval()
    parser = DependencyParser(bert_with(TOKENIZER), ["obj", "subj"], 1).eval()
    saved = [(tmp_path / "upos", tagger), (tmp_path / "dep", parser)]
    for folder, model in saved:
        save_model(folder, model, TOKENIZER)
    return saved


def test_texts_are_cut_and_each_sentence_is_read_by_itself(annotators):
    (tagger, tag_model), (parser, parse_model) = annotators
    rows = annotate(ROWS, tagger, parser)
    assert [row["id"] for row in rows] == ["7", "8"]
    first = rows[0]["text_a"]
    assert first["words"] == [*SENTENCES[0], *SENTENCES[1]]
    bounds = zip(first["start"], first["end"])
    assert [ROWS[0]["text_a"][start:end] for start, end in bounds] == first["words"]
    sentences = [
        dict.fromkeys(("words", "upos", "deprels"), words) | {"heads": [0] * len(words)}
        for words in SENTENCES
    ]
    tags = Tagging("", "", (), 512, tag_model.labels).predict(tag_model, sentences, TOKENIZER)
    parsing = DependencyParsing("", "", (), 512, parse_model.labels)
    parses = parsing.predict(parse_model, sentences, TOKENIZER)
    assert first["upos"] == tags[0] + tags[1]
    second_arcs = [(head and head + 5, label) for head, label in parses[1].arcs]
    assert list(zip(first["heads"], first["deprels"])) == [*parses[0].arcs, *second_arcs]
    assert rows[1]["text_a"]["upos"] == tags[1] and rows[1]["text_b"]["words"] == []


def test_a_model_of_another_kind_is_refused(annotators):
    (_, (parser, _)) = annotators
    with pytest.raises(
        UserError, match="a DependencyParser, not a TokenClassifier.* 'annotators'"
    ):
        annotate(ROWS, parser, parser)


def test_the_record_names_model_and_score():
    scores = [{"metric": "accuracy", "scores": {"accuracy": 0.98724}}]
    folders = [Path("results/models/dep@large/init1_seed2")]
    assert describe(folders, scores) == "dep@large init1_seed2 (accuracy 0.987)"
