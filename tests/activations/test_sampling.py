import numpy as np

from bertshift.activations.sampling import is_special_or_first, sample_tokens, sampled, two_samples

SPECIAL = np.tile([True, *[False] * 8, True], 5)


def test_samples_are_seeded_by_name_alone():
    drawn = sample_tokens(SPECIAL, 20, "rsa", "wiki", special=False)
    np.testing.assert_array_equal(drawn, sample_tokens(SPECIAL, 20, "rsa", "wiki", special=False))
    assert len(np.unique(drawn)) == 20 and not SPECIAL[drawn].any() and (np.diff(drawn) > 0).all()
    assert not np.array_equal(drawn, sample_tokens(SPECIAL, 20, "rsa", "mnli", special=False))
    assert len(sample_tokens(SPECIAL, 5000, "rsa")) == 50


def test_a_first_token_is_no_content_whatever_it_is():
    offsets = np.array([0, 3, 5])
    assert np.flatnonzero(is_special_or_first(np.zeros(5, bool), offsets)).tolist() == [0, 3]
    special = is_special_or_first(SPECIAL[:20], np.array([0, 10, 20]))
    assert np.flatnonzero(special).tolist() == [0, 9, 10, 19]


def test_what_is_kept_holds_both_samples():
    both = two_samples(SPECIAL, 20, "wiki")
    assert not SPECIAL[both["content"]].any() and SPECIAL[both["all_tokens"]].any()
    assert set(sampled(SPECIAL, 20, "wiki")) == {*both["content"], *both["all_tokens"]}
