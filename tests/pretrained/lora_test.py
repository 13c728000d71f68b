"""Low-rank updates of weights."""

import pytest
import torch
from torch.nn.utils import parametrize

from allennlp_nef.pretrained.lora import LowRankUpdate, add_lora, merge_lora


def update_of(module, name):
    """The update of a weight, with values that change it."""
    update = module.parametrizations[name][0]
    torch.nn.init.normal_(update.up)
    return update


def test_an_update_is_a_product_of_low_rank():
    layer = torch.nn.Sequential(torch.nn.Linear(5, 3))
    weight = layer[0].weight.detach().clone()
    add_lora(layer, rank=2, alpha=8)
    assert torch.equal(layer[0].weight, weight)
    update = update_of(layer[0], "weight")
    torch.testing.assert_close(layer[0].weight, weight + 4 * update.up[0] @ update.down[0])


def test_queries_keys_and_values_have_updates_of_their_own():
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
    before = attention.in_proj_weight.detach().clone().split(4)
    add_lora(attention, rank=1, alpha=3)
    update = update_of(attention, "in_proj_weight")
    for part, weight, up, down in zip(
        attention.in_proj_weight.split(4), before, update.up, update.down
    ):
        torch.testing.assert_close(part, weight + 3 * up @ down)
    assert parametrize.is_parametrized(attention.out_proj, "weight")


def test_merging_leaves_ordinary_weights_and_other_parametrizations():
    layers = torch.nn.Sequential(torch.nn.MultiheadAttention(4, 2), torch.nn.Linear(4, 3))
    add_lora(layers, rank=2, alpha=1)
    layers.append(torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2)))
    update_of(layers[1], "weight")
    expected = layers[1].weight.detach().clone()
    merge_lora(layers)
    assert torch.equal(layers[1].weight, expected) and type(layers[1]) is torch.nn.Linear
    assert not any(isinstance(module, LowRankUpdate) for module in layers.modules())
    assert parametrize.is_parametrized(layers[2])


@pytest.mark.parametrize("parts", [1, 3])
def test_gradients_of_an_update(parts):
    update = LowRankUpdate(torch.empty(6, 5), rank=2, alpha=3, parts=parts).double()
    torch.nn.init.normal_(update.up)
    weight = torch.randn(6, 5, dtype=torch.double)
    torch.autograd.gradcheck(lambda *_: update(weight), tuple(update.parameters()))
