"""Every family of models, by comparison with transformers itself and with calculations by hand."""

import json
from contextlib import contextmanager

import pytest
import torch
from conftest import ROOT
from disabling import disabled
from made_encoders import (
    DECODERS,
    FAMILIES,
    HEADS,
    LAYERS,
    TEXTS,
    changed,
    copied,
    inputs_of,
    model_of,
    tokenizer_of,
)
from made_families import page
from transformers import AutoModel, AutoModelForSequenceClassification

from bertshift.errors import UserError
from bertshift.models import attention
from bertshift.models.ablate import Ablation, averaging
from bertshift.models.attention import Record, editing
from bertshift.models.check import check
from bertshift.models.family import (
    family_of,
    groups,
    head_width,
    layers_of,
    longest_input,
    output_columns,
    run,
)
from bertshift.models.heads import (
    SequenceClassifier,
    load_task_model,
)
from bertshift.models.layers import Layers, read
from bertshift.models.loading import import_checkpoint, load_encoder, save_model
from bertshift.models.reinitialise import (
    reinitialise_head,
    reinitialise_head_output,
    reinitialise_layers,
    reinitialise_pooler,
)
from bertshift.models.truncate import keep_layers

# What is done to a model or to what it computes is tried where families differ in it; what a row
# says, on every family.
MATRIX = {
    "every": FAMILIES,
    "attention": ("bert", "albert", "deberta-v2", "mpnet", "modernbert", "gpt2", "llama", "phi3"),
    "layers": ("bert", "distilbert", "deberta-v2", "modernbert", "gpt2", "llama", "nomic_bert"),
    "one head": ("bert", "distilbert", "deberta-v2", "mpnet", "modernbert", "gpt2", "gpt_neox"),
}
TWO_TYPES = ("bert", "electra", "albert", "nomic_bert")
NEEDS_A_LAYER = ("deberta-v2", "modernbert", "nomic_bert")


def kinds(name):
    return pytest.mark.parametrize("kind", MATRIX[name])


def equal(first, second):
    return all(torch.equal(*pair) for pair in zip(first, second, strict=True))


def close(first, second):
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-4)


def last_states(model, *inputs, **named):
    return run(model, *inputs, **named).last_hidden_state


def recorded(model, inputs, *names):
    """Return, for each of these names, what is recorded of every layer."""
    record = Record(*names)
    with editing(model, record):
        run(model, **inputs)
    return [[one.clone() for one in record.kept[name]] for name in names]


@kinds("every")
@torch.no_grad()
def test_states_and_maps_are_those_of_transformers(kind, tmp_path):
    model, inputs = model_of(kind), inputs_of(kind)
    check(model, tmp_path)
    states, maps = read(model, True, **inputs)
    assert model.config._attn_implementation == "eager"
    model.config.tie_last_hidden_states = False
    theirs = model(**inputs, output_hidden_states=True, output_attentions=True)
    assert equal(states, theirs.hidden_states) and equal(maps, theirs.attentions)
    assert len(states) == LAYERS + 1 and not any(one[1, :, :8, 8:].any() for one in maps)
    assert torch.equal(last_states(model, **inputs), theirs.last_hidden_state)
    assert equal(states, read(model, **inputs)[0]) and not read(model, **inputs)[1]
    types = {"token_type_ids": (inputs["input_ids"] % 2)}
    with_types = model(**inputs, **types) if kind in TWO_TYPES else theirs
    assert torch.equal(last_states(model, **inputs, **types), with_types.last_hidden_state)
    family = family_of(model)
    assert family.causal == (maps[0].triu(1) == 0).all() == (kind in (*DECODERS, "opt", "phi3"))
    assert family.tuples == (kind in ("deberta-v2", "mpnet"))

    layers, hidden = Layers(model, **inputs), None
    for number in range(LAYERS + 1):
        hidden = layers(number, hidden) if number else layers.first
        assert torch.equal(hidden, states[number])
    assert torch.equal(layers.after(hidden), theirs.last_hidden_state)
    if getattr(model, "pooler", None) is not None:
        assert torch.equal(layers.pooled(hidden), theirs.pooler_output)
    record = Record("maps")
    with attention.editable(model), attention.active(record):
        layers(2, states[1])
    assert equal(record.kept["maps"], maps[1:2])


