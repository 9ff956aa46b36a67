import numpy as np
import pandas as pd
import pytest
import torch

from bertshift.errors import UserError
from bertshift.files import sha256
from bertshift.patterns import classifier
from bertshift.patterns.features import CLASSES
from bertshift.patterns.scores import confusion_table, score_table, summary

SETTINGS = classifier.ClassifierSettings(
    size=16, widths=[8, 16], epochs=12, batch_size=8, learning_rate=3e-3, folds=3
)


@pytest.fixture(scope="module")
def labelled():
    """Stripes, diagonals and noise of 10 to 30 tokens, two maps an input."""
    rng, maps = np.random.default_rng(0), []
    for number in range(60):
        length = rng.integers(10, 30)
        noise = rng.dirichlet(np.ones(length), length)
        vertical = np.eye(length)[[rng.integers(length)] * length]
        pure = (vertical, np.eye(length), noise)[number % 3]
        maps.append((0.8 * pure + 0.2 * noise).astype(np.float32))
    examples = [f"dev-{number // 2}" for number in range(60)]
    labels = ["vertical", "diagonal", "heterogeneous"] * 20
    columns = {"task": "rte", "example": examples, "label": labels, "source": "proposed"}
    return pd.DataFrame(columns), maps


@pytest.fixture(scope="module")
def fitted(labelled):
    return classifier.fit(*labelled, SETTINGS)


def test_it_learns_textbook_maps_of_inputs_that_it_has_not_seen(fitted):
    _, predictions = fitted
    assert summary(predictions)["f1_macro_cross_validated"] > 0.95
    assert predictions.groupby("example")["fold"].nunique().eq(1).all()
    assert set(predictions["fold"]) == {1, 2, 3}


def test_same_labels_same_bytes_and_read_back_it_answers_alike(fitted, labelled, tmp_path):
    net, _ = fitted
    sheet, maps = labelled
    images = [torch.from_numpy(weights)[None] for weights in maps]
    inputs = torch.cat([classifier.resample(image, 16) for image in images])
    labels = np.array(list(map(CLASSES.index, sheet["label"])))
    classifier.save(tmp_path / "a", net)
    classifier.save(tmp_path / "b", classifier.train(inputs, labels, SETTINGS, "all"))
    assert sha256(tmp_path / "a") == sha256(tmp_path / "b")
    loaded = classifier.load(tmp_path / "a")
    assert (loaded.size, loaded.widths) == (16, (8, 16))
    probabilities = classifier.probabilities(loaded, images[0])
    assert probabilities.sum() == pytest.approx(1)
    assert probabilities.argmax() == classifier.predict(net, inputs[:1])[0]


def test_resampling_keeps_absolute_weights_and_loses_no_stripe():
    constant = classifier.resample(torch.full((1, 7, 7), 1 / 7), 64)
    assert constant.shape == (1, 1, 64, 64) and torch.allclose(constant, torch.tensor(1 / 7))
    for column in range(100, 110):  # each is narrower than the distance between samples
        stripe = torch.zeros(1, 200, 200)
        stripe[0, :, column] = 1
        columns = classifier.resample(stripe, 64)[0, 0].mean(0)
        assert columns.sum() == pytest.approx(64 / 200, rel=0.05)
    small = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    corner = classifier.resample(small, 4)[0, 0]  # centres at -1/4, 1/4, 3/4, 5/4 of two tokens
    np.testing.assert_allclose(corner[0], [0, 0.25, 0.75, 1], atol=1e-6)


def test_more_folds_than_inputs_is_told():
    with pytest.raises(UserError, match=r"folds: 5 folds .* of 2; raise patterns.maps"):
        classifier.folds_of(["rte dev-0", "rte dev-0", "rte dev-1"], 5)


def test_tables_say_what_was_counted(fitted):
    _, predictions = fitted
    scores = score_table(predictions).set_index(["variant", "pattern"])["value"]
    macro = summary(predictions)["f1_macro_cross_validated"]
    assert scores["cross_validated", "macro"] == macro
    assert np.isnan(scores["resubstituted", "block"])
    confusion = confusion_table(predictions)
    assert len(confusion) == 2 * 25 and confusion.groupby("variant")["n"].sum().eq(60).all()
    shares = confusion.groupby(["variant", "label"])["value"].sum(min_count=1)
    assert shares.dropna().to_numpy() == pytest.approx(1) and shares.isna().sum() == 4
