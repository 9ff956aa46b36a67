import numpy as np
import pytest

from bertshift.activations.store import Activations, writing
from bertshift.errors import UserError

LENGTHS = np.array([3, 5, 2])
INDEX = {
    "token_ids": np.arange(10, dtype=np.int32),
    "special": np.zeros(10, bool),
    "example_offsets": np.array([0, 3, 8, 10]),
    "map_offsets": np.array([0, 9, 34, 38]),
    "example_ids": np.array(["a", "b", "c"]),
    "segment": np.zeros(10, np.uint8),
}


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(3, 10, 4)).astype(np.float32)
    maps = [[rng.random((2, n, n), np.float32) for n in LENGTHS] for _ in range(2)]
    return hidden, maps


@pytest.fixture
def path(arrays, tmp_path):
    hidden, maps = arrays
    with writing(tmp_path / "run.npz", INDEX, layers=2, width=4, heads=2) as writer:
        for example in (2, 0, 1):  # any order
            tokens = slice(*INDEX["example_offsets"][example : example + 2])
            for layer in range(3):
                writer.hidden(layer, example, hidden[layer, tokens])
            for layer in (2, 1):
                writer.attention(layer, example, maps[layer - 1][example])
    return tmp_path / "run.npz"


def test_round_trip(path, arrays, tmp_path):
    """Also of a file that plain NumPy has read and written."""
    hidden, maps = arrays
    with np.load(path) as archive:
        np.savez(tmp_path / "plain.npz", **archive)
    for activations in (Activations(path), Activations(tmp_path / "plain.npz")):
        for layer in range(3):
            np.testing.assert_array_equal(activations.hidden(layer), hidden[layer])
        for layer in (1, 2):
            layer_maps = activations.attention(layer)
            assert (layer_maps.heads, len(layer_maps)) == (2, 3)
            assert all(map(np.array_equal, layer_maps, maps[layer - 1]))


def test_a_layer_is_mapped_alone_and_aligned(path):
    activations = Activations(path)
    for layer in (activations.hidden(1), activations.attention(1).flat):
        assert isinstance(layer, np.memmap) and layer.offset % 64 == 0 and layer.flags.aligned


def test_an_interrupted_extraction_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), writing(tmp_path / "run.npz", INDEX, 2, 4):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_refusals(path, tmp_path):
    with writing(tmp_path / "hidden.npz", INDEX, layers=1, width=4):
        pass
    (tmp_path / "half.npz").write_bytes(path.read_bytes()[:500])
    for name, read, message in (
        ("hidden", lambda activations: activations.attention(1), "attention: true"),
        ("run", lambda activations: activations.word_first, "does not say where words are"),
        ("run", lambda activations: activations.hidden(3), "layers are 0 to 2"),
        ("half", None, "not a complete NPZ"),
        ("none", None, "does not exist"),
    ):
        with pytest.raises(UserError, match=message):
            read(Activations(tmp_path / f"{name}.npz"))
    assert Activations(tmp_path / "hidden.npz").heads is None