@contextmanager
def replaced(model, layer, heads, value):
    """Put `value` by hand in the place of the contexts [examples, tokens, heads, width of a head]
    of one layer's heads, in front of the output projection."""
    outs = [one.get_submodule(family_of(model).out) for one in layers_of(model)]
    before, calls = outs[: layer - 1].count(outs[layer - 1]), []

    def hook(_, given):
        calls.append(None)
        if len(calls) != before + 1:
            return None
        contexts = given[0].unflatten(-1, (HEADS, -1)).clone()
        contexts[..., heads, :] = value[..., heads, :]
        return (contexts.flatten(-2),)

    handle = outs[layer - 1].register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@kinds("attention")
@torch.no_grad()
def test_a_disabled_head_or_layer_is_what_hands_make_of_it(kind):
    model, inputs, layer = model_of(kind), inputs_of(kind), 3
    real = inputs["attention_mask"].bool()
    plain, before = last_states(model, **inputs), copied(model)
    maps, values, contexts = (
        found[layer - 1] for found in recorded(model, inputs, "maps", "values", "context")
    )
    with averaging(model) as means:
        run(model, **inputs)
    average = contexts.transpose(1, 2)[real].mean(0)
    torch.testing.assert_close(means[layer - 1].float(), average)
    assert means.shape == (LAYERS, HEADS, head_width(model))

    visible = (maps > 0).float()
    flat = (visible / visible.sum(-1, keepdim=True)) @ values
    by_hand = {"uniform": flat.transpose(1, 2), "zero": 0 * average, "mean": average}
    for variant, value in by_hand.items():
        for head, heads in ((0, slice(None)), (2, slice(1, 2))):
            with replaced(model, layer, heads, value):
                expected = last_states(model, **inputs)
            with disabled(model, Ablation(variant, layer, head), means):
                ours = last_states(model, **inputs)
                with pytest.raises(ValueError, match="edited already"):
                    read(model, **inputs)
            close(ours[real], expected[real])
            assert not torch.allclose(ours[real], plain[real], atol=1e-2)
    assert not changed(before, model) and torch.equal(last_states(model, **inputs), plain)


@kinds("attention")
@torch.no_grad()
def test_what_a_head_moves_adds_up_to_the_output_of_the_projection(kind):
    """sum over heads and tokens of alpha f, and the bias (Kobayashi et al. 2020, equation 4)."""
    model, inputs, put = model_of(kind), inputs_of(kind), []
    out = layers_of(model)[1].get_submodule(family_of(model).out)
    hook = out.register_forward_hook(lambda _, __, found: put.append(found))
    maps, values = (found[1] for found in recorded(model, inputs, "maps", "values"))
    hook.remove()
    moved = [
        maps[:, head] @ (values[:, head] @ output_columns(model, 2, head + 1, "it").T)
        for head in range(HEADS)
    ]
    # ALBERT's one projection has been there in layer 1.
    close(sum(moved) + (0 if out.bias is None else out.bias), put[kind == "albert"])


