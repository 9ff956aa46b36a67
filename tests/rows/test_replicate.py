import pytest

from bertshift.rows.replicate import Replicate


@pytest.mark.parametrize(
    ("text", "replicate", "runs", "unit"),
    [
        ("init2", Replicate(2, None), (2,), "pretraining run"),
        ("init1-12", Replicate(1, None, ref_init=12), (1, 12), "pretraining run pair"),
        ("seed0", Replicate(None, 0), (0,), "seed"),
        ("seed1-3", Replicate(None, 1, ref_seed=3), (1, 3), "seed pair"),
    ],
)
def test_a_unit_is_spelled_in_one_way(text, replicate, runs, unit):
    assert Replicate.parse(text) == replicate and str(replicate) == text
    assert (replicate.runs, replicate.unit) == (runs, unit)


@pytest.mark.parametrize("text", ["1", "init", "init1.0", "seed1-2-3", "run1"])
def test_other_texts_are_no_replicates(text):
    with pytest.raises(ValueError, match="spelled"):
        Replicate.parse(text)


def test_a_replicate_has_two_units():
    replicate = Replicate(1, 3, ref_init=2, ref_seed=4)
    assert list(map(str, [replicate.of_init, replicate.of_seed])) == ["init1-2", "seed3-4"]
