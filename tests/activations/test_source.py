import numpy as np
import pytest
from made_encoders import model_of, tokenizer_of

from bertshift.activations.extract import extract
from bertshift.activations.source import Source
from bertshift.files import write_jsonl
from bertshift.models.loading import load_encoder, save_model
from bertshift.models.tokenizer import load_tokenizer

ROWS = [{"id": str(n), "words": ["the", "dog"] * (1 + n)} for n in range(4)]


@pytest.fixture
def folder(tmp_path):
    save_model(tmp_path / "model", model_of("bert"), tokenizer_of("bert"))
    write_jsonl(tmp_path / "edges.jsonl", ROWS)
    return tmp_path


def test_the_states_of_a_source_are_all_of_its_stimuli_in_float16(folder):
    path = folder / "parts/states.npz"
    activations = Source(folder / "model", folder / "edges.jsonl", 16).written(path)
    expected = folder / "expected.npz"
    model, tokenizer = load_encoder(folder / "model"), load_tokenizer(folder / "model")
    extract(model, tokenizer, ROWS, expected, 16, attention=False, dtype="float16")
    assert path.read_bytes() == expected.read_bytes()
    assert activations.hidden(2).dtype == np.float16


def test_the_recipe_has_what_would_change_the_states(folder):
    source = Source(folder / "model", folder / "edges.jsonl", 16)
    recipe = source.recipe()
    assert source.recipe() == recipe
    assert Source(folder / "model", folder / "edges.jsonl", 8).recipe() != recipe
    write_jsonl(folder / "edges.jsonl", ROWS[1:])
    recipe_of_fewer = source.recipe()
    weights = folder / "model/model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert recipe != recipe_of_fewer != source.recipe()
