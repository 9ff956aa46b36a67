import numpy as np
import pandas as pd
import pytest
import torch

from bertshift.patterns import classifier, shares
from bertshift.patterns.features import CLASSES, features, propose
from bertshift.rows.blocks import WITHOUT, interval


@pytest.fixture(scope="module")
def predictions():
    """100 labelled maps of 50 inputs: each class is told right in 16 of 20 cases, else it is the next one."""
    label = np.repeat(np.arange(5), 20)
    said = np.where(np.tile(np.arange(20) < 16, 5), label, (label + 1) % 5)
    return pd.DataFrame(
        {"task": "rte", "example": [f"dev-{n % 50}" for n in range(100)], "source": ["person"] * 7 + ["proposed"] * 93,
         "label": np.array(CLASSES)[label], "cross_validated": np.array(CLASSES)[said],
         "resubstituted": np.array(CLASSES)[label]}
    )  # fmt: skip


@pytest.fixture
def measured(attended, inputs, predictions, tmp_path):
    net = classifier.PatternClassifier(16, [4], torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        net.out.weight *= 20  # answers that differ
    classifier.save(tmp_path / "net", net)
    runs = {"r1": (1, 1), "r2": (2, 1)}
    return net, *shares.measure("rte", "rte", runs, inputs, 64, tmp_path / "net", predictions)


def test_shares_are_counts_of_single_maps(measured, attended, inputs):
    net, table, _ = measured
    for run, init in (("r1", 1), ("r2", 2)):
        said, proposed = [], []
        for row in inputs:
            words = row["text_a"].split() + ["[SEP]"] * ("text_b" in row) + row.get("text_b", "").split()
            length = len(words) + 2
            special = np.array([True, *(word == "[SEP]" for word in words), True])
            segment = np.array([0] + [0] * (row["text_a"].count("a") + 1) + [1] * length)[:length]
            for one in attended(run, row, length).reshape(6, length, length):
                one = torch.from_numpy(one)
                said.append(classifier.probabilities(net, one[None]).argmax())
                proposed.append(propose(features(one, special, segment), length))
        rows = table[table["init"] == init].set_index(["variant", "pattern"])
        for variant, found in (("classified", said), ("proposed", proposed)):
            expected = np.bincount(found, minlength=5) / 120
            np.testing.assert_allclose(rows.loc[variant].loc[list(CLASSES), "value"], expected, atol=1e-12)
        assert (rows["maps"] == 120).all() and (rows["n"] == 20).all()
    assert (table.groupby(["init", "variant"])["value"].sum() - 1).abs().max() < 1e-9
    assert table[WITHOUT].notna().all(axis=None)
    assert (table["labels_by_person"] == 7).all() and table["f1_macro_resubstituted"].eq(1).all()


def test_maps_to_be_drawn(measured, attended, inputs):
    net, _, maps = measured
    surest = maps[maps["variant"] == "most_confident"]
    assert surest.groupby(["init", "pattern"]).size().eq(1).all() and len(surest) == 10
    best = max(
        classifier.probabilities(net, torch.from_numpy(attended("r1", row, n).reshape(6, n, n)))[:, 3].max()
        for row in inputs
        for n in [len(row["text_a"].split()) + 2 + ("text_b" in row) + len(row.get("text_b", "").split())]
    )
    assert surest.query("init == 1 and pattern == 'block'")["value"].item() == pytest.approx(best)
    grid = maps[maps["variant"] == "one_input"]
    assert set(grid["init"]) == {1} and grid["example"].nunique() == 1 and len(grid) == 6
    for row in grid.itertuples():
        source = next(each for each in inputs if each["id"] == row.example)
        weights = np.array(row.weights.split(), float).reshape(row.length, row.length)
        np.testing.assert_allclose(
            weights, attended("r1", source, row.length)[row.layer - 1, row.head - 1], atol=5.1e-5
        )
        assert len(row.tokens.split()) == row.length and row.special.split()[-1] == str(row.length)


def test_intervals_cover_the_truth_of_which_inputs_are_a_sample(predictions):
    """Inputs differ in how many of their 8 maps are vertical; the rest are heterogeneous, and all answers right."""
    random, hits = np.random.default_rng(0), 0
    for _ in range(60):
        vertical = random.binomial(8, random.beta(2, 3, 40))
        counts = np.zeros((40, 5))
        counts[:, 0], counts[:, 4] = vertical, 8 - vertical
        row = shares.share_rows(counts, counts, predictions).iloc[0]
        low, high = interval(row["value"], row[WITHOUT].to_numpy(float))
        hits += low <= 0.4 <= high
    assert hits >= 52


def test_blocks_of_both_samples_are_left_out_together(predictions):
    """40 inputs to be counted and 50 labelled ones, in 20 blocks each: without the first, corrected as if it had not been."""
    counts = np.random.default_rng(0).multinomial(8, [0.1, 0.3, 0.2, 0.1, 0.3], 40).astype(float)
    rows = shares.share_rows(counts, counts, predictions).set_index(["variant", "pattern"])
    number = predictions["example"].str.removeprefix("dev-").astype(int)
    rest = shares.share_rows(counts[2:], counts[2:], predictions[number * 20 // 50 > 0])
    rest = rest.set_index(["variant", "pattern"])
    np.testing.assert_allclose(rows["without1"], rest["value"], atol=1e-12)
