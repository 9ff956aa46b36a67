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


def equal(tensors, expected):
    return all(torch.equal(*pair) for pair in zip(tensors, expected, strict=True))


def assert_close(tensor, expected):
    torch.testing.assert_close(tensor, expected, rtol=1e-4, atol=1e-4)


def last_states(model, *inputs, **named):
    return run(model, *inputs, **named).last_hidden_state


def recorded(model, inputs, *names):
    """Return, for each of these names, the tensors of every layer."""
    record = Record(*names)
    with editing(model, record):
        run(model, **inputs)
    return [[tensor.clone() for tensor in record.kept[name]] for name in names]


@kinds("every")
@torch.no_grad()
def test_states_and_maps_are_those_of_transformers(kind, tmp_path):
    model, inputs = model_of(kind), inputs_of(kind)
    check(model, tmp_path)
    states, maps = read(model, True, **inputs)
    model.config.tie_last_hidden_states = False
    theirs = model(**inputs, output_hidden_states=True, output_attentions=True)
    assert equal(states, theirs.hidden_states) and equal(maps, theirs.attentions)
    assert equal(read(model, **inputs)[0], states)
    assert not any(tensor[1, :, :8, 8:].any() for tensor in maps)
    types = {"token_type_ids": (inputs["input_ids"] % 2)}
    with_types = model(**inputs, **types) if kind in TWO_TYPES else theirs
    assert torch.equal(last_states(model, **inputs, **types), with_types.last_hidden_state)
    family = family_of(model)
    assert family.causal == (maps[0].triu(1) == 0).all() == (kind in (*DECODERS, "opt", "phi3"))
    assert family.tuples == (kind in ("deberta-v2", "mpnet"))

    layers = Layers(model, **inputs)
    hidden = layers.first
    assert torch.equal(hidden, states[0])
    for number in range(1, LAYERS + 1):
        hidden = layers(number, hidden)
        assert torch.equal(hidden, states[number])
    assert torch.equal(layers.after(hidden), theirs.last_hidden_state)
    if getattr(model, "pooler", None) is not None:
        assert torch.equal(layers.pooled(hidden), theirs.pooler_output)
    record = Record("maps")
    with attention.editable(model), attention.active(record):
        layers(2, states[1])
    assert equal(record.kept["maps"], maps[1:2])


@contextmanager
def replaced(model, layer, heads, contexts):
    """Replace by hand the contexts [examples, tokens, heads, width of a head] of one layer's
    heads, in front of the output projection."""
    projections = [module.get_submodule(family_of(model).out) for module in layers_of(model)]
    projection = projections[layer - 1]
    # ALBERT's one projection is called in every layer.
    call, calls = projections[:layer].count(projection), []

    def hook(_, arguments):
        calls.append(None)
        if len(calls) != call:
            return None
        replacement = arguments[0].unflatten(-1, (HEADS, -1)).clone()
        replacement[..., heads, :] = contexts[..., heads, :]
        return (replacement.flatten(-2),)

    handle = projection.register_forward_pre_hook(hook)
    yield
    handle.remove()


@kinds("attention")
@torch.no_grad()
def test_a_disabled_head_or_layer_is_as_computed_by_hand(kind):
    model, inputs, layer = model_of(kind), inputs_of(kind), 3
    real = inputs["attention_mask"].bool()
    plain, before = last_states(model, **inputs), copied(model)
    records = recorded(model, inputs, "maps", "values", "context")
    maps, values, contexts = (tensors[layer - 1] for tensors in records)
    short = {"input_ids": inputs["input_ids"][:1, :4]}
    with averaging(model) as means:
        run(model, **inputs)
        run(model, **short)
    short_contexts = recorded(model, short, "context")[0][layer - 1]
    tokens = [contexts.transpose(1, 2)[real], short_contexts.transpose(1, 2)[0]]
    average = torch.cat(tokens).mean(0)
    torch.testing.assert_close(means[layer - 1].float(), average)

    visible = (maps > 0).float()
    uniform = (visible / visible.sum(-1, keepdim=True)) @ values
    by_hand = {"uniform": uniform.transpose(1, 2), "zero": 0 * average, "mean": average}
    for variant, value in by_hand.items():
        for head, heads in ((0, slice(None)), (2, slice(1, 2))):
            with replaced(model, layer, heads, value):
                expected = last_states(model, **inputs)
            with disabled(model, Ablation(variant, layer, head), means):
                ours = last_states(model, **inputs)
                with pytest.raises(ValueError, match="edited already"):
                    read(model, **inputs)
            assert_close(ours[real], expected[real])
            assert not torch.allclose(ours[real], plain[real], atol=1e-2)
    assert not changed(before, model) and torch.equal(last_states(model, **inputs), plain)


