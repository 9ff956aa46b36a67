import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.models.heads import SpanClassifier
from bertshift.tasks.batching import Encoded
from bertshift.tasks.question_answering import (
    Answer,
    AnswerSpans,
    answer_pieces,
    most_context,
    read_passages,
    split_windows,
)

torch.set_num_threads(1)
WORDS = [*"abcdefghijklmnopqrstuvwxyz", "##s", "(", ")", "-", ".", "1895", "1943", "born"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENIZER = BertTokenizer(vocab={word: i for i, word in enumerate([*SPECIAL, *WORDS])})
TASK = AnswerSpans("squad", "squad", max_length=10, doc_stride=2, max_query_length=2)


def question(context, answer=None, start=0, text="a b c"):
    answers = [] if answer is None else [{"text": answer, "start": start}]
    return {"id": "q", "question": text, "context": context, "answers": answers, "impossible": answer is None}


def tokens(encoded):
    return TOKENIZER.convert_ids_to_tokens(encoded.input_ids)


def test_windows_stride_and_end_with_the_passage():
    assert split_windows(5, 5, 2) == [(0, 5)]
    assert split_windows(9, 5, 2) == [(0, 5), (2, 5), (4, 5)]
    assert split_windows(8, 3, 4) == [(0, 3), (3, 3), (6, 2)]  # a stride beyond the window leaves no gap
    assert split_windows(0, 5, 2) == []


def test_each_piece_is_owned_once_and_ties_go_to_the_earlier_window():
    masks = most_context([(0, 5), (2, 5), (4, 5)])
    # piece 3: 1 to its right in window 0, 1 to its left in window 1, both 5 long
    assert [mask.nonzero()[0].tolist() for mask in masks] == [[0, 1, 2, 3], [2, 3], [2, 3, 4]]
    shorter = most_context([(0, 4), (2, 3)])  # piece 3 has 0 and 1, piece 2 1 and 0
    assert [mask.tolist() for mask in shorter] == [[True, True, True, False], [False, True, True]]


def test_training_windows_point_to_the_answer_or_to_cls():
    rows = [question("d e f g h i j", "f g", 4)]
    examples = TASK.training_examples(rows, TOKENIZER)
    assert tokens(examples[0]) == ["[CLS]", "a", "b", "[SEP]", "d", "e", "f", "g", "h", "[SEP]"]
    assert examples[0].token_type_ids == [0] * 4 + [1] * 6
    assert tokens(examples[1]) == ["[CLS]", "a", "b", "[SEP]", "f", "g", "h", "i", "j", "[SEP]"]
    assert [example.target for example in examples] == [(6, 7), (4, 5)]
    rows = [question("d e f g h i j", "d", 0), question("d e")]
    assert [example.target for example in TASK.training_examples(rows, TOKENIZER)] == [(4, 4), (0, 0), (0, 0)]


def test_answers_are_the_pieces_at_their_characters():
    [passage] = read_passages(["born\u202f(1895-1943). xs"], TOKENIZER)

    def cut(text, start):
        span = answer_pieces(passage, {"text": text, "start": start})
        return span and passage.cut(*span)

    assert cut("1895", 6) == "1895" and cut("1943", 11) == "1943"
    assert cut("born (1895", 0) == "born\u202f(1895"  # any white space is a space
    assert cut("895", 7) == "1895"  # part of a piece: the whole piece
    assert cut(" (", 4) == "(" and cut(" ", 4) is None
    assert cut("1895", 0) is None and cut("1943", 6) is None and cut("xs", 30) is None


@pytest.mark.parametrize(
    ("context", "answer", "start", "pieces"),
    [
        ("a b-c-b d", "b", 6, (5, 5)),  # the first of its word is another
        ("猫和狗和猫", "猫", 4, (4, 4)),
        ("猫和狗和猫", "狗和", 2, (2, 3)),
    ],
)
def test_an_answer_that_occurs_twice_is_where_it_starts(context, answer, start, pieces):
    tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate([*SPECIAL, *WORDS, *"猫和狗"])})
    [passage] = read_passages([context], tokenizer)
    assert answer_pieces(passage, {"text": answer, "start": start}) == pieces


def test_answers_that_are_not_there_are_left_out_and_counted(caplog):
    rows = [question("d e f", "e", 2), question("d e f", "z", 2)]
    assert len(TASK.training_examples(rows, TOKENIZER)) == 1
    assert "squad: 1 of 2 answers" in caplog.text
    with pytest.raises(UserError, match="no answer is found"):
        TASK.training_examples(rows[1:], TOKENIZER)
    with pytest.raises(UserError, match="no answers but is not marked impossible"):
        TASK.check({"dev": [question("d") | {"impossible": False}]})


