import numpy as np
import pandas as pd
import pytest
import torch
from made_tables import WITHOUT, in_columns
from patterns.conftest import tokens_of

from bertshift.patterns import classifier, shares
from bertshift.patterns.classifier import probabilities
from bertshift.patterns.features import CLASSES, features, propose


@pytest.fixture(scope="module")
def predictions():
    """100 labelled maps of 50 inputs: each class is predicted right in 16 of 20 cases, else it is
    the next one."""
    label = np.repeat(CLASSES, 20)
    return pd.DataFrame(
        {"task": "rte", "example": [f"dev-{n % 50}" for n in range(100)], "source": ["person"] * 7 + ["proposed"] * 93,
         "label": label, "cross_validated": np.roll(label, 4), "resubstituted": label}
    )  # fmt: skip


@pytest.fixture
def measured(attended, inputs, predictions, tmp_path):
    net = classifier.PatternClassifier(16, [4], torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        net.out.weight *= 20  # answers that differ
    classifier.save(tmp_path / "net", net)
    runs = {"r1": (1, 1), "r2": (2, 1)}
    share_table, maps = shares.measure(
        "rte", "rte", runs, inputs, 64, tmp_path / "net", predictions
    )
    return net, in_columns(share_table), maps


@pytest.fixture
def answers(measured, attended, inputs):
    """answers(run) -> of each of six maps of each input: the classifier's probabilities, and the
    class that its features propose."""

    def answers_of(run):
        likely, proposed = [], []
        for row in inputs:
            tokens, special, segment = tokens_of(row)
            length = len(tokens)
            maps = torch.from_numpy(attended(run, row, length)).flatten(0, 1)
            likely += [probabilities(measured[0], weights[None])[0] for weights in maps]
            proposed += [propose(features(weights, special, segment), length) for weights in maps]
        return np.array(likely), np.array(proposed)

    return answers_of


def test_shares_are_counts_of_single_maps(measured, answers):
    _, table, maps = measured
    for run, init in (("r1", 1), ("r2", 2)):
        likely, proposed = answers(run)
        rows = table[table["init"] == init].set_index(["variant", "pattern"])["value"]
        for variant, classes in (("classified", likely.argmax(axis=1)), ("proposed", proposed)):
            expected = np.bincount(classes, minlength=5) / 120
            np.testing.assert_allclose(rows[variant][list(CLASSES)], expected, atol=1e-12)
        surest = maps.query("variant == 'most_confident' and init == @init").set_index("pattern")
        assert surest["value"][list(CLASSES)].tolist() == pytest.approx(
            likely.max(axis=0).tolist()
        )
    assert (table["maps"] == 120).all() and (table["n"] == 20).all()
    assert table[WITHOUT].notna().all(axis=None)
    assert (table["labels_by_person"] == 7).all() and (table["f1_macro_resubstituted"] == 1).all()


def test_all_maps_of_one_input_are_drawn(measured, attended, inputs):
    grid = measured[2].query("variant == 'one_input'")
    assert set(grid["init"]) == {1} and grid["example"].nunique() == 1 and len(grid) == 6
    for row in grid.itertuples():
        [source] = [source for source in inputs if source["id"] == row.example]
        weights = np.array(row.weights.split(), float)
        expected = attended("r1", source, row.length)[row.layer - 1, row.head - 1]
        np.testing.assert_allclose(weights, expected.ravel(), atol=5.1e-5)
        assert len(row.tokens.split()) == row.length and row.special.split()[-1] == str(row.length)


def test_blocks_of_both_samples_are_left_out_together(predictions):
    """40 inputs to be counted and 50 labelled ones, in 20 blocks each: without the first,
    corrected as if it had not been."""
    counts = np.random.default_rng(0).multinomial(8, [0.1, 0.3, 0.2, 0.1, 0.3], 40).astype(float)
    rows = in_columns(shares.share_rows(counts, counts, predictions)).set_index(
        ["variant", "pattern"]
    )
    number = predictions["example"].str.removeprefix("dev-").astype(int)
    rest = in_columns(
        shares.share_rows(counts[2:], counts[2:], predictions[number * 20 // 50 > 0])
    )
    rest = rest.set_index(["variant", "pattern"])
    np.testing.assert_allclose(rows["without1"], rest["value"], atol=1e-12)
