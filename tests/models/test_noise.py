"""Noise with the size of a change, against NumPy on weights alone."""

from hashlib import sha256

import numpy as np
import pytest
from made_encoders import model_of

from bertshift.models.noise import add_noise, noise_like
from bertshift.models.truncate import keep_layers


def weights_of(model):
    return {name: weight.detach().double().numpy() for name, weight in model.named_parameters()}


def with_noise(kind, seed=1, changed=None):
    """Return the weights of a parent, of its changed model, and of the parent with noise."""
    parent, changed = model_of(kind, seed=0), changed or model_of(kind, seed=9)
    before = weights_of(parent)
    add_noise(parent, changed, seed)
    return before, weights_of(changed), weights_of(parent)


@pytest.mark.parametrize("kind", ["bert", "albert", "gpt2", "llama"])
def test_each_tensor_but_the_poolers_has_noise_with_the_norm_of_its_change(kind):
    before, after, noisy = with_noise(kind)
    for name, weight in before.items():
        change, noise = after[name] - weight, noisy[name] - weight
        if name.startswith("pooler."):
            assert not noise.any()
        else:
            assert np.linalg.norm(noise) == pytest.approx(np.linalg.norm(change), rel=1e-6), name


def test_a_frozen_tensor_or_lost_layer_has_no_noise_and_leaves_the_noise_of_others():
    changed, frozen = model_of("bert", seed=9), "embeddings.word_embeddings.weight"
    changed.get_parameter(frozen).data = model_of("bert", seed=0).get_parameter(frozen).data
    keep_layers(changed, 2)
    before, _, noisy = with_noise("bert", changed=changed)
    full = with_noise("bert")[2]
    assert np.array_equal(noisy[frozen], before[frozen])
    assert len({name.split(".")[2] for name in noisy if "layer." in name}) == 2
    assert [name for name in noisy if not np.array_equal(noisy[name], full[name])] == [frozen]


def test_another_seed_or_tensor_has_other_noise():
    before, _, noisy = with_noise("bert")
    different = with_noise("bert", seed=2)[2]
    same = [name for name in noisy if np.array_equal(noisy[name], different[name])]
    assert same == [name for name in noisy if name.startswith("pooler.")]
    queries = [f"encoder.layer.{n}.attention.self.query.weight" for n in (0, 1)]
    noise = [(noisy[name] - before[name]).ravel() for name in queries]
    assert abs(np.corrcoef(*noise)[0, 1]) < 0.15


def test_bytes_of_a_seed_are_the_same_on_every_machine():
    noise = noise_like(np.linspace(-1, 1, 12).reshape(3, 4), 7)
    assert sha256(noise.tobytes()).hexdigest().startswith("9bc348f083b6629c")
