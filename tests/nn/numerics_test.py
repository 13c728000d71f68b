import torch

from allennlp_nef.nn.numerics import zero_padding


def test_padding_becomes_0_and_has_no_gradient():
    values = torch.randn(3, 4, 2, dtype=torch.double)
    mask = torch.tensor([[1, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
    values[~mask] = float("nan")
    values.requires_grad_()
    result = zero_padding(values.transpose(1, 2).contiguous().transpose(1, 2), mask)
    assert torch.equal(result, torch.where(mask.unsqueeze(-1), values, torch.zeros_like(values)))
    (result * 3).sum().backward()
    assert torch.equal(values.grad, mask.unsqueeze(-1).expand_as(values) * 3.0)


def test_without_padding_nothing_is_copied():
    values = torch.randn(2, 3, 4)
    assert zero_padding(values, torch.ones(2, 3, dtype=torch.bool)) is values
