import numpy as np
import pytest
import torch
import torch.nn.functional as F
from made_toys import bert_with, tokenizer_with

from bertshift.errors import UserError
from bertshift.models.heads import SpanClassifier
from bertshift.tasks.batching import Encoded
from bertshift.tasks.question_answering import (
    Answer,
    AnswerSpans,
    answer_pieces,
    most_context,
    read_passages,
)

WORDS = [*"abcdefghijklmnopqrstuvwxyz()-.猫和狗", "##s", "1895", "1943", "born"]
TOKENIZER = tokenizer_with(WORDS)
BORN = "born\u202f(1895-1943). xs"
TASK = AnswerSpans("squad", "squad", max_length=10, doc_stride=2, max_query_length=2)


def question(context, answer=None, text="a b c"):
    answers = [{"text": answer, "start": context.find(answer)}] if answer else []
    row = {"id": "q", "question": text, "context": context}
    return row | {"answers": answers, "impossible": answer is None}


def test_each_piece_is_owned_once_and_ties_go_to_the_earlier_window():
    masks = most_context([(0, 5), (2, 5), (4, 5)])
    # piece 3: 1 to its right in window 0, 1 to its left in window 1, both 5 long
    assert [mask.nonzero()[0].tolist() for mask in masks] == [[0, 1, 2, 3], [2, 3], [2, 3, 4]]
    shorter = most_context([(0, 4), (2, 3)])  # piece 3 has 0 and 1, piece 2 1 and 0
    assert [mask.nonzero()[0].tolist() for mask in shorter] == [[0, 1, 2], [1, 2]]


def test_training_windows_point_to_the_answer_or_to_cls():
    examples = TASK.training_examples([question("d e f g h i j", "f g")], TOKENIZER)
    windows = [TOKENIZER.decode(example.input_ids) for example in examples]
    assert windows == ["[CLS] a b [SEP] d e f g h [SEP]", "[CLS] a b [SEP] f g h i j [SEP]"]
    assert examples[0].token_type_ids == [0] * 4 + [1] * 6
    assert [example.target for example in examples] == [(6, 7), (4, 5)]
    examples = TASK.training_examples([question("d e f g h i j", "d"), question("d e")], TOKENIZER)
    assert [example.target for example in examples] == [(4, 4), (0, 0), (0, 0)]


@pytest.mark.parametrize(
    ("context", "answer", "start", "pieces"),
    [
        (BORN, "1943", 11, (4, 4)),
        (BORN, "born (1895", 0, (0, 2)),  # any white space is a space
        (BORN, "895", 7, (2, 2)),  # part of a piece: the whole piece
        (BORN, " (", 4, (1, 1)),
        (BORN, " ", 4, None),
        (BORN, "1895", 0, None),
        (BORN, "xs", 30, None),
        ("a b-c-b d", "b", 6, (5, 5)),  # the first of its word is another
        ("猫和狗和猫", "猫", 4, (4, 4)),
        ("猫和狗和猫", "狗和", 2, (2, 3)),
    ],
)
def test_answers_are_the_pieces_at_their_characters(context, answer, start, pieces):
    [passage] = read_passages([context], TOKENIZER)
    assert answer_pieces(passage, {"text": answer, "start": start}) == pieces
    if answer == "895":
        assert passage.cut(*pieces) == "1895"


def test_answers_that_are_not_found_are_left_out_and_counted(caplog):
    lost = question("d e f", "z")
    lost["answers"][0]["start"] = 2
    assert len(TASK.training_examples([question("d e f", "e"), lost], TOKENIZER)) == 1
    assert "squad: 1 of 2 answers" in caplog.text
    with pytest.raises(UserError, match="no answer is found"):
        TASK.training_examples([lost], TOKENIZER)
    with pytest.raises(UserError, match="no answers but is not marked impossible"):
        TASK.check({"dev": [question("d") | {"impossible": False}]})