def test_decoding_obeys_every_rule():
    windows, passages = TASK.windows([question("D e f g h i j", "f", 4)], TOKENIZER)
    low = np.full((10, 2), -9.0)

    def decode(*scores_at, n_best=20, longest=30):
        logits = [low.copy(), low.copy()]
        for window, token, side, value in scores_at:
            logits[window][token, side] = value
        task = AnswerSpans("squad", "squad", max_answer_length=longest, n_best=n_best)
        return task.decode(windows, passages, logits)[0]

    assert decode((0, 4, 0, 5.0), (0, 5, 1, 5.0)).text == "D e"
    assert (
        decode((0, 2, 0, 9.0), (0, 2, 1, 9.0), (0, 5, 0, 1.0), (0, 5, 1, 1.0)).text == "e"
    )  # not the question
    # piece 2 ("f") has more context in window 0, so window 1 may not start there
    assert decode((1, 4, 0, 9.0), (1, 5, 1, 9.0), (0, 6, 0, 1.0), (0, 6, 1, 1.0)).text == "f"
    backwards = ((0, 6, 0, 9.0), (0, 4, 1, 8.0), (0, 5, 1, 1.0), (0, 5, 0, 1.0), (0, 6, 1, 7.0))
    assert decode(*backwards).text == "f"
    assert decode((0, 4, 0, 9.0), (0, 7, 1, 9.0), (0, 5, 1, 8.0), longest=2).text == "D e"
    assert decode((0, 1, 0, 9.0), (0, 1, 1, 9.0), (1, 1, 0, 9.0), (1, 1, 1, 9.0), n_best=1).text == "empty"
    spoken = decode((0, 0, 0, 2.0), (1, 0, 0, 1.0), (0, 4, 0, 5.0), (0, 4, 1, 5.0))
    assert spoken == Answer("D", (1.0 - 9.0) - 10.0)  # the lowest [CLS] score of any window


def test_impossible_questions_are_scored_at_zero_and_at_the_best_threshold():
    rows = [question("d e f", "e", 2), question("d e f", "d e", 0), question("d e f"), question("d e f")]
    said = [Answer("e", 1.0), Answer("d f", -2.0), Answer("d", 3.0), Answer("f", -3.0)]
    found = TASK.score(rows, said)
    assert found["exact_match"] == 0.25 and found["f1"] == pytest.approx(1.5 / 4)
    assert found["has_answer_f1"] == 0.25 and found["no_answer_f1"] == 0.5
    assert found["best_f1"] == pytest.approx(2.5 / 4) and found["best_f1_threshold"] == 1.0
    assert TASK.majority(rows, rows) == {"exact_match": 0.5, "f1": 0.5}
    assert TASK.columns(rows, said)["prediction"] == ["", "d f", "", "f"]


def test_majority_is_the_answer_that_is_right_for_most_of_what_is_scored():
    several = question("The d, d e f", "The d", 0)
    several["answers"] += [{"text": "d", "start": 7}, {"text": "d e", "start": 7}]
    dev = [several, question("e d", "d", 2), question("f g", "f g", 0), question("f h", "f g", 0)]
    # "d" and "f g" are right for two each, however often a question says so; "e" is an answer of train alone.
    train = [question("e", "e", 0)] * 3
    assert TASK.majority([*train, question("f g", "f g", 0)], dev) == {"exact_match": 0.5, "f1": 0.5}
    assert TASK.majority(train, dev[:3]) == {"exact_match": 2 / 3, "f1": 2 / 3}
    half = pytest.approx((1 + 2 / 3) / 2)  # "d" is half of "d e"
    assert TASK.majority([question("d", "d", 0)], [dev[1], question("d e", "d e", 0)]) == {
        "exact_match": 0.5,
        "f1": half,
    }
    # No answer, if that is right for most of dev.
    assert TASK.majority(train, [question("d"), question("e"), dev[1]]) == {"exact_match": 2 / 3, "f1": 2 / 3}


def test_without_impossible_questions_something_is_always_said():
    rows = [question("d e f", "e", 2)]
    assert TASK.score(rows, [Answer("e", 100.0)]) == {"exact_match": 1.0, "f1": 1.0}


def test_loss_is_the_mean_of_both_ends_whatever_padding_stands_beside():
    torch.manual_seed(0)
    config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
                        intermediate_size=64, max_position_embeddings=16)  # fmt: skip
    model = SpanClassifier(BertModel(config)).eval()
    batch = [Encoded([2, *range(5, 5 + n), 3], [0] * (n + 2), (1, 2)) for n in (2, 9)]
    alone = [model(input_ids=torch.tensor([one.input_ids]))[0] for one in batch]
    expected = [F.cross_entropy(logits.T, torch.tensor([1, 2])) for logits in alone]
    torch.testing.assert_close(TASK.loss(model, TASK.collate(batch, 0)), sum(expected) / 2)


def test_room_for_a_passage_is_required():
    with pytest.raises(UserError, match="max_length 64 .*at least 68"):
        AnswerSpans("squad", "squad", max_length=64)
