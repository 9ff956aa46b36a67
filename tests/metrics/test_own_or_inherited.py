import copy

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cosine, jensenshannon
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.activations.extract import extract
from bertshift.metrics.own_or_inherited import compare
from bertshift.metrics.pairs import Pair
from bertshift.models.loading import save_model

torch.set_num_threads(1)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
TOKENIZER = BertTokenizer(vocab={word: number for number, word in enumerate(WORDS)})
ROWS = [{"id": str(i), "text_a": text} for i, text in enumerate(["a b c", "d e f g h a", "b", "h g f e"])]
LAYERS = 3


@pytest.fixture(scope="module")
def models():
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(WORDS), hidden_size=24, num_hidden_layers=LAYERS, num_attention_heads=3,
                        intermediate_size=16, initializer_range=0.4, attn_implementation="eager")  # fmt: skip
    before = BertModel(config).eval()
    after = copy.deepcopy(before)
    with torch.no_grad():
        for weight in after.parameters():
            weight += 0.1 * torch.randn_like(weight)
    return after, before


@pytest.fixture(scope="module")
def files(models, tmp_path_factory):
    """(activations, model folder) of the fine-tuned model and of its parent."""
    root, found = tmp_path_factory.mktemp("own"), []
    for name, model in zip(("model", "base"), models, strict=True):
        save_model(root / name, model, TOKENIZER)
        extract(model, TOKENIZER, ROWS, root / f"{name}.npz", max_length=20, attention=True)
        found.append((root / f"{name}.npz", root / name))
    return found


def spliced(models, layer, own):
    """Attention of `layer` in a model that is fine-tuned there alone (own), or everywhere below it alone."""
    after, before = models
    mixed = copy.deepcopy(before if own else after)
    giver = after if own else before
    module, source = (model.encoder.layer[layer - 1].attention.self for model in (mixed, giver))
    for part in ("query", "key"):
        getattr(module, part).load_state_dict(getattr(source, part).state_dict())
    return maps_of(mixed, layer)


@torch.inference_mode()
def maps_of(model, layer):
    texts = [TOKENIZER(row["text_a"], return_tensors="pt") for row in ROWS]
    return [model(**text, output_attentions=True).attentions[layer - 1][0].double().numpy() for text in texts]


def test_each_part_is_what_a_spliced_model_shows(models, files):
    table = compare([Pair(files[0][0], files[1][0])], dict(files))
    assert len(table) == LAYERS * 4 * 3 * 2 and (table["n"] == len(ROWS)).all()
    values = table.set_index(["variant", "measure", "layer", "head"])["value"]
    for layer in range(1, LAYERS + 1):
        before = maps_of(models[1], layer)
        expected = {
            "total": maps_of(models[0], layer), "own": spliced(models, layer, own=True),
            "inherited": spliced(models, layer, own=False),
        }  # fmt: skip
        for variant, maps in expected.items():
            for head in range(3):
                pairs = [(x[head], y[head]) for x, y in zip(maps, before, strict=True)]
                distance = np.mean([cosine(x.ravel(), y.ravel()) for x, y in pairs])
                divergence = np.mean([np.mean(jensenshannon(x, y, axis=1) ** 2) for x, y in pairs])
                place = (layer, head + 1)
                assert values[(variant, "cosine_distance", *place)] == pytest.approx(
                    distance, rel=1e-4, abs=1e-7
                )
                assert values[(variant, "js", *place)] == pytest.approx(divergence, rel=1e-3, abs=1e-7)


def test_a_model_against_itself_has_not_changed(files):
    table = compare([Pair(files[1][0], files[1][0])], dict(files))
    assert table["value"].abs().max() < 1e-6
