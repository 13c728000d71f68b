"""Both Tree-LSTMs against the recursion of the paper, written node by node."""

import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.tasks.sentence_classes import BinaryTreeLstm, ChildSumTreeLstm

ENCODERS = [ChildSumTreeLstm, BinaryTreeLstm]
HEADS = [[2, 4, 4, 0, 7, 7, 4], [0], [3, 3, 0], [2, 3, 4, 5, 0]]
BINARY = [[3, 3, 5, 5, 0], [0], [2, 0], [5, 4, 4, 5, 0]]
LENGTHS = {ChildSumTreeLstm: HEADS, BinaryTreeLstm: BINARY}


def make(encoder, dtype=torch.double):
    torch.manual_seed(0)
    trees = LENGTHS[encoder]
    count = max(map(len, trees))
    heads = torch.tensor([tree + [9] * (count - len(tree)) for tree in trees])
    mask = torch.tensor([[True] * len(tree) + [False] * (count - len(tree)) for tree in trees])
    inputs = torch.randn(len(trees), count, 3, dtype=dtype).masked_fill(
        ~mask.unsqueeze(-1), math.nan
    )
    return encoder(3, 2).to(dtype), inputs, heads, mask


def plain(module, x, heads, node):
    """The state and the memory of a node, from 0, and those of the nodes below it."""
    children = [k for k, head in enumerate(heads) if head == node + 1]
    below = [plain(module, x, heads, child) for child in children]
    w, b = module.inputs.weight, module.inputs.bias
    i, o, u, f = (w @ x[node] + b).split(2)
    if isinstance(module, ChildSumTreeLstm):
        total = sum((h for h, _ in below), torch.zeros(2, dtype=x.dtype))
        more = (module.sums.weight @ total).split(2)
        forget = [f + module.forget.weight @ h for h, _ in below]
    else:
        pair = [h for h, _ in below] + [torch.zeros(2, dtype=x.dtype)] * (2 - len(below))
        *more, left, right = (module.children_gates.weight @ torch.cat(pair)).split(2)
        forget = [f + left, f + right]
    i, o, u = i + more[0], o + more[1], u + more[2]
    c = torch.sigmoid(i) * torch.tanh(u)
    for gate, (_, memory) in zip(forget, below):
        c = c + torch.sigmoid(gate) * memory
    return torch.sigmoid(o) * torch.tanh(c), c


@pytest.mark.parametrize("encoder", ENCODERS)
def test_states_are_those_of_the_recursion(encoder):
    module, inputs, heads, mask = make(encoder)
    states = module(inputs, heads, mask)
    roots = module.root_states(inputs, heads, mask)
    for row, tree in enumerate(LENGTHS[encoder]):
        for node in range(len(tree)):
            expected, _ = plain(module, inputs[row], tree, node)
            torch.testing.assert_close(states[row, node], expected)
        torch.testing.assert_close(roots[row], states[row, tree.index(0)])
        assert (states[row, len(tree) :] == 0).all()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_gradients_are_numerically_right(encoder):
    module, inputs, heads, mask = make(encoder)
    inputs = inputs.nan_to_num().requires_grad_()
    parameters = tuple(module.parameters())
    assert torch.autograd.gradcheck(lambda x, *_: module(x, heads, mask), (inputs, *parameters))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_bfloat16_is_close(encoder):
    module, inputs, heads, mask = make(encoder, torch.float32)
    expected = module(inputs, heads, mask)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = module(inputs, heads, mask)
    torch.testing.assert_close(found.float(), expected, atol=0.05, rtol=0.05)


def test_a_binary_tree_with_three_children_is_an_error():
    heads = torch.tensor([[4, 4, 4, 0, 0]])
    mask = torch.tensor([[True, True, True, True, False]])
    with pytest.raises(ConfigurationError, match="more than two children"):
        BinaryTreeLstm(3, 2)(torch.randn(1, 5, 3), heads, mask)
