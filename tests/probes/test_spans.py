import numpy as np
import pytest
from probes.edge_world import make, random_sentences, record
from transformers import BertTokenizer

from bertshift.activations.extract import encode
from bertshift.activations.store import Activations, writing
from bertshift.errors import UserError
from bertshift.probes.spans import SpanTokens, align, read_targets

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [
    "in",
    "##com",
    "##pre",
    "##hen",
    "##si",
    "##bil",
    "##ity",
    "was",
    "chosen",
    "w",
    "##w",
    "[",
    "]",
    "mask",
]


@pytest.fixture(scope="module")
def tokenizer():
    return BertTokenizer(
        vocab={piece: n for n, piece in enumerate(SPECIAL + PIECES)}, do_lower_case=True
    )


def dump(folder, tokenizer, sentences, max_length=512):
    """An activation file whose hidden states are row numbers."""
    index = encode(
        tokenizer, [{"id": i, "words": words} for i, words in enumerate(sentences)], max_length
    )
    with writing(folder / "run.npz", index, layers=0, width=1) as writer:
        for example, (start, end) in enumerate(
            zip(index["example_offsets"], index["example_offsets"][1:])
        ):
            writer.hidden(0, example, np.arange(start, end)[:, None])
    return Activations(folder / "run.npz")


def targets_of(sentences, records, spans=1, labels=("a", "b")):
    return read_targets(
        records, spans, labels, {tuple(w): i for i, w in enumerate(sentences)}, "x.jsonl"
    )


def test_spans_of_words_become_spans_of_their_pieces(tmp_path, tokenizer):
    first = [
        "Incomprehensibility",
        "was",
        "\u200b",
        "[MASK]",
        "chosen",
    ]  # 7 pieces; none, hence [UNK]; [ mask ]
    second = ["chosen", "was"]
    activations = dump(tmp_path, tokenizer, [first, second])
    records = [
        record(second, ("a", (0, 2)), ("b", (1, 2))),
        record(first, ("a", (0, 1)), ("b", (2, 4)), ("b", (0, 5))),
    ]
    found = align(targets_of([first, second], records), activations)
    assert found.start.tolist() == [[16, 17, 1, 9, 1]] and found.end.tolist() == [
        [18, 18, 8, 13, 14]
    ]
    assert found.dropped == 0


def test_a_word_with_a_space_is_one_word(tmp_path, tokenizer):
    joined, parted = ["w was", "chosen"], ["w", "was", "chosen"]
    activations = dump(tmp_path, tokenizer, [joined, parted])
    records = [record(joined, ("a", (0, 1)), ("b", (1, 2))), record(parted, ("b", (1, 2)))]
    targets = targets_of([joined, parted], records)
    assert targets.phrases == [(("w was",),), (("chosen",),), (("was",),)]
    found = align(targets, activations)
    assert found.start.tolist() == [[1, 3, 7]] and found.end.tolist() == [[3, 4, 8]]


def test_what_the_window_cuts_off_is_dropped_and_counted(tmp_path, tokenizer):
    words = ["ww", "was"] * 200  # 600 pieces: a window of 512 holds 510 of them
    activations = dump(tmp_path, tokenizer, [words])
    assert len(activations.token_ids) == 512 and activations.word_last[339:341].tolist() == [
        510,
        -1,
    ]
    whole = record(words, ("a", (339, 340)), ("b", (339, 341)), ("a", (399, 400)), ("b", (0, 1)))
    found = align(targets_of([words], [whole]), activations)
    assert found.dropped == 2 and found.inside.tolist() == [0, 3]
    cut = dump(tmp_path, tokenizer, [["was", "ww"]], max_length=4)  # and no half of a word
    assert cut.word_first.tolist() == [1, -1] and len(cut.token_ids) == 4


def test_a_batch_holds_each_token_of_the_spans_once_a_record(tmp_path):
    sentences = random_sentences(6)
    a, b = sentences[:2]
    records = [
        record(a, ("a", (0, 3), (1, 2)), ("b", (0, 3), (0, 1)), ("b", (2, 4), (1, 2))),
        record(b),
        record(b, ("a", (1, 2), (1, 2))),
        record(a, ("a", (3, 4), (0, 4))),
    ]
    pieces = align(
        targets_of(sentences, records, spans=2), Activations(make(tmp_path, sentences).activations)
    )
    batch = SpanTokens(pieces).batch(np.array([3, 2, 0]))
    assert batch.targets.tolist() == [4, 3, 0, 1, 2] and batch.record.tolist() == [3, 2, 0, 0, 0]
    members = np.split(batch.tokens[np.concatenate(batch.sides)][batch.members], batch.bags[1:])
    inside = [
        list(range(pieces.start[side, target], pieces.end[side, target]))
        for target in batch.targets
        for side in (0, 1)
    ]
    assert [each.tolist() for each in members] == inside
    of_records = inside[:2], inside[2:4], inside[4:]
    assert batch.tokens.tolist() == [
        token for own in of_records for token in sorted(set().union(*own))
    ]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({"span1": [1, 1], "label": "a"}, "start < end <= 4"),
        ({"span1": [0, 5], "label": "a"}, "start < end <= 4"),
        ({"span2": [0, 1], "label": "a"}, "needs span1"),
        ({"span1": [0, 1], "label": "c"}, "'c' is not in edges.json"),
    ],
)
def test_refuses_targets_that_are_none(target, said):
    with pytest.raises(UserError, match=said):
        targets_of([["a", "b", "c", "d"]], [{"words": ["a", "b", "c", "d"], "targets": [target]}])


def test_refuses_a_sentence_that_was_not_extracted():
    with pytest.raises(UserError, match="not among the stimuli"):
        targets_of([["a"]], [record(["b"], ("a", (0, 1)))])
