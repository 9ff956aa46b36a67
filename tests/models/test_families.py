"""Every family of models, by comparison with transformers itself and with calculations by hand."""

import copy
import json
from contextlib import contextmanager

import pytest
import torch
from conftest import ROOT
from disabling import Disabled, disabled
from made_encoders import (
    DECODERS,
    FAMILIES,
    HEADS,
    LAYERS,
    TEXTS,
    WITHOUT_ROW,
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
from bertshift.models.biaffine import DependencyParser
from bertshift.models.check import check
from bertshift.models.family import (
    family_of,
    groups,
    head_width,
    layers_of,
    longest_input,
    output_columns,
    projections,
    run,
)
from bertshift.models.freeze import freeze
from bertshift.models.heads import SequenceClassifier, SpanClassifier, TokenClassifier, load_task_model
from bertshift.models.layers import Layers, read
from bertshift.models.loading import import_checkpoint, load_encoder, save_model
from bertshift.models.reinitialise import (
    reinitialise_head,
    reinitialise_head_output,
    reinitialise_layers,
    reinitialise_pooler,
)
from bertshift.models.restore import every_restoration
from bertshift.models.truncate import keep_layers

families = pytest.mark.parametrize("kind", FAMILIES)
NO_HEAD_ALONE = ("albert", "llama", "qwen3", "olmo2", *WITHOUT_ROW)
ONE_HEAD_ALONE = [kind for kind in FAMILIES if kind not in NO_HEAD_ALONE]
WITHOUT_ALBERT = [kind for kind in FAMILIES if kind != "albert"]


def copied(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def changed(before, model):
    return {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}


def equal(first, second):
    return all(torch.equal(*pair) for pair in zip(first, second, strict=True))


def real(states, inputs):
    return states[inputs["attention_mask"].bool()]


@families
@torch.no_grad()
def test_states_and_maps_are_those_of_transformers(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    states, maps = read(model, True, **inputs)
    assert model.config._attn_implementation == "eager"
    model.config.tie_last_hidden_states = False
    theirs = model(**inputs, output_hidden_states=True, output_attentions=True)
    assert len(states) == LAYERS + 1 and len(maps) == LAYERS
    assert equal(states, theirs.hidden_states) and equal(maps, theirs.attentions)
    for one in maps:
        assert one.shape == (2, HEADS, 12, 12) and not one[1, :, :8, 8:].any()
        torch.testing.assert_close(one.sum(-1), torch.ones(2, HEADS, 12))
    assert torch.equal(run(model, **inputs).last_hidden_state, theirs.last_hidden_state)
    assert equal(states, read(model, **inputs)[0]) and not read(model, **inputs)[1]
    family = family_of(model)
    assert family.causal == (maps[0].triu(1) == 0).all() == (kind in (*DECODERS, "opt", "phi3"))
    assert family.tuples == (kind in ("deberta-v2", "mpnet"))


@families
@torch.no_grad()
def test_layers_one_by_one_make_up_the_pass(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    states, maps = read(model, True, **inputs)
    layers, hidden = Layers(model, **inputs), None
    for number in range(LAYERS + 1):
        hidden = layers(number, hidden) if number else layers.first
        torch.testing.assert_close(hidden, states[number], rtol=0, atol=0)
    output = run(model, **inputs)
    assert torch.equal(layers.after(hidden), output.last_hidden_state)
    if getattr(model, "pooler", None) is not None:
        assert torch.equal(layers.pooled(hidden), output.pooler_output)
    record = Record("maps")
    with attention.editable(model), attention.active(record):
        layers(2, states[1])
    assert equal(record.kept["maps"], maps[1:2])


@contextmanager
def replaced(model, layer, change):
    """Apply `change` by hand to the contexts [examples, tokens, heads, width of a head] of one layer, in front of the
    output projection."""
    outs = [one.get_submodule(family_of(model).out) for one in layers_of(model)]
    before, calls = outs[: layer - 1].count(outs[layer - 1]), []

    def hook(_, given):
        calls.append(None)
        if len(calls) != before + 1:
            return None
        return (change(given[0].unflatten(-1, (HEADS, -1)).clone()).flatten(-2),)

    handle = outs[layer - 1].register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@families
@torch.no_grad()
def test_a_disabled_head_or_layer_is_what_hands_make_of_it(kind):
    model, inputs, layer = model_of(kind), inputs_of(kind), 3
    tokens = inputs["attention_mask"].bool()
    record = Record("maps", "values", "context")
    with editing(model, record):
        plain = run(model, **inputs).last_hidden_state
    maps, values, contexts = (list(record.kept[name]) for name in ("maps", "values", "context"))
    before = copied(model)
    with averaging(model) as means:
        run(model, **inputs)
    average = contexts[layer - 1].transpose(1, 2)[tokens].mean(0)
    torch.testing.assert_close(means[layer - 1].float(), average)
    assert means.shape == (LAYERS, HEADS, head_width(model))

    visible = (maps[layer - 1] > 0).float()
    flat = (visible / visible.sum(-1, keepdim=True)) @ values[layer - 1]
    by_hand = {"uniform": flat.transpose(1, 2), "zero": torch.zeros(()), "mean": average}
    for variant, value in by_hand.items():
        for head in (0, 2):
            heads = slice(head - 1, head) if head else slice(None)

            def change(context, heads=heads, value=value):
                context[..., heads, :] = value[..., heads, :] if value.dim() else value
                return context

            with replaced(model, layer, change):
                expected = run(model, **inputs).last_hidden_state
            with disabled(model, Ablation(variant, layer, head), means):
                ours = run(model, **inputs).last_hidden_state
            torch.testing.assert_close(real(ours, inputs), real(expected, inputs), rtol=1e-4, atol=1e-4)
            assert not torch.allclose(real(ours, inputs), real(plain, inputs), atol=1e-2)
    assert not changed(before, model)
    assert torch.equal(run(model, **inputs).last_hidden_state, plain)


class Watched(Disabled):
    """An ablation; the maps and contexts that come out of it are kept."""

    def __init__(self, ablation):
        super().__init__(ablation)
        self.record = Record("maps", "context")

    def maps(self, layer, maps, mask):
        return self.record.maps(layer, super().maps(layer, maps, mask), mask)

    def context(self, layer, context):
        return self.record.context(layer, super().context(layer, context))


@families
@torch.no_grad()
def test_other_heads_and_lower_layers_do_not_move(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    plain = Record("maps", "context")
    with editing(model, plain):
        run(model, **inputs)
    for variant in ("uniform", "zero"):
        watched = Watched(Ablation(variant, 3, 2))
        with editing(model, watched):
            run(model, **inputs)
        for name in ("maps", "context"):
            ours, theirs = watched.record.kept[name], plain.kept[name]
            assert equal(ours[:2], theirs[:2])
            assert torch.equal(ours[2][:, [0, 2, 3]], theirs[2][:, [0, 2, 3]])
            assert not torch.allclose(
                ours[3], theirs[3], atol=1e-4
            )  # ALBERT's one layer too, where it runs again
        moved = watched.record.kept["context"][2][:, 1]
        assert not torch.allclose(moved, plain.kept["context"][2][:, 1], atol=1e-3)


@families
def test_groups_are_what_gives_gradients_to_them(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    layers, weights = Layers(model, **inputs), dict(model.named_parameters())

    def behind(output):
        found = torch.autograd.grad(output.sum(), weights.values(), allow_unused=True, retain_graph=True)
        return {name for name, gradient in zip(weights, found, strict=True) if gradient is not None}

    hidden = layers.first
    found = {"embeddings": behind(hidden)}
    for number in range(1, LAYERS + 1):
        hidden = layers(number, hidden.detach().requires_grad_())
        found[str(number)] = behind(hidden)
    found["after"] = behind(layers.after(hidden.detach().requires_grad_()))
    if getattr(model, "pooler", None) is not None:
        found["pooler"] = behind(model.pooler(hidden.detach()))
    if kind == "albert":
        assert found["1"] == found["2"] == found["3"] == found.pop("4")
        del found["2"], found["3"]
    else:
        found["shared"] = found["1"] & found["2"]
        for number in range(1, LAYERS + 1):
            found[str(number)] -= found["shared"]
    ours = {part: {id(weight) for weight in members} for part, members in groups(model).items()}
    after = {name for part in family_of(model).after if part != "pooler" for name in ours.pop(part, ())}
    ours = {part: {name for name, weight in weights.items() if id(weight) in members}
            for part, members in (ours | {"after": after}).items()}  # fmt: skip
    assert {part: each for part, each in ours.items() if each} == {
        part: each for part, each in found.items() if each
    }
    assert set().union(*found.values()) == weights.keys()


def learn(model, inputs, steps=2):
    """Steps of training as they are for a classifier; names of what moved."""
    before = copied(model)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=0.01)
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(**inputs), torch.tensor([0, 1])).backward()
        optimizer.step()
    model.eval()
    return changed(before, model)


@pytest.mark.parametrize("kind", WITHOUT_ALBERT)
def test_frozen_parts_stay_and_others_move(kind):
    model = SequenceClassifier(model_of(kind), 2)
    freeze(model.encoder, 1)
    moved = learn(model, inputs_of(kind))
    parts = {
        family_of(model.encoder).group(name.removeprefix("encoder."))
        for name in moved
        if name.startswith("encoder.")
    }
    assert not parts & {"embeddings", "1", "2"} and {"3", "4"} <= parts
    assert any(name.startswith("head.") for name in moved)
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    assert not moved & frozen and len(frozen) == sum(
        len(groups(model.encoder)[part]) for part in ("embeddings", "1", "2")
    )


def test_the_embeddings_alone_of_albert_can_be_frozen():
    model = SequenceClassifier(model_of("albert"), 2)
    freeze(model.encoder, "E")
    moved = learn(model, inputs_of("albert"))
    names = [name.removeprefix("encoder.") for name in moved if not name.startswith("head.")]
    parts = {family_of(model.encoder).group(name) for name in names}
    assert "1" in parts and "embeddings" not in parts


@pytest.mark.parametrize("kind", WITHOUT_ALBERT)
@torch.no_grad()
def test_a_truncated_model_puts_out_what_its_last_layer_did(kind, tmp_path):
    model, inputs = model_of(kind), inputs_of(kind)
    whole, maps = read(model, True, **inputs)
    for count in (2, 0):
        if not count and kind in ("deberta-v2", "modernbert", *WITHOUT_ROW):
            with pytest.raises(
                UserError, match=f"keep0 is not possible for a {kind} model; write 1 to 2 layers"
            ):
                keep_layers(model, 0)
            break
        keep_layers(model, count)
        states, some = read(model, True, **inputs)
        assert equal(states, whole[: count + 1]) and equal(some, maps[:count])
        save_model(tmp_path / str(count), model, tokenizer_of(kind))
        again = load_encoder(tmp_path / str(count))
        assert again.config.num_hidden_layers == count
        assert equal(read(again, **inputs)[0], states)
        again.set_attn_implementation("eager")
        assert torch.equal(run(again, **inputs).last_hidden_state, run(model, **inputs).last_hidden_state)


@pytest.mark.parametrize("kind", WITHOUT_ALBERT)
@torch.no_grad()
def test_fresh_layers_move_nothing_else(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    before, states = copied(model), read(model, **inputs)[0]
    reinitialise_layers(model, 3, seed=1)
    moved = changed(before, model)
    upper = {name for name, _ in model.named_parameters() if family_of(model).group(name) in ("3", "4")}
    assert moved == upper
    ours = read(model, **inputs)[0]
    assert equal(ours[:3], states[:3]) and not torch.allclose(ours[3], states[3], atol=1e-2)
    for name in upper:
        weight = model.state_dict()[name]
        if weight.dim() > 1:
            assert 0.01 < weight.std() < 0.025 and weight.abs().max() <= 0.04
        else:
            assert (weight == float(name.endswith("weight"))).all(), name


@pytest.mark.parametrize("kind", ONE_HEAD_ALONE)
@torch.no_grad()
def test_a_fresh_head_moves_its_own_map_alone(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    before, record = copied(model), Record("maps", "values")
    with editing(model, record):
        run(model, **inputs)
    plain = {name: list(found) for name, found in record.kept.items()}
    reinitialise_head(model, 2, 3, seed=1)
    moved = changed(before, model)
    assert {family_of(model).group(name) for name in moved} == {"2"}
    numbers = sum((model.state_dict()[name] != before[name]).sum().item() for name in moved)
    assert numbers == sum(
        weight.numel() + (0 if bias is None else bias.numel())
        for weight, bias in projections(model, 2, 3, "it").values()
    )
    with editing(model, record):
        run(model, **inputs)
    for name, found in record.kept.items():
        assert equal(found[:1], plain[name][:1])
        assert torch.equal(found[1][:, [0, 1, 3]], plain[name][1][:, [0, 1, 3]])
        assert not torch.allclose(found[1][:, 2], plain[name][1][:, 2], atol=1e-3)


@pytest.mark.parametrize("kind", WITHOUT_ALBERT)
@torch.no_grad()
def test_fresh_columns_are_those_that_read_the_head(kind):
    model, inputs = model_of(kind), inputs_of(kind)
    before, plain = copied(model), run(model, **inputs).last_hidden_state
    with disabled(model, Ablation("zero", 2, 3)):
        without = run(model, **inputs).last_hidden_state
        with pytest.raises(ValueError, match="edited already"):
            read(model, **inputs)
    output_columns(model, 2, 3, "it").zero_()
    ours = run(model, **inputs).last_hidden_state
    torch.testing.assert_close(ours, without, rtol=1e-4, atol=1e-4)
    assert len(changed(before, model)) == 1 and not torch.allclose(ours, plain, atol=1e-3)
    reinitialise_head_output(model, 2, 3, seed=1)
    assert output_columns(model, 2, 3, "it").abs().max() > 0.03


@families
@torch.no_grad()
def test_what_a_head_moves_adds_up_to_the_output_of_the_projection(kind):
    """sum over heads and tokens of alpha f, and the bias (Kobayashi et al. 2020, equation 4)."""
    model, inputs = model_of(kind), inputs_of(kind)
    out = layers_of(model)[1].get_submodule(family_of(model).out)
    record, put = Record("maps", "values"), []
    hook = out.register_forward_hook(lambda _, __, found: put.append(found))
    with editing(model, record):
        run(model, **inputs)
    hook.remove()
    put = put[kind == "albert" :]  # whose one projection has been there in layer 1
    maps, values = record.kept["maps"][1], record.kept["values"][1]
    total = sum(
        maps[:, head] @ (values[:, head] @ output_columns(model, 2, head + 1, "it").T)
        for head in range(HEADS)
    )
    bias = 0 if out.bias is None else out.bias
    torch.testing.assert_close(total + bias, put[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", WITHOUT_ALBERT)
@torch.no_grad()
def test_a_restored_layer_is_the_parents(kind):
    model, parent, inputs = model_of(kind), model_of(kind, seed=1), inputs_of(kind)
    by_hand = copy.deepcopy(model)
    layers_of(by_hand)[1].load_state_dict(layers_of(parent)[1].state_dict())
    restored = every_restoration(model, parent)[1]
    layers = Layers(model, **inputs)
    hidden = layers(1, layers.first)
    ours = layers.after(layers(4, layers(3, layers.through(restored.module, restored.layer, hidden))))
    assert torch.equal(ours, run(by_hand, **inputs).last_hidden_state)
    assert not torch.allclose(ours, run(model, **inputs).last_hidden_state, atol=1e-2)


@pytest.mark.parametrize(
    ("kind", "operation", "sentence"),
    [
        ("albert", lambda m: keep_layers(m, 2), "keep2 is not possible: this albert model runs one layer 4 times; name"),
        ("albert", lambda m: freeze(m, 1), "freeze1 is not possible: this albert model runs one layer 4 times"),
        ("albert", lambda m: reinitialise_layers(m, 2), "re-initialising layers 2 and up is not possible: this albert"),
        ("albert", lambda m: reinitialise_head(m, 2, 1), "re-initialising one head is not possible: this albert"),
        ("albert", lambda m: reinitialise_head_output(m, 2, 1), "re-initialising one head's output is not possible: this"),
        ("albert", lambda m: every_restoration(m, m), "restoring one layer is not possible: this albert"),
        ("llama", lambda m: reinitialise_head(m, 2, 1), "in this llama model one head's keys and values serve others"),
        ("qwen3", lambda m: reinitialise_head(m, 2, 1), "in this qwen3 model one head's keys and values serve others"),
        ("olmo2", lambda m: reinitialise_head(m, 2, 1), "a norm over all heads of this olmo2 model would change the"),
        ("opt", lambda m: reinitialise_head(m, 2, 1), "which weights of a opt model belong to a head is not known"),
        ("gpt2", reinitialise_pooler, "a gpt2 model has no pooler to draw anew; leave the p out of the name"),
        ("llama", lambda m: SpanClassifier(m), "answering questions by spans needs an encoder: in a llama model a word"),
        ("phi3", lambda m: TokenClassifier(m, "ab"), "tagging words needs an encoder: in a phi3 model a word has not"),
        ("gpt2", lambda m: DependencyParser(m, "ab"), "parsing needs an encoder: in a gpt2 model a word has not read"),
    ],
)  # fmt: skip
def test_what_a_family_cannot_do_is_a_sentence(kind, operation, sentence):
    model = model_of(kind)
    before = copied(model)
    with pytest.raises(UserError, match=sentence):
        operation(model)
    assert not changed(before, model) and model.config.num_hidden_layers == LAYERS
    assert all(weight.requires_grad for weight in model.parameters())


@families
@torch.no_grad()
def test_what_is_saved_comes_back(kind, tmp_path):
    encoder, inputs, tokenizer = model_of(kind), inputs_of(kind), tokenizer_of(kind)
    first = torch.tensor([[1, 3, 4], [1, 2, -1]])
    models = {"classifier": SequenceClassifier(encoder, 3, seed=1)}
    if not family_of(encoder).causal:
        models |= {
            "spans": SpanClassifier(encoder, seed=1),
            "tags": TokenClassifier(encoder, ("X", "Y"), seed=1),
            "parser": DependencyParser(encoder, ("X", "Y"), seed=1),
        }
    read(encoder, **inputs)  # whatever is asked of a model leaves no trace in its config.json
    for name, model in models.items():
        more = {"first": first} if name in ("tags", "parser") else {}
        save_model(tmp_path / name, model.eval(), tokenizer)
        again = load_task_model(tmp_path / name)
        assert type(again) is type(model) and again.outputs == model.outputs
        assert again.encoder.dtype == torch.float32
        again.encoder.set_attn_implementation("eager")
        assert torch.equal(again(**inputs, **more), model(**inputs, **more))
    save_model(tmp_path / "bare", encoder, tokenizer)
    for folder in ("bare", *models):
        again = load_encoder(tmp_path / folder)
        again.set_attn_implementation("eager")
        assert torch.equal(run(again, **inputs).last_hidden_state, run(encoder, **inputs).last_hidden_state)
        assert longest_input(again) == longest_input(encoder)


@families
@torch.no_grad()
def test_inputs_may_be_as_long_as_is_said_and_padding_changes_nothing(kind):
    model = model_of(kind)
    pad, longest = tokenizer_of(kind).pad_token_id, longest_input(model)
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(10, 500, (2, longest), generator=generator)
    alone = run(model, ids[:1]).last_hidden_state
    mask = torch.ones_like(ids)
    ids[1, 5:], mask[1, 5:] = pad, 0
    together = run(model, ids, mask).last_hidden_state
    torch.testing.assert_close(together[:1], alone, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        together[1:, :5], run(model, ids[1:, :5]).last_hidden_state, rtol=1e-4, atol=1e-4
    )
    pooled = SequenceClassifier(model, 2).eval()
    torch.testing.assert_close(pooled(input_ids=ids, attention_mask=mask)[1:], pooled(input_ids=ids[1:, :5]),
                               rtol=1e-4, atol=1e-4)  # fmt: skip


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
    ids = torch.randint(10, 500, (3, 9), generator=torch.Generator().manual_seed(1))
    mask = (torch.arange(9) < torch.tensor([[9], [4], [6]])).long()
    expected = theirs(input_ids=ids, attention_mask=mask).logits
    torch.testing.assert_close(ours(input_ids=ids, attention_mask=mask), expected)


@families
def test_the_check_passes_what_is_seen_right(kind, tmp_path):
    model = model_of(kind)
    check(model, tmp_path)
    assert model.config._attn_implementation == "eager"


def test_the_check_refuses_what_is_seen_wrong(tmp_path, monkeypatch):
    def refused(model, words):
        with pytest.raises(UserError, match=rf"{tmp_path.name}: {words}.*name another model"):
            check(model, tmp_path)
        assert model.config._attn_implementation == "eager"

    refused(model_of("gemma2"), "its attention is not computed as expected")

    def blind(module, query, key, value, mask, *more, **named):
        return attend(module, query, key, value, None, *more, **named)

    attend = attention.attend
    theirs = copy.deepcopy(model_of("bert"))
    with monkeypatch.context() as patched:
        patched.setitem(attention.AttentionInterface._global_mapping, attention.NAME, blind)
        refused(model_of("bert"), "its attention is not computed as expected")
    for layer in layers_of(theirs):
        own = layer.attention.self.forward
        layer.attention.self.forward = lambda hidden, own=own, **named: own(
            hidden, **named | {"attention_mask": None}
        )
    refused(theirs, "padding takes part in its attention")
    scaled = model_of("bert")
    scaled.encoder.layer[2].attention.output.dense.register_forward_pre_hook(
        lambda _, given: (given[0] * 1.01,)
    )
    refused(scaled, "what its heads put out does not reach the output projection alone")
    twice = model_of("roberta")
    own = twice.encoder.layer[0].attention.forward
    twice.encoder.layer[0].attention.forward = lambda *given, **named: (
        own(*given, **named),
        own(*given, **named),
    )[0]
    refused(twice, "attention is seen 5 times in 4 layers")


SAME_WEIGHTS = ("bert", "ernie", "data2vec-text", "splinter", "roberta", "camembert", "xlm-roberta")


@pytest.mark.parametrize("kind", SAME_WEIGHTS)
@torch.no_grad()
def test_a_bert_under_the_name_of_another_family_reads_what_transformers_gives_it(kind, tmp_path):
    save_model(
        tmp_path / "bert", model_of("bert", vocab_size=len(tokenizer_of("bert"))), tokenizer_of("bert")
    )
    config = json.loads((tmp_path / "bert/config.json").read_text()) | {"model_type": kind, "pad_token_id": 1}
    (tmp_path / "bert/config.json").write_text(json.dumps(config))
    import_checkpoint(tmp_path / "bert", tmp_path / "run")
    ours, theirs = load_encoder(tmp_path / "run"), AutoModel.from_pretrained(tmp_path / "bert").eval()
    pair = tokenizer_of("bert")(*TEXTS[:2], return_tensors="pt")
    expected = theirs(**pair).last_hidden_state
    torch.testing.assert_close(run(ours, **pair).last_hidden_state, expected, rtol=1e-4, atol=1e-4)
    longest = torch.full((1, longest_input(ours)), 7)
    assert run(ours, longest).last_hidden_state.isfinite().all()
    with pytest.raises((IndexError, RuntimeError)):
        theirs(torch.full((1, longest_input(ours) + 1), 7))


@pytest.mark.parametrize("kind", ["bert", "ernie", "roberta"])
@torch.no_grad()
def test_types_that_a_tokenizer_does_not_give_are_not_read(kind, tmp_path):
    """RobertaConfig has two types of tokens unless told otherwise, and its tokenizer one."""
    tokenizer = tokenizer_of("roberta")
    model = model_of(kind, vocab_size=len(tokenizer), type_vocab_size=2)
    save_model(tmp_path / "given", model, tokenizer)
    import_checkpoint(tmp_path / "given", tmp_path / "run")
    ids = torch.tensor([[5, 6, 7, 8]])
    ours = run(load_encoder(tmp_path / "run"), ids, token_type_ids=torch.tensor([[0, 0, 1, 1]]))
    torch.testing.assert_close(ours.last_hidden_state, model(ids).last_hidden_state, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_pairs_are_refused_where_it_is_not_known_how_a_model_reads_them():
    model, types = model_of("ernie"), torch.tensor([[0, 0, 1, 1]])
    own = model.embeddings.forward
    model.embeddings.forward = lambda **given: own(
        **given | {"token_type_ids": None if given["token_type_ids"] is None else 1 * given["token_type_ids"]}
    )
    run(model, types, token_type_ids=0 * types)
    with pytest.raises(UserError, match="how a ernie model reads which text a token is of is not known"):
        run(model, types, token_type_ids=types)


@pytest.mark.parametrize(
    ("kind", "why"),
    [("falcon", "their attention cannot be recorded"), ("bros", "one does not run on words alone")],
)
def test_a_family_that_cannot_be_explored_is_a_sentence(kind, why):
    with pytest.raises(UserError, match=f"'{kind}' models are not known here.* {why}"):
        read(model_of(kind), **inputs_of(kind))


def test_the_page_of_families_says_what_can_be_done():
    assert (ROOT / "docs/families.md").read_text(encoding="utf-8") == page()
