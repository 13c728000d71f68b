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


def test_only_updates_and_inputs_have_gradients():
    (layer,) = adapted(torch.nn.Linear(6, 5), rank=2, alpha=3)
    layer, inputs = layer.double(), torch.randn(2, 3, 6, dtype=torch.double, requires_grad=True)
    assert {name for name, each in layer.named_parameters() if each.requires_grad} == {"down", "up"}
    torch.autograd.gradcheck(lambda x, *_: layer(x), (inputs, layer.down, layer.up))


def test_autocast_keeps_updates_that_are_too_small_for_bfloat16():
    """Between 1 and 2, the numbers of bfloat16 are 1/128 apart."""
    (layer,) = adapted(torch.nn.Linear(64, 32, bias=False), rank=1, alpha=1)
    torch.nn.init.uniform_(layer.weight, 1.1, 1.9)
    torch.nn.init.constant_(layer.down, 0.1)
    torch.nn.init.constant_(layer.up, 0.01)
    inputs = torch.eye(64, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        output = layer(inputs)
    assert output.dtype == torch.bfloat16
    update = (output.float() - layer.weight.mT).mean()
    torch.testing.assert_close(update, torch.tensor(0.001), atol=3e-4, rtol=0)
    output.sum().backward()
    assert inputs.grad.dtype == layer.up.grad.dtype == torch.float32
    torch.testing.assert_close(layer.up.grad, torch.full((32, 1), 6.4), atol=0.05, rtol=0)
