import torch

from allennlp_nef.nn.util import zero_padding


def test_padding_becomes_0_and_has_no_gradient():
    values = torch.randn(3, 4, 2, dtype=torch.double)
    mask = torch.tensor([[1, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
    values[~mask] = float("nan")
    result = zero_padding(values.requires_grad_(), mask)
    assert torch.equal(result[mask], values[mask]) and (result[~mask] == 0).all()
    (result * 3).sum().backward()
    assert torch.equal(values.grad, mask.unsqueeze(-1).expand_as(values) * 3.0)