@kinds("attention")
@torch.no_grad()
def test_contributions_of_heads_add_up_to_the_output_of_the_projection(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    projection = layers_of(model)[1].get_submodule(family_of(model).out)
    contexts = recorded(model, inputs, "context")[0][1]
    contributions = [
        contexts[:, head] @ output_columns(model, 2, head + 1, "it").T for head in range(HEADS)
    ]
    bias = 0 if projection.bias is None else projection.bias
    assert_close(sum(contributions) + bias, projection(contexts.transpose(1, 2).flatten(2)))


@kinds("every")
def test_a_weight_belongs_to_the_part_whose_output_gives_it_a_gradient(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    layers, family = Layers(model, **inputs), family_of(model)
    weights = dict(model.named_parameters())
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
    in_all_layers = ("shared", "1") if kind == "albert" else ("shared",)
    for name, parts in reached.items():
        group = family.group(name)
        assert parts == ({*"1234"} if group in in_all_layers else {group}), name
        assert any(weights[name] is weight for weight in groups(model)[group])


@kinds("layers")
@torch.no_grad()
def test_a_truncated_model_returns_the_states_of_its_last_layer(kind, tmp_path):
    model, inputs = model_of(kind), inputs_of(kind)
    states, maps = read(model, True, **inputs)
    for count in (2, 0):
        if not count and kind in NEEDS_A_LAYER:
            with pytest.raises(UserError, match="keep0 is not possible"):
                keep_layers(model, 0)
            break
        keep_layers(model, count)
        lower_states, lower_maps = read(model, True, **inputs)
        assert equal(lower_states, states[: count + 1]) and equal(lower_maps, maps[:count])
        save_model(tmp_path / str(count), model, tokenizer_of(kind))
        loaded = load_encoder(tmp_path / str(count))
        assert loaded.config.num_hidden_layers == count
        assert equal(read(loaded, **inputs)[0], lower_states)


@kinds("one head")
@torch.no_grad()
def test_a_reinitialised_head_changes_its_own_map_and_values_alone(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    before, old = copied(model), recorded(model, inputs, "maps", "values")
    reinitialise_head(model, 2, 3, seed=1)
    assert {family_of(model).group(name) for name in changed(before, model)} == {"2"}
    for previous, tensors in zip(old, recorded(model, inputs, "maps", "values"), strict=True):
        assert torch.equal(tensors[0], previous[0])
        difference = (tensors[1] - previous[1]).abs().amax((0, 2, 3))
        assert (difference > 1e-3).tolist() == [False, False, True, False]
        assert difference[[0, 1, 3]].max() == 0


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
def test_a_saved_model_computes_the_same_when_it_is_loaded(kind, tmp_path):
    encoder, inputs, tokenizer = model_of(kind), inputs_of(kind), tokenizer_of(kind)
    read(encoder, **inputs)  # leaves no trace in config.json
    model = SequenceClassifier(encoder, 3, seed=1).eval()
    save_model(tmp_path / "classifier", model, tokenizer)
    loaded = load_task_model(tmp_path / "classifier")
    loaded.encoder.set_attn_implementation("eager")
    assert torch.equal(loaded(**inputs), model(**inputs))
    save_model(tmp_path / "bare", encoder, tokenizer)
    for folder in ("bare", "classifier"):
        loaded = load_encoder(tmp_path / folder)
        loaded.set_attn_implementation("eager")
        assert torch.equal(last_states(loaded, **inputs), last_states(encoder, **inputs))
        assert longest_input(loaded) == longest_input(encoder)


@kinds("every")
@torch.no_grad()
def test_the_longest_input_is_read_and_padding_changes_nothing(kind):
    model = model_of(kind)
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(10, 500, (2, longest_input(model)), generator=generator)
    alone, mask = last_states(model, ids[:1]), torch.ones_like(ids)
    ids[1, 5:], mask[1, 5:] = tokenizer_of(kind).pad_token_id, 0
    together = last_states(model, ids, mask)
    assert_close(together[:1], alone)
    assert_close(together[1:, :5], last_states(model, ids[1:, :5]))
    classifier = SequenceClassifier(model, 2).eval()
    padded = classifier(input_ids=ids, attention_mask=mask)[1:]
    assert_close(padded, classifier(input_ids=ids[1:, :5]))


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_modernbert_is_classified_as_its_configuration_says(pooling):
    encoder, inputs = model_of("modernbert"), inputs_of("modernbert")
    encoder.config.classifier_pooling, encoder.config.num_labels = pooling, 3
    ours = SequenceClassifier(encoder, 3, seed=1).eval()
    theirs = AutoModelForSequenceClassification.from_config(encoder.config).eval()
    theirs.model.load_state_dict(encoder.state_dict())
    for name in ("dense", "norm"):
        weight = ours.head.get_submodule(name).weight
        theirs.head.get_submodule(name).load_state_dict({"weight": weight}, strict=False)
    theirs.classifier.load_state_dict(ours.head.out.state_dict())
    torch.testing.assert_close(ours(**inputs), theirs(**inputs).logits)


def seeing_padding():
    model = model_of("bert")
    for layer in layers_of(model):
        attend = layer.attention.self.forward
        layer.attention.self.forward = lambda hidden, attend=attend, **named: attend(
            hidden, **named | {"attention_mask": None}
        )
    return model


def scaled():
    model = model_of("bert")
    projection = layers_of(model)[2].attention.output.dense
    projection.register_forward_pre_hook(lambda _, arguments: (arguments[0] * 1.01,))
    return model


def attending_twice():
    model = model_of("roberta")
    attention = layers_of(model)[0].attention
    attend = attention.forward

    def twice(*given, **named):
        attend(*given, **named)
        return attend(*given, **named)

    attention.forward = twice
    return model


@pytest.mark.parametrize(
    ("make_model", "problem"),
    [
        (lambda: model_of("gemma2"), "not computed as expected"),
        (seeing_padding, "padding takes part"),
        (scaled, "does not reach the output projection alone"),
        (attending_twice, "attention is seen 5 times in 4 layers"),
    ],
)
def test_a_model_whose_attention_is_recorded_wrongly_is_refused(make_model, problem, tmp_path):
    model = make_model()
    with pytest.raises(UserError, match=rf"{tmp_path.name}: .*{problem}"):
        check(model, tmp_path)
    assert model.config._attn_implementation == "eager"


BERTS = ("bert", "ernie", "data2vec-text", "roberta")
IGNORED = {"return_dict": False, "chunk_size_feed_forward": 4, "pad_token_id": None}


@pytest.mark.parametrize(
    ("made", "read_as", "changes", "tokenizer"),
    [
        *(("bert", kind, {"pad_token_id": 1}, "bert") for kind in BERTS),
        # RobertaConfig has two types of tokens by default, and its tokenizer one.
        *((kind, kind, {}, "roberta") for kind in BERTS[::3]),
        *((kind, kind, IGNORED, "roberta") for kind in BERTS[::3]),
    ],
)
@torch.no_grad()
def test_an_imported_model_computes_what_transformers_does(
    made, read_as, changes, tokenizer, tmp_path
):
    pairs, folder = tokenizer == "bert", tmp_path / "given"
    tokenizer = tokenizer_of(tokenizer)
    save_model(folder, model_of(made, vocab_size=len(tokenizer), type_vocab_size=2), tokenizer)
    theirs = AutoModel.from_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text()) | {"model_type": read_as} | changes
    path.write_text(json.dumps(config))
    if changes != IGNORED:
        theirs = AutoModel.from_pretrained(folder)
    import_checkpoint(folder, tmp_path / "run")
    ours = load_encoder(tmp_path / "run")
    inputs = tokenizer(*TEXTS[:2], return_tensors="pt", return_token_type_ids=pairs)
    types = {} if pairs else {"token_type_ids": inputs["input_ids"] % 2}
    assert_close(last_states(ours, **inputs, **types), theirs.eval()(**inputs)[0])
    longest = longest_input(ours)
    assert last_states(ours, torch.full((1, longest), 7)).isfinite().all()
    with pytest.raises((IndexError, RuntimeError)):
        theirs(torch.full((1, longest + 1), 7))


@pytest.mark.parametrize(
    ("kind", "problem"),
    [("falcon", "cannot be recorded"), ("bros", "does not run on words alone")],
)
def test_a_family_that_cannot_be_explored_is_refused(kind, problem):
    with pytest.raises(UserError, match=f"'{kind}' models are not known here.* {problem}"):
        read(model_of(kind), **inputs_of(kind))


def test_the_page_of_families_says_what_can_be_done():
    assert (ROOT / "docs/families.md").read_text(encoding="utf-8") == page()
