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
from bertshift.rows.blocks import WITHOUT, block_of


def test_every_view_is_scikit_learns():
    rng = np.random.default_rng(0)
    labels = ["ARG0", "ARG1", "ARGM-TMP", "R-ARG0", "C-ARG1", "V"]
    logits, classes = rng.normal(size=(2, 50, 6)), rng.integers(6, size=50)
    gold = np.broadcast_to(np.eye(6)[classes], logits.shape)
    clean = clean_labels("srl", labels)
    assert clean == [True, True, True, False, False, False]
    found = counts_by_view(torch.from_numpy(logits), torch.tensor(gold), clean, True)
    values = f1(found.numpy().reshape(2, 50, 3, 3).sum(axis=1))
    for probe in range(2):
        said = logits[probe] > 0
        expected = [
            f1_score(gold[probe], said, average="micro"),
            f1_score(gold[probe][:, clean], said[:, clean], average="micro"),
            accuracy_score(classes, logits[probe].argmax(1)),
        ]
        np.testing.assert_allclose(values[probe], expected, atol=1e-12)


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
    rng = np.random.default_rng(3)
    model, reference = rng.integers(0, 9, size=(2, 2, 5, 3))

    def score(counted):
        right, false, missed = np.moveaxis(counted.sum(axis=1), -1, 0)
        return np.mean(2 * right / (2 * right + false + missed))

    every = np.array(
        [score(model[:, list(d)]) - score(reference[:, list(d)]) for d in product(range(5), repeat=5)]
    )
    [found] = compare([(model, reference)], draws=40_000)
    assert found.delta == pytest.approx(score(model) - score(reference), abs=1e-12)
    assert found.p == pytest.approx(2 * min((every <= 0).mean(), (every >= 0).mean()), abs=0.01)


def test_bootstrap_of_equals_and_of_opposites():
    counts = np.random.default_rng(0).integers(1, 9, size=(3, 20, 3))
    [same] = compare([(counts, counts)])
    assert (same.delta, same.p) == (0, 1)
    worse = counts * [0, 1, 1]
    ahead, behind = compare([(counts, worse), (worse, counts)])
    # Small enough to be significant after Holm's correction of as many tests as a table of three models may have.
    assert ahead.delta > 0 and 100 * ahead.p < 0.05 and behind.delta == -ahead.delta


def test_bootstrap_depends_neither_on_its_blocks_nor_on_what_is_compared_beside():
    pairs = [tuple(pair) for pair in np.random.default_rng(1).integers(0, 9, size=(3, 2, 2, 31, 3))]
    whole = compare(pairs, draws=500, name="pos")
    for drawn_at_once in (1, 31 * 7, 31 * 500):
        assert compare(pairs, draws=500, name="pos", drawn_at_once=drawn_at_once) == whole
    assert [one for pair in pairs for one in compare([pair], draws=500, name="pos")] == whole
    few_probes = (pairs[0][0][:1], pairs[0][1])
    assert compare([few_probes, pairs[1]], draws=500, name="pos")[1] == whole[1]
    with pytest.raises(ValueError, match="different sentences"):
        compare([(pairs[0][0], pairs[0][1][:, 1:])])


def test_a_difference_without_a_block_is_that_of_the_other_sentences():
    model, reference = np.random.default_rng(2).integers(1, 9, size=(2, 3, 53, 3))
    ids, key = np.arange(53).astype(str), counts_key("pos", "mix", "clean", 1, 1)

    def table(kept):
        sides = ({sentences_key("pos"): ids[kept], key: side[:, kept]} for side in (model, reference))
        return deltas("mnli", "base", *sides, {(1, 1): (1, 1)}, draws=2).iloc[0]

    whole = table(np.ones(53, bool))
    expected = [table(block_of(53) != block)["value"] for block in range(len(WITHOUT))]
    assert whole[WITHOUT].to_numpy(float) == pytest.approx(expected, abs=1e-12)


def test_each_seed_is_compared_with_other_probes_of_the_pretrained_model():
    """A seed that answers like one probe of the pretrained model has no difference to that one alone."""
    probes = np.random.default_rng(0).integers(1, 9, size=(3, 20, 3))
    ids = {sentences_key("pos"): np.arange(20).astype(str)}

    def differences(seeds, reference, *pair):
        model = {counts_key("pos", "mix", "clean", 1, seed): probes[[seed - 1]] for seed in seeds}
        other = {counts_key("pos", "mix", "clean", 1, seed): counts for seed, counts in reference.items()}
        pairs = {(1, seed): (1, *(pair or (seed,))) for seed in seeds}
        return deltas("mnli", "base", ids | model, ids | other, pairs, draws=2)["value"].to_numpy()

    assert differences([1, 2, 3], {0: probes}, 0).tolist() == [0, 0, 0]
    scores = f1(probes.sum(axis=1))
    # Two seeds divide three probes; one alone is compared with all; with one probe, all share it.
    shares = scores[[0, 2]].mean(), scores[1]
    np.testing.assert_allclose(differences([1, 2], {0: probes}, 0), scores[:2] - shares)
    np.testing.assert_allclose(differences([1], {0: probes}, 0), scores[:1] - scores.mean())
    np.testing.assert_allclose(differences([1, 2], {0: probes[:1]}, 0), scores[:2] - scores[0])
    # The reference's own runs share no probe.
    tuned = {1: probes[:2], 2: probes[1:]}
    np.testing.assert_allclose(
        differences([1, 2], tuned), scores[:2] - [scores[:2].mean(), scores[1:].mean()]
    )


def test_deltas_compare_what_both_have_replicate_by_replicate():
    counts = np.random.default_rng(0).integers(1, 9, size=(3, 20, 3))
    ids = {sentences_key("pos"): np.arange(20).astype(str)}
    base = ids | {
        counts_key("pos", "mix", "clean", 1, 0): counts,
        counts_key("pos", "mix", "clean", 2, 0): counts[:, ::-1],
        counts_key("pos", "lexical", "clean", 1, 0): counts,
    }
    model = ids | {counts_key("pos", "mix", "clean", 2, 1): counts[:, ::-1]}
    table = deltas("mnli", "base", model, base, {(2, 1): (2, 0)})
    (row,) = table.to_dict("records")
    assert row == {
        "metric": "edge_probe_delta", "model": "mnli", "reference": "base", "task": "pos", "variant": "mix",
        "view": "clean", "init": 2, "seed": 1, "value": 0, "p": 1, "n": 20,
        **dict.fromkeys(WITHOUT, 0),
    }  # fmt: skip
    with pytest.raises(UserError, match="different test sentences of pos"):
        deltas(
            "mnli",
            "base",
            model | {sentences_key("pos"): np.arange(1, 21).astype(str)},
            base,
            {(2, 1): (2, 0)},
        )
    with pytest.raises(UserError, match="share no task"):
        deltas("mnli", "base", model, ids, {(2, 1): (2, 0)})
