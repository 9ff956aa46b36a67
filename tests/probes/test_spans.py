from itertools import pairwise

import numpy as np
import pytest
from made_toys import tokenizer_with
from probes.edge_world import record

from bertshift.activations.extract import encode
from bertshift.activations.store import Activations, writing
from bertshift.errors import UserError
from bertshift.probes.spans import align, read_targets

TOKENIZER = tokenizer_with(
    [
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
)


def row_numbers(folder, sentences):
    """Activations whose hidden states are row numbers."""
    rows = [{"id": i, "words": words} for i, words in enumerate(sentences)]
    index = encode(TOKENIZER, rows, 512)
    states = np.arange(len(index["token_ids"]))[:, None]
    with writing(folder / "run.npz", index, layers=0, width=1) as writer:
        for example, bounds in enumerate(pairwise(index["example_offsets"])):
            writer.hidden(0, example, states[slice(*bounds)])
    return Activations(folder / "run.npz")


def targets_of(sentences, records):
    order = {tuple(words): i for i, words in enumerate(sentences)}
    return read_targets(records, 1, ("a", "b"), order, "x.jsonl")


def test_spans_of_words_become_spans_of_their_pieces(tmp_path):
    # 7 pieces; 1; none, hence [UNK]; [ mask ]; 1
    first = ["Incomprehensibility", "was", "\u200b", "[MASK]", "chosen"]
    second = ["chosen", "was"]
    activations = row_numbers(tmp_path, [first, second])
    records = [
        record(second, ("a", (0, 2)), ("b", (1, 2))),
        record(first, ("a", (0, 1)), ("b", (2, 4)), ("b", (0, 5))),
    ]
    spans = align(targets_of([first, second], records), activations)
    assert spans.start.tolist() == [[16, 17, 1, 9, 1]]
    assert spans.end.tolist() == [[18, 18, 8, 13, 14]]
    assert spans.dropped == 0


def test_a_word_with_a_space_is_one_word(tmp_path):
    sentences = [["w was", "chosen"], ["w", "was", "chosen"]]
    activations = row_numbers(tmp_path, sentences)
    records = [
        record(sentences[0], ("a", (0, 1)), ("b", (1, 2))),
        record(sentences[1], ("b", (1, 2))),
    ]
    targets = targets_of(sentences, records)
    assert targets.phrases == [(("w was",),), (("chosen",),), (("was",),)]
    spans = align(targets, activations)
    assert spans.start.tolist() == [[1, 3, 7]] and spans.end.tolist() == [[3, 4, 8]]


def test_targets_that_the_window_cuts_off_are_dropped_and_counted(tmp_path):
    words = ["ww", "was"] * 200  # 600 pieces: a window of 512 holds 510 of them
    activations = row_numbers(tmp_path, [words])
    assert activations.word_last[339:341].tolist() == [510, -1]
    targets = record(words, ("a", (339, 340)), ("b", (339, 341)), ("a", (399, 400)), ("b", (0, 1)))
    spans = align(targets_of([words], [targets]), activations)
    assert spans.dropped == 2 and spans.inside.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ({"span1": [1, 1], "label": "a"}, "start < end <= 2"),
        ({"span1": [0, 3], "label": "a"}, "start < end <= 2"),
        ({"span2": [0, 1], "label": "a"}, "needs span1"),
        ({"span1": [0, 1], "label": "c"}, "'c' is not in edges.json"),
    ],
)
def test_refuses_faulty_targets(target, problem):
    with pytest.raises(UserError, match=problem):
        targets_of([["a", "b"]], [{"words": ["a", "b"], "targets": [target]}])


def test_refuses_a_sentence_that_was_not_extracted():
    with pytest.raises(UserError, match="not among the stimuli"):
        targets_of([["a"]], [record(["b"], ("a", (0, 1)))])
