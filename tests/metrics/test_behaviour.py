"""How differently two models answer, by public implementations and brute force."""

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.spatial.distance import jensenshannon
from scipy.special import log_softmax, softmax
from sklearn.metrics import accuracy_score

from bertshift.metrics import behaviour
from bertshift.rows.blocks import block_of

TEXTS = 90
RNG = np.random.default_rng(5)
LOGITS, REFERENCE = RNG.normal(size=(2, TEXTS, 3)) * 3
LABELS = RNG.integers(3, size=TEXTS)


def by_measure(rows):
    return {row["measure"]: row for row in rows}


def check_blocks(row, value):
    """The row has `value` of all texts, and of those outside each block."""
    block = block_of(TEXTS)
    assert row["value"] == pytest.approx(value(np.full(TEXTS, True)), rel=1e-12)
    expected = [value(block != number) for number in np.unique(block)]
    np.testing.assert_allclose(row["jackknife"], expected, rtol=1e-12)


def test_classifiers():
    rows = by_measure(behaviour.of_classes(LOGITS, REFERENCE, LABELS))
    p, q = softmax(LOGITS, axis=1), softmax(REFERENCE, axis=1)
    answers, others = LOGITS.argmax(1), REFERENCE.argmax(1)
    check_blocks(rows["js"], lambda of: np.mean(jensenshannon(p[of], q[of], axis=1) ** 2))
    check_blocks(rows["answers_changed"], lambda of: np.mean(answers[of] != others[of]))
    check_blocks(rows["accuracy"], lambda of: accuracy_score(LABELS[of], answers[of]))
    check_blocks(rows["reference_accuracy"], lambda of: accuracy_score(LABELS[of], others[of]))
    check_blocks(
        rows["accuracy_difference"],
        lambda of: (
            accuracy_score(LABELS[of], answers[of]) - accuracy_score(LABELS[of], others[of])
        ),
    )
    lost = sum(b == label != a for a, b, label in zip(answers, others, LABELS))
    won = sum(a == label != b for a, b, label in zip(answers, others, LABELS))
    assert (rows["lost"]["value"], rows["won"]["value"]) == (lost, won) and lost and won
    difference = rows["accuracy_difference"]["value"]
    assert difference * TEXTS == pytest.approx(won - lost)
    unlabelled = behaviour.of_classes(LOGITS, REFERENCE)
    assert [row["measure"] for row in unlabelled] == ["js", "answers_changed"]


def test_a_shift_of_logits_and_an_order_of_classes_are_no_change():
    shifted = behaviour.of_classes(LOGITS, REFERENCE + RNG.normal(size=(TEXTS, 1)), LABELS)
    order = [2, 0, 1]
    reordered = behaviour.of_classes(LOGITS[:, order], REFERENCE[:, order])
    expected = by_measure(behaviour.of_classes(LOGITS, REFERENCE, LABELS))
    for row in (*shifted, *reordered):
        assert row["value"] == pytest.approx(expected[row["measure"]]["value"], rel=1e-12)


def test_regressions():
    x, y, labels = LOGITS[:, 0], LOGITS[:, 0] + REFERENCE[:, 0], REFERENCE[:, 1] - LOGITS[:, 0]
    rows = by_measure(behaviour.of_outputs(x, y, labels))
    check_blocks(rows["difference"], lambda of: np.mean(abs(x[of] - y[of])))
    for name, other in {"": y, "_with_labels": labels}.items():
        for kind, oracle in {"pearson": stats.pearsonr, "spearman": stats.spearmanr}.items():
            check_blocks(
                rows[kind + name], lambda of, f=oracle, other=other: f(x[of], other[of])[0]
            )
    assert rows["reference_pearson_with_labels"]["value"] == pytest.approx(
        stats.pearsonr(y, labels)[0]
    )
    constant = behaviour.of_outputs(np.ones(TEXTS), y)
    assert [row["measure"] for row in constant] == ["difference"]


def test_words():
    logits, others = torch.from_numpy(LOGITS), torch.from_numpy(REFERENCE)
    targets = torch.from_numpy(LABELS)
    kl, kept, bits, reference_bits = behaviour.of_tokens(logits, others, targets).numpy()
    p, q = softmax(LOGITS, axis=1), softmax(REFERENCE, axis=1)
    np.testing.assert_allclose(kl, stats.entropy(q, p, axis=1), rtol=1e-10)
    np.testing.assert_array_equal(kept, LOGITS.argmax(1) == REFERENCE.argmax(1))
    for values, of in ((bits, LOGITS), (reference_bits, REFERENCE)):
        expected = -log_softmax(of, axis=1)[range(TEXTS), LABELS] / np.log(2)
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_a_word_that_neither_model_can_say_adds_nothing():
    logits = torch.tensor([[0.0, 1.0, -torch.inf]])
    others = torch.tensor([[1.0, 0.0, -torch.inf]])
    kl = behaviour.of_tokens(logits, others, torch.tensor([0]))[0]
    expected = behaviour.of_tokens(logits[:, :2], others[:, :2], torch.tensor([0]))[0]
    torch.testing.assert_close(kl, expected)


def test_means_are_over_tokens_and_characters_not_over_texts():
    tokens, characters = RNG.integers(1, 9, (2, TEXTS))
    sums = RNG.random((4, TEXTS))
    words = behaviour.Words(*sums, tokens)
    rows = by_measure(behaviour.of_next(words, characters))
    check_blocks(rows["kl"], lambda of: sums[0, of].sum() / tokens[of].sum())
    check_blocks(rows["bits_per_character"], lambda of: sums[2, of].sum() / characters[of].sum())
    check_blocks(
        rows["bits_difference"],
        lambda of: (sums[2, of] - sums[3, of]).sum() / characters[of].sum(),
    )
    assert rows["kl"]["n"] == tokens.sum()
    assert rows["bits_per_character"]["n"] == characters.sum()
    assert [row["measure"] for row in behaviour.of_masked(words)] == ["kl", "first_guess_kept"]
