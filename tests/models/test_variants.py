import pytest
import torch
from made_encoders import changed, copied, inputs_of, model_of

from bertshift.errors import UserError
from bertshift.models.family import family_of
from bertshift.models.freeze import freeze
from bertshift.models.reinitialise import randomise, reinitialise_head, reinitialise_layers
from bertshift.models.truncate import keep_layers
from bertshift.models.variants import apply_variants
from bertshift.naming import Variant, parse_variant


@pytest.fixture
def model():
    """A BERT with 4 layers of 4 heads and width 32, whose weights do not look initialised."""
    return model_of("bert")


def matrices(model, names):
    return torch.cat(
        [w.flatten() for n, w in model.named_parameters() if n in names and w.dim() == 2]
    )


def test_randomise_draws_every_weight_untruncated(model):
    before = copied(model)
    randomise(model, 1)
    assert changed(before, model) == before.keys()
    for name, weight in model.named_parameters():
        assert weight.dim() > 1 or (weight == float("LayerNorm.weight" in name)).all()
    weights = matrices(model, before)
    assert weights.std().item() == pytest.approx(0.02, rel=0.02) and weights.abs().max() > 0.06


@pytest.mark.parametrize(
    ("kind", "scheme", "deviation", "bound"),
    [
        ("bert", "A", 0.0176, 0.04),
        ("distilbert", "B", 0.01155, 0.02),
        ("deberta-v2", "C", 0.00023, 0.0004),
        ("modernbert", "D", 0.00046, 0.0008),
        ("gpt2", "A", 0.0176, 0.04),
        ("llama", "A", 0.0176, 0.04),
        ("nomic_bert", "A", 0.0176, 0.04),
    ],
)
def test_reinitialised_layers_follow_their_scheme_and_leave_the_others(
    kind, scheme, deviation, bound
):
    model = model_of(kind)
    before, family = copied(model), family_of(model)
    reinitialise_layers(model, 3, scheme, seed=1)
    upper = {name for name in before if family.group(name) in ("3", "4")}
    assert changed(before, model) == upper
    weights = matrices(model, upper)
    assert weights.std().item() == pytest.approx(deviation, rel=0.03)
    assert weights.abs().max() <= bound
    for name in upper:
        weight = model.state_dict()[name]
        assert weight.dim() > 1 or (weight == float(name.endswith("weight"))).all(), name


def test_a_layers_draw_does_not_depend_on_the_first(model):
    reinitialise_layers(model, 3, seed=1)
    before = copied(model)
    reinitialise_layers(model, 4, seed=1)
    reinitialise_layers(model, 5, seed=2)
    assert not changed(before, model)
    reinitialise_layers(model, 4, seed=2)
    assert len(changed(before, model)) == 6  # the weights; the rest is constant


@pytest.mark.parametrize(("through", "frozen"), [("E", "E"), (1, "E12"), (3, "E1234")])
def test_frozen_parts_survive_training_bit_for_bit(model, through, frozen):
    freeze(model, through)
    before, family = copied(model), family_of(model)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.1)
    model(**inputs_of("bert")).pooler_output.sum().backward()
    optimizer.step()
    groups = ["embeddings" if part == "E" else part for part in frozen]
    trained = {name for name in before if family.group(name) not in groups}
    assert changed(before, model) == trained


def test_variants_of_a_name_are_applied(model):
    before = copied(model)
    apply_variants(model, [Variant("bertadam", "bertadam"), Variant("carry", "carry")], seed=1)
    assert not changed(before, model)
    apply_variants(model, [parse_variant("reinit5dp")], seed=1)
    assert changed(before, model) == {"pooler.dense.weight", "pooler.dense.bias"}
    assert model.pooler.dense.weight.abs().max() <= 0.0008
    apply_variants(model, [parse_variant("freezeE")], seed=1)
    assert not model.embeddings.word_embeddings.weight.requires_grad
    apply_variants(model, [Variant("keep", "keep2", (("layers", "2"),))], seed=1)
    assert len(model.encoder.layer) == 2


def test_a_heads_columns_are_drawn_only_where_the_name_says_so(model):
    before, prefix = copied(model), "encoder.layer.1.attention."
    apply_variants(model, [parse_variant("reinitL2H3")], seed=1)
    assert changed(before, model) == {name for name in before if name.startswith(f"{prefix}self.")}
    output, before = f"{prefix}output.dense.weight", copied(model)
    apply_variants(model, [parse_variant("reinitL2H3o")], seed=1)
    assert changed(before, model) == {output}
    columns = (model.state_dict()[output] != before[output]).all(0)
    assert columns.nonzero().flatten().tolist() == list(range(16, 24))


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        (reinitialise_layers, (0,)),
        (reinitialise_layers, (6,)),
        (reinitialise_head, (5, 1)),
        (reinitialise_head, (1, 5)),
        (freeze, (4,)),
        (keep_layers, (5,)),
        (reinitialise_layers, (1, "E")),
    ],
)
def test_layers_that_do_not_exist_are_refused(model, operation, arguments):
    with pytest.raises(UserError):
        operation(model, *arguments)
