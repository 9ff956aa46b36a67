import pytest
import torch
from disabling import disabled
from torch import nn
from transformers import BertConfig, BertModel

from bertshift.models.ablate import NOTHING, Ablation, averaging, every_ablation

torch.set_num_threads(1)
IDS = torch.tensor([[2, 5, 6, 7, 9, 8, 3], [2, 11, 12, 3, 0, 0, 0]])
MASK = (IDS != 0).long()
ALL = [
    Ablation(variant, layer, head)
    for variant in ("uniform", "zero", "mean")
    for layer in (1, 3)
    for head in (0, 2)
]


@pytest.fixture(params=["eager", "sdpa"])
def bert(request):
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
    config = BertConfig(vocab_size=20, max_position_embeddings=16, initializer_range=0.5, **sizes)
    config._attn_implementation = request.param
    model = BertModel(config).eval()
    for part in model.modules():
        if getattr(part, "bias", None) is not None:
            nn.init.normal_(part.bias)
    return model


@torch.no_grad()
def states(bert, ids=IDS, mask=MASK):
    return bert(ids, mask).last_hidden_state


def with_contexts(bert, layer, change):
    """The model by hand: `change` is applied to the contexts [examples, tokens, width] of one layer."""
    dense = bert.encoder.layer[layer - 1].attention.output.dense
    hook = dense.register_forward_pre_hook(lambda _, inputs: (change(inputs[0].clone()),))
    try:
        return states(bert)
    finally:
        hook.remove()


def replaced(head, value):
    def change(contexts):
        contexts[..., slice(8 * (head - 1), 8 * head) if head else slice(None)] = value
        return contexts

    return change


@torch.no_grad()
def test_uniform_is_one_over_the_real_tokens_and_nothing_of_padding(bert):
    bert.set_attn_implementation("eager")
    plain = bert(IDS, MASK, output_attentions=True).attentions
    for head in (0, 2):
        with disabled(bert, Ablation("uniform", 2, head)):
            maps = bert(IDS, MASK, output_attentions=True).attentions
        changed = range(4) if head == 0 else [1]
        for example, real in enumerate((7, 4)):
            flat = maps[1][example, changed]
            assert torch.equal(flat[..., :real], torch.full_like(flat[..., :real], 1 / real))
            assert torch.equal(flat[..., real:], torch.zeros_like(flat[..., real:]))
        others = [each for each in range(4) if each not in changed]
        assert torch.equal(maps[0], plain[0]) and torch.equal(maps[1][:, others], plain[1][:, others])
        assert not torch.allclose(maps[2], plain[2], atol=1e-3)  # the ablation reaches the next layer


@pytest.mark.parametrize("head", [0, 1, 4])
def test_zero_is_a_forward_pass_without_the_head(bert, head):
    with disabled(bert, Ablation("zero", 2, head)):
        ours = states(bert)
    assert torch.allclose(ours, with_contexts(bert, 2, replaced(head, 0.0)), atol=1e-6)
    assert not torch.allclose(ours, states(bert), atol=1e-2)


@pytest.mark.parametrize("head", [0, 3])
def test_mean_puts_the_average_of_all_real_tokens_everywhere(bert, head):
    seen = []
    inputs = [(IDS, MASK), (IDS[1:, :4], None)]
    with averaging(bert) as means:
        for ids, mask in inputs:
            states(bert, ids, mask)
    hook = bert.encoder.layer[1].attention.output.dense.register_forward_pre_hook(
        lambda _, i: seen.append(i[0])
    )
    for ids, mask in inputs:
        states(bert, ids, mask)
    hook.remove()
    real = torch.cat([seen[0][MASK.bool()], seen[1].flatten(0, 1)])
    assert torch.allclose(means[1].flatten(), real.double().mean(0), atol=1e-6)
    part = slice(8 * (head - 1), 8 * head) if head else slice(None)
    with disabled(bert, Ablation("mean", 2, head), means):
        ours = states(bert)
    assert torch.allclose(
        ours, with_contexts(bert, 2, replaced(head, means[1].flatten()[part].float())), atol=1e-5
    )


@pytest.mark.parametrize("ablation", ALL)
def test_afterwards_every_weight_is_the_same_to_the_bit(bert, ablation):
    before = {name: value.clone() for name, value in bert.state_dict().items()}
    plain = states(bert)
    with averaging(bert) as means:
        states(bert)
    with pytest.raises(KeyboardInterrupt), disabled(bert, ablation, means):
        assert not torch.equal(states(bert), plain)
        raise KeyboardInterrupt
    assert all(torch.equal(value, before[name]) for name, value in bert.state_dict().items())
    assert torch.equal(states(bert), plain) and all(weight.requires_grad for weight in bert.parameters())


def test_every_head_and_layer_is_disabled_once_in_each_way(bert):
    ablations = every_ablation(bert)
    assert len(set(ablations)) == len(ablations) == 3 * 3 * 5 and NOTHING not in ablations
    assert {(one.layer, one.head) for one in ablations} == {(k, h) for k in (1, 2, 3) for h in range(5)}
    plain = states(bert)
    with disabled(bert, NOTHING):
        assert torch.equal(states(bert), plain)
