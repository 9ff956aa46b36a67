"""Changes of hidden states that are made in a layer, and those that arrive from below."""

import copy
import re

import numpy as np
import pytest
import torch
from made_encoders import FAMILIES, TEXTS, WITHOUT_ROW, model_of, tokenizer_of
from made_tables import WITHOUT, in_columns

import bertshift
from bertshift.activations.extract import extract
from bertshift.activations.rerun import Rerun
from bertshift.activations.store import Activations
from bertshift.errors import UserError
from bertshift.metrics import linear_cka, made, own_or_inherited, rsa
from bertshift.metrics.pairs import Pair
from bertshift.models.family import layers_of
from bertshift.models.loading import save_model

EDITED = 3
ROWS = [{"id": str(number), "text_a": text} for number, text in enumerate(TEXTS)]
# Of each family, the parameters of a layer's feed-forward block.
LIKE_BERT = r"(intermediate|output)\."
FEED_FORWARD = dict.fromkeys(FAMILIES, LIKE_BERT) | {
    "distilbert": r"(ffn|output_layer_norm)\.",
    "albert": r"albert_layers\.0\.(ffn|ffn_output|full_layer_layer_norm)\.",
    "modernbert": r"(mlp|mlp_norm)\.",
    "gpt2": r"(mlp|ln_2)\.",
    "llama": r"(mlp|post_attention_layernorm)\.",
    "qwen3": r"(mlp|post_attention_layernorm)\.",
    "olmo2": r"(mlp|post_feedforward_layernorm)\.",
}
UNDIVIDED = ("gpt_neox", *WITHOUT_ROW)
DIVIDED = [kind for kind in FAMILIES if kind not in UNDIVIDED]


def reference_of(kind):
    own_weights = {"num_hidden_groups": 4} if kind == "albert" else {}
    return model_of(kind, vocab_size=len(tokenizer_of(kind)), **own_weights)


def edited(model, layers, parameters=""):
    """Copy a model with noise in the parameters of these layers whose names begin so."""
    model = copy.deepcopy(model)
    generator = torch.manual_seed(1)
    for layer in layers:
        for name, weight in layers_of(model)[layer - 1].named_parameters():
            if re.match(parameters, name):
                weight.data += 0.2 * torch.randn(weight.shape, generator=generator)
    return model


def write(folder, tokenizer, **models):
    """Write model folders and activations; returns {activation file: folder}."""
    folders = {}
    for name, model in models.items():
        save_model(folder / name, model, tokenizer)
        path = folder / f"{name}.npz"
        extract(model, tokenizer, ROWS, path, max_length=48, attention=True)
        folders[path] = folder / name
    return folders


def state_changes(folders):
    """Tabulate the changes of hidden states by variant, measure and layer."""
    table = in_columns(own_or_inherited.compare([Pair(*folders, {"stimuli": "texts"})], folders))
    table = table[table["measure"].isin(made.MEASURES)]
    assert set(table["head"]) == {0}
    return table.set_index(["variant", "measure", "layer"]).sort_index()


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_change_of_one_layer_is_made_there_and_arrives_above(kind, tmp_path):
    reference = reference_of(kind)
    folders = write(
        tmp_path, tokenizer_of(kind), model=edited(reference, [EDITED]), reference=reference
    )
    values = state_changes(folders)["value"]
    for measure in made.MEASURES:
        own, arrived, both = (
            values[variant, measure] for variant in (made.MADE, made.ARRIVED, made.BOTH)
        )
        assert (own[own.index != EDITED] == 0).all()
        assert (arrived[:EDITED] == 0).all() and (both[: EDITED - 1] == 0).all()
        assert own[EDITED] == both[EDITED] > 1e-4
        assert (arrived[EDITED:] == both[EDITED:]).all() and (both[EDITED:] > 1e-4).all()
    divided = {made.MADE_ATTENTION, made.MADE_FEED_FORWARD}
    assert divided & {*values.index.unique("variant")} == (divided if kind in DIVIDED else set())


@pytest.mark.parametrize("kind", DIVIDED)
def test_a_change_of_one_block_is_made_in_that_block(kind, tmp_path):
    reference = reference_of(kind)
    feed_forward = FEED_FORWARD[kind]
    attention = rf"(?!{feed_forward})"
    for parameters, changed, other in (
        (attention, made.MADE_ATTENTION, made.MADE_FEED_FORWARD),
        (feed_forward, made.MADE_FEED_FORWARD, made.MADE_ATTENTION),
    ):
        model = edited(reference, [EDITED], parameters)
        folder = tmp_path / changed
        folders = write(folder, tokenizer_of(kind), model=model, reference=reference)
        values = state_changes(folders)["value"]
        assert (values[other] == 0).all()
        assert values[changed].equals(values[made.MADE])
        assert values[changed, made.RSA, EDITED] > 1e-4


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory):
    """A BERT and its reference that differ in all layers, and their folders."""
    reference = reference_of("bert")
    model = edited(reference, range(1, 5))
    folder = tmp_path_factory.mktemp("everywhere")
    tokenizer = tokenizer_of("bert")
    return model, reference, write(folder, tokenizer, model=model, reference=reference)


