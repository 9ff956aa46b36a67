from itertools import product

import numpy as np
import pytest
import torch
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
from bertshift.rows.blocks import JACKKNIFE_COLUMNS, block_of


def test_every_view_is_scikit_learns():
    rng = np.random.default_rng(0)
    labels = ["ARG0", "ARG1", "ARGM-TMP", "R-ARG0", "C-ARG1", "V"]
    logits, classes = rng.normal(size=(2, 50, 6)), rng.integers(6, size=50)
    gold = np.eye(6)[classes]
    clean = clean_labels("srl", labels)
    assert clean == [True, True, True, False, False, False]
    found = counts_by_view(
        torch.from_numpy(logits), torch.from_numpy(np.stack([gold, gold])), clean, True
    )
    values = f1(found.numpy().reshape(2, 50, 3, 3).sum(axis=1))
    for ours, one in zip(values, logits, strict=True):
        said = one > 0
        micro = [
            f1_score(gold[:, kept], said[:, kept], average="micro")
            for kept in (slice(None), clean)
        ]
        assert ours == pytest.approx([*micro, accuracy_score(classes, one.argmax(1))], abs=1e-12)


def test_targets_with_several_labels_or_none():
    logits = torch.tensor([[[1.0, 2.0, -1.0], [-1.0, -1.0, -1.0]]])
    gold = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])
    found = counts_by_view(logits, gold, clean_labels("spr", ["a", "b", "c"]), False)
    assert found.tolist() == [[[1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]]]
    assert f1(found[0, 1, :3]) == 0


def test_what_clean_leaves_out():
    assert clean_labels("relations", ["Other", "Cause-Effect(e1,e2)"]) == [False, True]
    assert clean_labels("coref", ["0", "1"]) == [False, True]
    assert clean_labels("pos", ["NN", "0"]) == [True, True]


def test_bootstrap_is_the_distribution_over_all_resamples():
    model, reference = np.random.default_rng(3).integers(0, 9, size=(2, 2, 5, 3))

    def difference(drawn):
        return np.subtract(
            *(f1(side[:, list(drawn)].sum(axis=1)).mean() for side in (model, reference))
        )

    every = np.array([difference(drawn) for drawn in product(range(5), repeat=5)])
    [found] = compare([(model, reference)], draws=40_000)
    assert found.delta == pytest.approx(difference(range(5)), abs=1e-12)
    assert found.p == pytest.approx(2 * min((every <= 0).mean(), (every >= 0).mean()), abs=0.01)


def test_bootstrap_of_equals_and_of_opposites():
    counts = np.random.default_rng(0).integers(1, 9, size=(3, 20, 3))
    worse = counts * [0, 1, 1]
    same, ahead, behind = compare([(counts, counts), (counts, worse), (worse, counts)])
    assert (same.delta, same.p) == (0, 1) and ahead.delta > 0 and behind.delta == -ahead.delta
    # Small enough to be significant after Holm's correction of as many tests as a table of three
    # models may have.
    assert 100 * ahead.p < 0.05


def test_bootstrap_depends_neither_on_its_blocks_nor_on_what_is_compared_beside():
    pairs = [
        tuple(pair) for pair in np.random.default_rng(1).integers(0, 9, size=(3, 2, 2, 31, 3))
    ]
    whole = compare(pairs, draws=500, name="pos")
    assert all(
        compare(pairs, 500, "pos", drawn_at_once=size) == whole for size in (1, 31 * 7, 31 * 500)
    )
    assert [one for pair in pairs for one in compare([pair], 500, "pos")] == whole


KEY = "pos", "mix", "clean"


def side(counted, *keys, ids=None):
    """The counts of runs (init, seed), and the test sentences."""
    [size] = {counts.shape[1] for counts in counted}
    ids = np.arange(size).astype(str) if ids is None else ids
    return {sentences_key("pos"): ids} | {
        counts_key(*KEY, *key): own for key, own in zip(keys, counted, strict=True)
    }


def test_a_difference_without_a_block_is_that_of_the_other_sentences():
    both = np.random.default_rng(2).integers(1, 9, size=(2, 3, 53, 3))

    def table(kept):
        return deltas(
            "mnli",
            "base",
            *(side([one[:, kept]], (1, 1)) for one in both),
            {(1, 1): (1, 1)},
            draws=2,
        ).iloc[0]

    whole = table(np.ones(53, bool))
    expected = [table(block_of(53) != block)["value"] for block in range(len(JACKKNIFE_COLUMNS))]
    assert whole[JACKKNIFE_COLUMNS].to_numpy(float) == pytest.approx(expected, abs=1e-12)


def test_each_seed_is_compared_with_other_probes_of_the_pretrained_model():
    """A seed that answers like one probe of the pretrained model has no difference to that one
    alone."""
    probes = np.random.default_rng(0).integers(1, 9, size=(3, 20, 3))
    scores = f1(probes.sum(axis=1))

    def differences(seeds, reference, own=False):
        model = side([probes[[seed - 1]] for seed in seeds], *((1, seed) for seed in seeds))
        other = side(reference.values(), *((1, seed) for seed in reference))
        pairs = {(1, seed): (1, seed if own else 0) for seed in seeds}
        return deltas("mnli", "base", model, other, pairs, draws=2)["value"].tolist()

    # Two seeds divide three probes; one alone is compared with all; with one probe, all share it.
    for seeds, base, shares in (
        ([1, 2, 3], probes, scores),
        ([1, 2], probes, [scores[[0, 2]].mean(), scores[1]]),
        ([1], probes, [scores.mean()]),
        ([1, 2], probes[:1], scores[[0, 0]]),
    ):
        expected = scores[: len(seeds)] - shares
        assert differences(seeds, {0: base}) == pytest.approx(expected, abs=1e-12)
    # The reference's own runs share no probe.
    found = differences([1, 2], {1: probes[:2], 2: probes[1:]}, own=True)
    assert found == pytest.approx(scores[:2] - [scores[:2].mean(), scores[1:].mean()])


def test_deltas_compare_what_both_have_replicate_by_replicate():
    counts = np.random.default_rng(0).integers(1, 9, size=(3, 20, 3))
    base = side([counts, counts[:, ::-1]], (1, 0), (2, 0)) | {
        counts_key("pos", "lexical", "clean", 1, 0): counts
    }
    model, pairs = side([counts[:, ::-1]], (2, 1)), {(2, 1): (2, 0)}
    [row] = deltas("mnli", "base", model, base, pairs).to_dict("records")
    assert row == {
        "metric": "edge_probe_delta", "model": "mnli", "reference": "base", "task": "pos", "variant": "mix",
        "view": "clean", "init": 2, "seed": 1, "value": 0, "p": 1, "n": 20, **dict.fromkeys(JACKKNIFE_COLUMNS, 0),
    }  # fmt: skip
    others = model | {sentences_key("pos"): np.arange(1, 21).astype(str)}
    with pytest.raises(UserError, match="different test sentences of pos"):
        deltas("mnli", "base", others, base, pairs)
    with pytest.raises(UserError, match="share no task"):
        deltas("mnli", "base", model, {sentences_key("pos"): others[sentences_key("pos")]}, pairs)