@pytest.mark.parametrize(
    ("scores", "text", "limits"),
    [
        # (window, token, side): the question has the tokens 1 and 2, the passage begins at 4.
        ({(0, 4, 0): 5, (0, 5, 1): 5}, "D e", {}),
        # Window 1 begins at piece 2.
        ({(1, 7, 0): 5, (1, 8, 1): 5}, "i j", {}),
        ({(0, 2, 0): 9, (0, 2, 1): 9, (0, 5, 0): 1, (0, 5, 1): 1}, "e", {}),
        # Piece 2 ("f") has more context in window 0, so window 1 may not start there.
        ({(1, 4, 0): 9, (1, 5, 1): 9, (0, 6, 0): 1, (0, 6, 1): 1}, "f", {}),
        # An answer does not end before it starts.
        ({(0, 6, 0): 9, (0, 4, 1): 8, (0, 5, 1): 1, (0, 5, 0): 1, (0, 6, 1): 7}, "f", {}),
        ({(0, 4, 0): 9, (0, 7, 1): 9, (0, 5, 1): 8}, "D e", {"max_answer_length": 2}),
        ({(w, 1, side): 9 for w in (0, 1) for side in (0, 1)}, "empty", {"n_best": 1}),
        # The margin is from the lowest score of [CLS] in any window: (1 - 9) - (5 + 5).
        ({(0, 0, 0): 2, (1, 0, 0): 1, (0, 4, 0): 5, (0, 4, 1): 5}, "D", {}),
    ],
)
def test_decoding_obeys_every_rule(scores, text, limits):
    windows, passages = TASK.windows([question("D e f g h i j", "f")], TOKENIZER)
    logits = np.full((2, 10, 2), -9.0)
    for position, score in scores.items():
        logits[position] = score
    task = AnswerSpans("squad", "squad", **{"max_answer_length": 30, "n_best": 20} | limits)
    [answer] = task.decode(windows, passages, list(logits))
    assert answer.text == text and (text != "D" or answer == Answer("D", -18.0))


def test_impossible_questions_are_scored_at_zero_and_at_the_best_threshold():
    rows = [question("d e f", "e"), question("d e f", "d e"), question("d e f"), question("d e f")]
    answers = [Answer("e", 1.0), Answer("d f", -2.0), Answer("d", 3.0), Answer("f", -3.0)]
    scores = TASK.score(rows, answers)
    assert scores["exact_match"] == 0.25 and scores["f1"] == pytest.approx(1.5 / 4)
    assert scores["has_answer_f1"] == 0.25 and scores["no_answer_f1"] == 0.5
    assert scores["best_f1"] == pytest.approx(2.5 / 4) and scores["best_f1_threshold"] == 1.0
    assert TASK.columns(rows, answers)["prediction"] == ["", "d f", "", "f"]
    # Where all questions have answers, the empty answer is never given.
    assert TASK.score(rows[:1], [Answer("e", 100.0)]) == {"exact_match": 1.0, "f1": 1.0}


def test_majority_is_the_answer_that_is_right_for_most_of_what_is_scored():
    several = question("The d, d e f", "The d")
    several["answers"] += [{"text": "d", "start": 7}, {"text": "d e", "start": 7}]
    dev = [several, question("e d", "d"), question("f g", "f g"), question("f h", "f g")]
    # "d" and "f g" are right for two each, however often a question says so; "e" is an answer
    # of train alone.
    train = [question("e", "e")] * 3
    cases = [
        ([*train, question("f g", "f g")], dev, 1 / 2, 1 / 2),
        (train, dev[:3], 2 / 3, 2 / 3),
        # "d" is half of "d e".
        ([question("d", "d")], [dev[1], question("d e", "d e")], 1 / 2, (1 + 2 / 3) / 2),
        # No answer, if that is right for most of dev.
        (train, [question("d"), question("e"), dev[1]], 2 / 3, 2 / 3),
    ]
    for trained, scored, exact, f1 in cases:
        expected = {"exact_match": exact, "f1": pytest.approx(f1)}
        assert TASK.majority(trained, scored) == expected


def test_loss_is_the_mean_of_both_ends_with_and_without_padding():
    model = SpanClassifier(bert_with(TOKENIZER)).eval()
    batch = [Encoded([2, *range(5, 5 + n), 3], [0] * (n + 2), (1, 2)) for n in (2, 9)]
    alone = [model(input_ids=torch.tensor([example.input_ids]))[0] for example in batch]
    expected = sum(F.cross_entropy(logits.T, torch.tensor([1, 2])) for logits in alone) / 2
    torch.testing.assert_close(TASK.loss(model, TASK.collate(batch, 0)), expected)


def test_room_for_a_passage_is_required():
    with pytest.raises(UserError, match="max_length 64 .*at least 69"):
        AnswerSpans("squad", "squad", max_length=64)