@torch.no_grad()
def states_with_inputs(model, inputs_of_layers=None):
    """Run a BERT on each text, with these inputs [layers][texts] of its layers instead of its own;
    returns the layers' outputs [layers][texts] of [tokens, width]."""
    outputs = [[] for _ in model.encoder.layer]
    for number, text in enumerate(TEXTS):
        hooks = []
        for layer, module in enumerate(model.encoder.layer):

            def replace(_, args, layer=layer, number=number):
                if inputs_of_layers:
                    return (inputs_of_layers[layer][number][None], *args[1:])
                return None

            def keep(_, __, output, layer=layer):
                outputs[layer].append(output[0])

            hooks.append(module.register_forward_pre_hook(replace))
            hooks.append(module.register_forward_hook(keep))
        model(**tokenizer_of("bert")(text, return_tensors="pt"))
        for hook in hooks:
            hook.remove()
    return outputs


@torch.no_grad()
def test_values_are_those_of_a_pass_with_replaced_inputs(everywhere):
    model, reference, folders = everywhere
    table = state_changes(folders)
    embedded = [
        reference.embeddings(tokenizer_of("bert")(text, return_tensors="pt")["input_ids"])[0]
        for text in TEXTS
    ]
    model_embedded = [
        model.embeddings(tokenizer_of("bert")(text, return_tensors="pt")["input_ids"])[0]
        for text in TEXTS
    ]
    own = states_with_inputs(model)
    before = states_with_inputs(reference)
    passes = {
        made.BOTH: own,
        made.MADE: states_with_inputs(model, [embedded, *before]),
        made.ARRIVED: states_with_inputs(reference, [model_embedded, *own]),
    }

    def content(texts):
        """Leave out [CLS] and [SEP]."""
        return np.concatenate([states[1:-1].double().numpy() for states in texts])

    for variant, outputs in passes.items():
        for layer, texts in enumerate(outputs, 1):
            x, y = content(texts), content(before[layer - 1])
            below = content(embedded if layer == 1 else before[layer - 2])
            expected = {
                made.RSA: 1 - bertshift.rsa(x, y),
                made.CKA: 1 - bertshift.cka(x, y),
                made.NORM: np.linalg.norm(x - y) / np.linalg.norm(y - below),
            }
            for measure, value in expected.items():
                row = table.loc[variant, measure, layer]
                np.testing.assert_allclose(row["value"], value, rtol=1e-4)
                assert row["n"] == len(x)


def test_both_is_what_rsa_and_cka_measure(everywhere):
    """With the values without each block of texts, from which intervals are calculated."""
    _, _, folders = everywhere
    pair = Pair(*folders, {"stimuli": "texts"})
    numbers = ["value", *WITHOUT[: len(TEXTS)]]
    table = state_changes(folders)[numbers]
    rows = in_columns(rsa.compare([pair])).query("variant == 'content' and layer > 0")
    similarities = rows.set_index("layer")[numbers]
    np.testing.assert_allclose(table.loc[made.BOTH, made.RSA], 1 - similarities, rtol=1e-9)
    rows = in_columns(linear_cka.compare([pair])).query("variant == 'cka_debiased' and layer > 0")
    expected = rows.set_index("layer")[numbers]
    np.testing.assert_allclose(table.loc[made.BOTH, made.CKA], expected, rtol=1e-9)


def test_norms_without_a_block_are_those_of_the_other_texts(everywhere):
    _, _, folders = everywhere
    model, reference = map(Activations, folders)
    row = state_changes(folders).loc[made.BOTH, made.NORM, 2]
    content = linear_cka.sample(model, None, "texts")
    is_other = model.example_of_token()[content] != 4
    x, y, below = (
        states[content[is_other]].astype(np.float64)
        for states in (model.hidden(2), reference.hidden(2), reference.hidden(1))
    )
    expected = np.linalg.norm(x - y) / np.linalg.norm(y - below)
    assert row["without5"] == pytest.approx(expected, rel=1e-12)


def test_a_layer_that_does_not_give_its_own_states_is_refused(everywhere):
    model, _, folders = everywhere
    _, path = folders
    with pytest.raises(UserError, match="layer 1 of this bert model.*other hidden states"):
        Rerun(model, Activations(path))
