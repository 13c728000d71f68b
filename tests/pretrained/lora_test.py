"""Low-rank updates of linear layers."""

import torch

from allennlp_nef.pretrained.lora import LowRankLinear, add_lora, merge_lora


def adapted(*layers, rank, alpha):
    """A module of layers with updates that change their outputs."""
    module = torch.nn.Sequential(*layers)
    add_lora(module, rank, alpha)
    for layer in module.modules():
        if isinstance(layer, LowRankLinear):
            torch.nn.init.normal_(layer.up)
    return module


def test_an_update_is_a_product_of_low_rank():
    linear, inputs = torch.nn.Linear(5, 3), torch.randn(2, 4, 5)
    (layer,) = adapted(linear, rank=2, alpha=8)
    weight = linear.weight + 4 * layer.up @ layer.down
    expected = torch.nn.functional.linear(inputs, weight, linear.bias)
    torch.testing.assert_close(layer(inputs), expected)
    assert layer.up.shape == (3, 2) and layer.down.shape == (2, 5)


def test_initially_nothing_changes():
    layers, inputs = torch.nn.Sequential(torch.nn.Linear(5, 3, bias=False)), torch.randn(4, 5)
    expected = layers(inputs)
    add_lora(layers, rank=2, alpha=8)
    torch.testing.assert_close(layers(inputs), expected)


def test_merged_layers_are_ordinary_and_compute_the_same():
    inner = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(4, 2, bias=False))
    layers, inputs = adapted(torch.nn.Linear(4, 4), inner, rank=2, alpha=1), torch.randn(3, 4)
    expected = layers.eval()(inputs)
    merge_lora(layers)
    torch.testing.assert_close(layers(inputs), expected)
    assert type(layers[0]) is type(layers[1][1]) is torch.nn.Linear
    assert not any(module.training for module in layers.modules())


def test_only_updates_have_gradients():
    (layer,) = adapted(torch.nn.Linear(6, 5), rank=2, alpha=3)
    layer, inputs = layer.double(), torch.randn(2, 6, dtype=torch.double)
    assert {name for name, each in layer.named_parameters() if each.requires_grad} == {"down", "up"}
    torch.autograd.gradcheck(lambda *_: layer(inputs), (layer.down, layer.up))