@kinds("every")
def test_groups_are_what_gives_gradients_to_them(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    layers, weights, family = (
        Layers(model, **inputs),
        dict(model.named_parameters()),
        family_of(model),
    )
    reached = {name: set() for name in weights}

    def note(part, output):
        model.zero_grad()
        output.sum().backward(retain_graph=True)
        for name, weight in weights.items():
            if weight.grad is not None:
                reached[name].add(part)

    hidden = layers.first
    note("embeddings", hidden)
    for number in range(1, LAYERS + 1):
        hidden = layers(number, hidden.detach().requires_grad_())
        note(str(number), hidden)
    if {*family.after} - {"pooler"}:
        note(family.after[0], layers.after(hidden.detach().requires_grad_()))
    if getattr(model, "pooler", None) is not None:
        note("pooler", model.pooler(hidden.detach()))
    in_all = ("shared", "1" if kind == "albert" else "shared")
    for name, parts in reached.items():
        group = family.group(name)
        assert parts == ({*"1234"} if group in in_all else {group}), name
        assert any(weights[name] is one for one in groups(model)[group])


@kinds("layers")
@torch.no_grad()
def test_a_truncated_model_puts_out_what_its_last_layer_did(kind, tmp_path):
    model, inputs = model_of(kind), inputs_of(kind)
    whole, maps = read(model, True, **inputs)
    for count in (2, 0):
        if not count and kind in NEEDS_A_LAYER:
            with pytest.raises(UserError, match="keep0 is not possible"):
                keep_layers(model, 0)
            break
        keep_layers(model, count)
        states, some = read(model, True, **inputs)
        assert equal(states, whole[: count + 1]) and equal(some, maps[:count])
        save_model(tmp_path / str(count), model, tokenizer_of(kind))
        again = load_encoder(tmp_path / str(count))
        assert again.config.num_hidden_layers == count
        assert equal(read(again, **inputs)[0], states)


@kinds("layers")
@torch.no_grad()
def test_fresh_layers_move_nothing_else(kind):
    model = model_of(kind)
    before = copied(model)
    reinitialise_layers(model, 3, seed=1)
    upper = {
        name for name, _ in model.named_parameters() if family_of(model).group(name) in ("3", "4")
    }
    assert changed(before, model) == upper
    for name in upper:
        weight = model.state_dict()[name]
        if weight.dim() > 1:
            assert 0.01 < weight.std() < 0.025 and weight.abs().max() <= 0.04
        else:
            assert (weight == float(name.endswith("weight"))).all(), name


@kinds("one head")
@torch.no_grad()
def test_a_fresh_head_moves_its_own_map_alone(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    before, old = copied(model), recorded(model, inputs, "maps", "values")
    reinitialise_head(model, 2, 3, seed=1)
    assert {family_of(model).group(name) for name in changed(before, model)} == {"2"}
    for (one, two, *_), found in zip(old, recorded(model, inputs, "maps", "values"), strict=True):
        assert torch.equal(found[0], one)
        moved = [not torch.equal(found[1][:, head], two[:, head]) for head in range(HEADS)]
        assert moved == [False, False, True, False]
        assert not torch.allclose(found[1][:, 2], two[:, 2], atol=1e-3)


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        ("albert", lambda model: keep_layers(model, 2)),
        ("albert", lambda model: reinitialise_head_output(model, 2, 1)),
        ("gpt2", reinitialise_pooler),
    ],
)
def test_what_a_family_cannot_do_is_refused_and_changes_nothing(kind, operation):
    model = model_of(kind)
    before = copied(model)
    with pytest.raises(UserError, match=f" {kind} model"):
        operation(model)
    assert not changed(before, model) and model.config.num_hidden_layers == LAYERS


@kinds("every")
@torch.no_grad()
def test_what_is_saved_comes_back(kind, tmp_path):
    encoder, inputs, tokenizer = model_of(kind), inputs_of(kind), tokenizer_of(kind)
    read(encoder, **inputs)  # whatever is asked of a model leaves no trace in its config.json
    model = SequenceClassifier(encoder, 3, seed=1).eval()
    save_model(tmp_path / "classifier", model, tokenizer)
    again = load_task_model(tmp_path / "classifier")
    again.encoder.set_attn_implementation("eager")
    assert torch.equal(again(**inputs), model(**inputs))
    save_model(tmp_path / "bare", encoder, tokenizer)
    for folder in ("bare", "classifier"):
        again = load_encoder(tmp_path / folder)
        again.set_attn_implementation("eager")
        assert torch.equal(last_states(again, **inputs), last_states(encoder, **inputs))
        assert longest_input(again) == longest_input(encoder)


