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

torch.set_num_threads(1)


@pytest.fixture
def model():
    """A BERT with 4 layers of 4 heads, width 32, in which nothing looks freshly initialised."""
    return model_of("bert")


def drawn(model, names):
    return torch.cat(
        [w.flatten() for n, w in model.named_parameters() if n in names and w.dim() == 2]
    )


def test_randomise_draws_everything_untruncated(model):
    before = copied(model)
    randomise(model, 1)
    names = {name for name, _ in model.named_parameters()}
    assert changed(before, model) == names
    for name, weight in model.named_parameters():
        assert weight.dim() > 1 or (weight == float("LayerNorm.weight" in name)).all()
    weights = drawn(model, names)
    assert weights.std().item() == pytest.approx(0.02, rel=0.02) and weights.abs().max() > 0.06


@pytest.mark.parametrize(
    ("scheme", "deviation", "bound"),
    [("A", 0.0176, 0.04), ("B", 0.01155, 0.02), ("C", 0.00023, 0.0004), ("D", 0.00046, 0.0008)],
)
def test_reinitialised_layers_follow_their_scheme(model, scheme, deviation, bound):
    before = copied(model)
    reinitialise_layers(model, 3, scheme, seed=1)
    names = changed(before, model)
    assert {name.split(".")[2] for name in names} == {"2", "3"} and len(names) == 32
    weights = drawn(model, names)
    assert (
        weights.std().item() == pytest.approx(deviation, rel=0.03) and weights.abs().max() <= bound
    )


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
    before = copied(model)
    groups = ["embeddings" if part == "E" else part for part in frozen]
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.1)
    model(**inputs_of("bert")).pooler_output.sum().backward()
    optimizer.step()
    kept = {name for name in before if family_of(model).group(name) in groups}
    assert changed(before, model) == before.keys() - kept


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
    rows = {name for name in before if name.startswith(f"{prefix}self.")}
    assert changed(before, model) == rows
    output, before = f"{prefix}output.dense.weight", copied(model)
    apply_variants(model, [parse_variant("reinitL2H3o")], seed=1)
    assert changed(before, model) == {output}
    columns = (model.state_dict()[output] != before[output]).all(0)
    assert columns.nonzero().flatten().tolist() == list(range(16, 24))


@pytest.mark.parametrize(
    "operation",
    [
        lambda model: reinitialise_layers(model, 0),
        lambda model: reinitialise_layers(model, 6),
        lambda model: reinitialise_head(model, 5, 1),
        lambda model: reinitialise_head(model, 1, 5),
        lambda model: freeze(model, 4),
        lambda model: keep_layers(model, 5),
        lambda model: reinitialise_layers(model, 1, "E"),
    ],
)
def test_layers_that_do_not_exist_are_refused(model, operation):
    with pytest.raises(UserError):
        operation(model)
