import weakref

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.activations import source
from bertshift.activations.extract import extract
from bertshift.activations.source import Source, dump
from bertshift.activations.store import Activations
from bertshift.files import write_jsonl
from bertshift.models.loading import load_encoder, save_model
from bertshift.models.tokenizer import load_tokenizer

ROWS = [{"id": str(n), "words": ["a", "b"][: 1 + n % 2] * (1 + n)} for n in range(4)]


@pytest.fixture
def folder(tmp_path):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = BertConfig(vocab_size=7, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
                        max_position_embeddings=16)  # fmt: skip
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
    save_model(
        tmp_path / "model", BertModel(config), BertTokenizer(vocab={w: i for i, w in enumerate(words)})
    )
    write_jsonl(tmp_path / "edges.jsonl", ROWS)
    return tmp_path


def test_the_states_of_a_source_are_all_of_its_stimuli_in_float16(folder):
    path = folder / "parts/states.npz"
    found = Source(folder / "model", folder / "edges.jsonl", 16).written(path)
    expected = folder / "expected.npz"
    model, tokenizer = load_encoder(folder / "model"), load_tokenizer(folder / "model")
    extract(model, tokenizer, ROWS, expected, 16, attention=False, dtype="float16")
    assert path.read_bytes() == expected.read_bytes() and found.hidden(2).dtype == np.float16


def test_the_recipe_tells_what_would_change_the_states(folder):
    one = Source(folder / "model", folder / "edges.jsonl", 16)
    recipe = one.recipe()
    assert Source(folder / "model", folder / "edges.jsonl", 8).recipe() != recipe == one.recipe()
    write_jsonl(folder / "edges.jsonl", ROWS[1:])
    without = one.recipe()
    weights = folder / "model/model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert recipe != without != one.recipe()


def test_one_model_and_one_file_of_states_at_a_time(folder, monkeypatch):
    alive, found = weakref.WeakSet(), []
    path = folder / "parts/states.npz"

    def watched(*arguments, **options):
        found.append((len(alive), path.exists()))
        model = load_encoder(*arguments, **options)
        alive.add(model)
        return model

    monkeypatch.setattr(source, "load_encoder", watched)
    one = Source(folder / "model", folder / "edges.jsonl", 16)
    for _ in range(2):
        one.written(path)
    dump(folder / "model", {folder / "edges/run.npz": ROWS}, 16, True, "float32")
    assert found == [(0, False), (0, False), (0, True)] and not alive
    assert Activations(folder / "edges/run.npz").heads == 2
