"""The one pass of an optimizer over each parameter on CPUs."""

import pytest
import torch
from allennlp.common import Params
from allennlp.training.optimizers import Optimizer

from allennlp_nef.training.trainer import fuse_steps


def trained(name: str, fused: bool) -> tuple[torch.Tensor, Optimizer]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3)
    ).double()
    options = Params({"type": name, "lr": 0.1, "weight_decay": 0.01})
    optimizer = Optimizer.from_params(options, model_parameters=list(model.named_parameters()))
    if fused:
        fuse_steps(optimizer, model)
    inputs = torch.randn(4, 5, dtype=torch.double)
    for _ in range(5):
        optimizer.zero_grad()
        model(inputs).square().sum().backward()
        optimizer.step()
    return torch.cat([weight.detach().flatten() for weight in model.parameters()]), optimizer


@pytest.mark.parametrize("name", ["adam", "adamw", "adagrad", "sgd"])
def test_steps_in_one_pass_give_the_same_weights(name: str) -> None:
    weights, optimizer = trained(name, fused=True)
    assert all(group["fused"] for group in optimizer.param_groups)
    torch.testing.assert_close(weights, trained(name, fused=False)[0])


def test_an_optimizer_without_such_steps_is_left_as_it_is() -> None:
    weights, optimizer = trained("rmsprop", fused=True)
    assert "fused" not in optimizer.param_groups[0]
    assert torch.equal(weights, trained("rmsprop", fused=False)[0])


def test_the_choice_of_a_checkpoint_from_a_cpu_does_not_apply_to_another_device() -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adagrad(model.parameters())
    fuse_steps(optimizer, model)
    elsewhere = torch.nn.Linear(2, 2, device="meta")
    other = torch.optim.SGD(elsewhere.parameters())
    other.param_groups[0]["fused"] = optimizer.param_groups[0]["fused"]
    fuse_steps(other, elsewhere)
    assert optimizer.param_groups[0]["fused"] and other.param_groups[0]["fused"] is None


def test_an_optimizer_with_a_choice_of_its_own_keeps_it() -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    fuse_steps(optimizer, model)
    assert not optimizer.param_groups[0]["fused"]


@pytest.mark.filterwarnings("ignore:Sparse invariant")
def test_sparse_gradients_are_not_fused() -> None:
    model = torch.nn.Embedding(4, 3, sparse=True)
    options = Params({"type": "adagrad"})
    optimizer = Optimizer.from_params(options, model_parameters=list(model.named_parameters()))
    fuse_steps(optimizer, model)
    model(torch.tensor([1, 2])).sum().backward()
    optimizer.step()
    assert optimizer.param_groups[0]["fused"] is None
