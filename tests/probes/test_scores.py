from itertools import chain, product

import numpy as np
import pytest
import torch
from made_tables import WITHOUT, in_columns
from sklearn.metrics import accuracy_score, f1_score

from bertshift.errors import UserError
from bertshift.probes.scores import (
    clean_labels,
    compare,
    counts_by_view,
    counts_key,
    deltas,
    f1,
    sentences_key,
)
from bertshift.rows.blocks import block_of


def test_every_view_is_scikit_learns():
    rng = np.random.default_rng(0)
    labels = ["ARG0", "ARG1", "ARGM-TMP", "R-ARG0", "C-ARG1", "V"]
    logits, classes = rng.normal(size=(2, 50, 6)), rng.integers(6, size=50)
    gold = np.eye(6)[classes]
    clean = clean_labels("srl", labels)
    assert clean == [True, True, True, False, False, False]
    golds = torch.from_numpy(np.stack([gold, gold]))
    counts = counts_by_view(torch.from_numpy(logits), golds, clean, True)
    values = f1(counts.numpy().reshape(2, 50, 3, 3).sum(axis=1))
    for ours, scores in zip(values, logits, strict=True):
        micro = [
            f1_score(gold[:, columns], scores[:, columns] > 0, average="micro")
            for columns in (slice(None), clean)
        ]
        expected = [*micro, accuracy_score(classes, scores.argmax(1))]
        assert ours == pytest.approx(expected, abs=1e-12)


def test_targets_with_several_labels_or_none():
    logits = torch.tensor([[[1.0, 2.0, -1.0], [-1.0, -1.0, -1.0]]])
    gold = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])
    counts = counts_by_view(logits, gold, clean_labels("spr", ["a", "b", "c"]), False)
    assert counts.tolist() == [[[1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]]]
    assert f1(counts[0, 1, :3]) == 0


def test_labels_that_clean_leaves_out():
    assert clean_labels("relations", ["Other", "Cause-Effect(e1,e2)"]) == [False, True]
    assert clean_labels("coref", ["0", "1"]) == [False, True]
    assert clean_labels("pos", ["NN", "0"]) == [True, True]


def test_bootstrap_is_the_distribution_over_all_resamples():
    pair = np.random.default_rng(3).integers(0, 9, size=(2, 2, 5, 3))

    def difference(drawn):
        model, reference = f1(pair[:, :, list(drawn)].sum(axis=2)).mean(axis=1)
        return model - reference

    differences = np.array([difference(drawn) for drawn in product(range(5), repeat=5)])
    [comparison] = compare([tuple(pair)], draws=40_000)
    assert comparison.delta == pytest.approx(difference(range(5)), abs=1e-12)
    p = 2 * min((differences <= 0).mean(), (differences >= 0).mean())
    assert comparison.p == pytest.approx(p, abs=0.01)


def test_bootstrap_depends_neither_on_chunks_nor_on_the_other_pairs():
    pairs = [*map(tuple, np.random.default_rng(1).integers(0, 9, size=(3, 2, 2, 31, 3)))]
    expected = compare(pairs, 500, "pos")
    for size in (1, 31 * 7, 31 * 500):
        assert compare(pairs, 500, "pos", drawn_at_once=size) == expected
    assert [*chain(*(compare([pair], 500, "pos") for pair in pairs))] == expected


KEY = "pos", "mix", "clean"


def side(counts, *runs, ids=None):
    """The counts of runs (init, seed), and the test sentences."""
    ids = np.arange(counts[0].shape[1]).astype(str) if ids is None else ids
    keys = [counts_key(*KEY, *run) for run in runs]
    return {sentences_key("pos"): ids} | dict(zip(keys, counts, strict=True))


def test_a_difference_without_a_block_is_that_of_the_other_sentences():
    counts = np.random.default_rng(2).integers(1, 9, size=(2, 3, 53, 3))

    def row(sentences):
        sides = [side([part[:, sentences]], (1, 1)) for part in counts]
        return in_columns(deltas("mnli", "base", *sides, {(1, 1): (1, 1)}, draws=2)).iloc[0]

    expected = [row(block_of(53) != block)["value"] for block in range(len(WITHOUT))]
    values = row(np.ones(53, bool))[WITHOUT].to_numpy(float)
    assert values == pytest.approx(expected, abs=1e-12)


def test_each_seed_is_compared_with_its_own_probes_of_the_pretrained_model():
    """rows/test_statistics.py has other divisions of probes among seeds."""
    probes = np.random.default_rng(0).integers(1, 9, size=(3, 20, 3))
    scores, runs = f1(probes.sum(axis=1)), [(1, 1), (1, 2)]
    model, pretrained = side([probes[:1], probes[1:2]], *runs), side([probes], (1, 0))
    table = in_columns(
        deltas("mnli", "base", model, pretrained, dict.fromkeys(runs, (1, 0)), draws=2)
    )
    expected = scores[:2] - [scores[[0, 2]].mean(), scores[1]]
    assert table["value"].to_numpy() == pytest.approx(expected, abs=1e-12)
    # Runs of a fine-tuned reference share no probe.
    tuned = side([probes[:2], probes[1:]], *runs)
    table = in_columns(deltas("mnli", "rte", model, tuned, dict(zip(runs, runs)), draws=2))
    expected = scores[:2] - [scores[:2].mean(), scores[1:].mean()]
    assert table["value"].to_numpy() == pytest.approx(expected, abs=1e-12)


def test_deltas_compare_the_replicates_and_variants_of_both():
    counts = np.random.default_rng(0).integers(1, 9, size=(3, 20, 3))
    base = side([counts, counts[:, ::-1]], (1, 0), (2, 0))
    base[counts_key("pos", "lexical", "clean", 1, 0)] = counts
    model, pairs = side([counts[:, ::-1]], (2, 1)), {(2, 1): (2, 0)}
    [row] = in_columns(deltas("mnli", "base", model, base, pairs)).to_dict("records")
    assert row == {
        "metric": "edge_probe_delta", "model": "mnli", "reference": "base", "task": "pos",
        "variant": "mix",
        "view": "clean", "init": 2, "seed": 1, "value": 0, "p": 1, "n": 20,
        **dict.fromkeys(WITHOUT, 0),
    }  # fmt: skip
    ids = {sentences_key("pos"): np.arange(1, 21).astype(str)}
    with pytest.raises(UserError, match="different test sentences of pos"):
        deltas("mnli", "base", model | ids, base, pairs)
    with pytest.raises(UserError, match="share no task"):
        deltas("mnli", "base", model, ids, pairs)
