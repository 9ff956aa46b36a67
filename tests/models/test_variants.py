import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from bertshift.errors import UserError
from bertshift.models.freeze import freeze
from bertshift.models.reinitialise import randomise, reinitialise_head, reinitialise_layers
from bertshift.models.truncate import keep_layers
from bertshift.models.variants import apply_variants
from bertshift.naming import Variant, parse_variant

torch.set_num_threads(1)
IDS = torch.tensor([[2, 5, 6, 7, 3]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 64}
    model = BertModel(BertConfig(vocab_size=50, max_position_embeddings=16, **sizes)).eval()
    for part in model.modules():  # nothing may already look initialised
        if isinstance(part, nn.LayerNorm):
            part.weight.data.normal_()
        if getattr(part, "bias", None) is not None:
            part.bias.data.normal_()
    return model


def copy(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def changed(before, model):
    return {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}


def test_randomise_draws_everything_untruncated(model):
    before = copy(model)
    randomise(model, 1)
    assert changed(before, model) == {name for name, _ in model.named_parameters()}
    for name, weight in model.named_parameters():
        if "LayerNorm.weight" in name:
            assert torch.all(weight == 1)
        elif name.endswith("bias"):
            assert torch.all(weight == 0)
    weights = torch.cat([p.flatten() for n, p in model.named_parameters() if p.dim() == 2])
    assert weights.std().item() == pytest.approx(0.02, rel=0.02) and weights.abs().max() > 0.06


@pytest.mark.parametrize(
    ("scheme", "deviation", "bound"),
    [("A", 0.0176, 0.04), ("B", 0.01155, 0.02), ("C", 0.00023, 0.0004), ("D", 0.00046, 0.0008)],
)
def test_reinitialised_layers_follow_their_scheme(model, scheme, deviation, bound):
    before = copy(model)
    reinitialise_layers(model, 3, scheme, seed=1)
    upper = {
        name
        for name, _ in model.named_parameters()
        if name.startswith(("encoder.layer.2.", "encoder.layer.3."))
    }
    assert changed(before, model) == upper and len(upper) == 32
    weights = torch.cat([p.flatten() for n, p in model.named_parameters() if n in upper and p.dim() == 2])
    assert weights.std().item() == pytest.approx(deviation, rel=0.03) and weights.abs().max() <= bound


def test_a_layers_draw_does_not_depend_on_the_first(model):
    reinitialise_layers(model, 3, seed=1)
    before = copy(model)
    reinitialise_layers(model, 4, seed=1)
    assert not changed(before, model)
    reinitialise_layers(model, 5, seed=2)
    assert not changed(before, model)
    reinitialise_layers(model, 4, seed=2)
    assert len(changed(before, model)) == 6  # the weights; the rest is constant


def test_reinitialised_head_touches_its_rows_alone(model):
    before = copy(model)
    reinitialise_head(model, layer=2, head=3, seed=1)
    prefix = "encoder.layer.1.attention.self."
    names = {f"{prefix}{part}.{kind}" for part in ("query", "key", "value") for kind in ("weight", "bias")}
    assert changed(before, model) == names
    for name in names:
        rows = (model.state_dict()[name] != before[name]).reshape(32, -1)
        assert rows[16:24].all() and not rows[:16].any() and not rows[24:].any()
        assert model.state_dict()[name][16:24].abs().max() <= (0 if name.endswith("bias") else 0.04)


def test_frozen_parameters_survive_training_bit_for_bit(model):
    freeze(model, 1)
    before = copy(model)
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        model(IDS).pooler_output.sum().backward()
        optimizer.step()
    frozen = {
        name for name in before if name.startswith(("embeddings.", "encoder.layer.0.", "encoder.layer.1."))
    }
    assert changed(before, model) == before.keys() - frozen
    assert {name for name, p in model.named_parameters() if not p.requires_grad} == frozen


def test_freezing_stops_where_it_says(model):
    freeze(model, -1)
    assert all(p.requires_grad for p in model.parameters())
    freeze(model, "E")
    assert {n.split(".")[0] for n, p in model.named_parameters() if not p.requires_grad} == {"embeddings"}
    freeze(model, 3)
    assert {n.split(".")[0] for n, p in model.named_parameters() if p.requires_grad} == {"pooler"}


@torch.no_grad()
def test_truncation_reads_the_layer_that_is_now_last(model):
    full = model(IDS, output_hidden_states=True)
    keep_layers(model, 4)
    assert torch.equal(model(IDS).pooler_output, full.pooler_output)
    for k in (2, 0):
        keep_layers(model, k)
        assert torch.equal(model(IDS).last_hidden_state, full.hidden_states[k])
        assert model.config.num_hidden_layers == k and model(IDS).pooler_output.shape == (1, 32)


def test_variants_of_a_name_are_applied(model):
    before = copy(model)
    apply_variants(model, [Variant("bertadam", "bertadam"), Variant("carry", "carry")], seed=1)
    assert not changed(before, model)
    apply_variants(model, [parse_variant("reinitL1H2d"), parse_variant("freezeE")], seed=1)
    assert model.encoder.layer[0].attention.self.key.weight[8:16].abs().max() <= 0.0008
    assert not model.embeddings.word_embeddings.weight.requires_grad
    apply_variants(model, [Variant("keep", "keep1", (("layers", "1"),))], seed=1)
    assert len(model.encoder.layer) == 1


def test_pooler_and_output_columns_are_drawn_only_where_the_name_says_so(model):
    before = copy(model)
    apply_variants(model, [parse_variant("reinit5dp")], seed=1)
    assert changed(before, model) == {"pooler.dense.weight", "pooler.dense.bias"}
    assert model.pooler.dense.weight.abs().max() <= 0.0008
    apply_variants(model, [parse_variant("reinitL2H3")], seed=1)
    before, output = copy(model), "encoder.layer.1.attention.output.dense.weight"
    apply_variants(model, [parse_variant("reinitL2H3o")], seed=1)
    assert changed(before, model) == {output}
    columns = (model.state_dict()[output] != before[output]).all(0)
    assert columns.nonzero().flatten().tolist() == list(range(16, 24))


def test_layers_that_do_not_exist_are_refused(model):
    for call in (
        lambda: reinitialise_layers(model, 0),
        lambda: reinitialise_layers(model, 6),
        lambda: reinitialise_head(model, 5, 1),
        lambda: reinitialise_head(model, 1, 5),
        lambda: freeze(model, 4),
        lambda: keep_layers(model, 5),
        lambda: reinitialise_layers(model, 1, "E"),
    ):
        with pytest.raises(UserError):
            call()
