import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import cosine

from bertshift.metrics import text_change


def test_a_change_is_the_cosine_distance_of_states_less_their_means():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 9, 4)) + 50
    found = text_change.changes(x, y)
    by_hand = [cosine(a, b) for a, b in zip(x - x.mean(0), y - y.mean(0), strict=True)]
    assert found == pytest.approx(by_hand)
    assert (text_change.changes(x, x) == 0).all()
    turned = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    assert text_change.changes(3 * x @ turned, y @ turned - 7) == pytest.approx(found)


def words_of(values, word="a", of=text_change.MODEL):
    rows = {"of": of, "position": range(len(values)), "word": word, "value": values}
    return pd.DataFrame(rows)


def test_words_have_the_interval_and_the_test_of_scipy():
    own, noise, rare = [0.5, 0.4, 0.7, 0.6], [0.3, 0.35, 0.4, 0.3], [0.9, 0.8]
    given = {"model": (own, noise, rare), "noise": (noise, own, rare), "seeds": (rare, own, own)}
    found = text_change.summarise_words(
        pd.concat(
            words_of(values, word, of)
            for of, all_values in given.items()
            for word, values in zip(("a", "b", "rare"), all_values, strict=True)
        )
    ).set_index("word")
    interval = stats.t.interval(0.95, 3, np.mean(own), stats.sem(own))
    assert tuple(found.loc["a", ["low", "high"]]) == pytest.approx(interval)
    p = [
        stats.ttest_rel(*pair, alternative="greater").pvalue
        for pair in ((own, noise), (noise, own))
    ]
    assert found.loc[["a", "b"], "p"].tolist() == pytest.approx(p)
    assert found.loc[["a", "b"], "q"].tolist() == pytest.approx(
        stats.false_discovery_control(p).tolist()
    )
    assert found.loc[["a", "b"], "seeds"].tolist() == pytest.approx([np.mean(rare), np.mean(own)])
    assert found.index[0] == "rare" and found.loc["rare", ["low", "high", "p", "q"]].isna().all()


def test_without_noise_and_other_seeds_there_is_no_null():
    found = text_change.summarise_words(words_of([0.5, 0.4, 0.6]))
    assert list(found) == ["word", "n", "value", "low", "high"]


@pytest.mark.parametrize(
    "word, spelled", [("River,", "river"), ('"No!"', "no"), ("--", "--"), ("it's", "it's")]
)
def test_a_word_is_spelled_without_signs_around_it(word, spelled):
    assert text_change.spelling(word) == spelled