@kinds("every")
@torch.no_grad()
def test_inputs_may_be_as_long_as_is_said_and_padding_changes_nothing(kind):
    model = model_of(kind)
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(10, 500, (2, longest_input(model)), generator=generator)
    alone, mask = last_states(model, ids[:1]), torch.ones_like(ids)
    ids[1, 5:], mask[1, 5:] = tokenizer_of(kind).pad_token_id, 0
    together = last_states(model, ids, mask)
    close(together[:1], alone)
    close(together[1:, :5], last_states(model, ids[1:, :5]))
    pooled = SequenceClassifier(model, 2).eval()
    close(
        pooled(input_ids=ids, attention_mask=mask)[1:],
        pooled(input_ids=ids[1:, :5]),
    )


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_modernbert_is_classified_as_its_configuration_says(pooling):
    encoder = model_of("modernbert")
    encoder.config.classifier_pooling, encoder.config.num_labels = pooling, 3
    ours = SequenceClassifier(encoder, 3, seed=1).eval()
    theirs = AutoModelForSequenceClassification.from_config(encoder.config).eval()
    theirs.model.load_state_dict(encoder.state_dict())
    theirs.head.dense.load_state_dict({"weight": ours.head.dense.weight}, strict=False)
    theirs.head.norm.load_state_dict({"weight": ours.head.norm.weight}, strict=False)
    theirs.classifier.load_state_dict(ours.head.out.state_dict())
    inputs = inputs_of("modernbert")
    torch.testing.assert_close(ours(**inputs), theirs(**inputs).logits)


def seeing_padding():
    model = model_of("bert")
    for layer in layers_of(model):
        own = layer.attention.self.forward
        layer.attention.self.forward = lambda hidden, own=own, **named: own(
            hidden, **named | {"attention_mask": None}
        )
    return model


def scaled():
    model = model_of("bert")
    out = layers_of(model)[2].attention.output.dense
    out.register_forward_pre_hook(lambda _, given: (given[0] * 1.01,))
    return model


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: model_of("gemma2"), "not computed as expected"),
        (seeing_padding, "padding takes part"),
        (scaled, "does not reach the output projection alone"),
    ],
)
def test_the_check_refuses_what_is_seen_wrong(made, why, tmp_path):
    model = made()
    with pytest.raises(UserError, match=rf"{tmp_path.name}: .*{why}"):
        check(model, tmp_path)
    assert model.config._attn_implementation == "eager"


BERTS = ("bert", "ernie", "data2vec-text", "roberta")


@pytest.mark.parametrize(
    ("made", "read_as", "changes", "tokenizer", "pairs"),
    [
        *(("bert", kind, {"pad_token_id": 1}, "bert", True) for kind in BERTS),
        # RobertaConfig has two types of tokens unless told otherwise, and its tokenizer one.
        *((kind, kind, {}, "roberta", False) for kind in BERTS[::3]),
    ],
)
@torch.no_grad()
def test_an_imported_model_reads_what_transformers_gives_it(
    made, read_as, changes, tokenizer, pairs, tmp_path
):
    tokenizer, given = tokenizer_of(tokenizer), tmp_path / "given"
    save_model(given, model_of(made, vocab_size=len(tokenizer), type_vocab_size=2), tokenizer)
    config = json.loads((given / "config.json").read_text()) | {"model_type": read_as} | changes
    (given / "config.json").write_text(json.dumps(config))
    import_checkpoint(given, tmp_path / "run")
    ours, theirs = load_encoder(tmp_path / "run"), AutoModel.from_pretrained(given).eval()
    inputs = tokenizer(*TEXTS[:2], return_tensors="pt", return_token_type_ids=pairs)
    types = {} if pairs else {"token_type_ids": inputs["input_ids"] % 2}
    close(last_states(ours, **inputs, **types), theirs(**inputs)[0])
    longest = longest_input(ours)
    assert last_states(ours, torch.full((1, longest), 7)).isfinite().all()
    with pytest.raises((IndexError, RuntimeError)):
        theirs(torch.full((1, longest + 1), 7))


@pytest.mark.parametrize(
    ("kind", "why"),
    [("falcon", "cannot be recorded"), ("bros", "does not run on words alone")],
)
def test_a_family_that_cannot_be_explored_is_refused(kind, why):
    with pytest.raises(UserError, match=f"'{kind}' models are not known here.* {why}"):
        read(model_of(kind), **inputs_of(kind))


def test_the_page_of_families_says_what_can_be_done():
    assert (ROOT / "docs/families.md").read_text(encoding="utf-8") == page()
