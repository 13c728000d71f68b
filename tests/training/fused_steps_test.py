import copy

import pytest
import torch

from allennlp_nef.training import trainer
from allennlp_nef.training.trainer import fuse_steps

OPTIMIZERS = {
    "Adagrad": {"lr": 0.05, "lr_decay": 0.1, "weight_decay": 0.01, "eps": 1e-8},
    "Adam": {"lr": 0.01, "amsgrad": True},
    "AdamW": {"lr": 0.01},
    "SGD": {"lr": 0.001, "momentum": 0.9, "nesterov": True},
}


def small_model():
    model = torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Linear(4, 3)).double()
    model[1].weight = torch.nn.Parameter(torch.randn(4, 3).double().t())  # rows are not contiguous
    return model


def train(model, optimizer, steps, seed):
    torch.manual_seed(seed)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randint(9, (5, 6))).pow(3).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("name", [*OPTIMIZERS])
def test_same_values_as_the_plain_form(name):
    plain = small_model()
    fused = copy.deepcopy(plain)
    make = getattr(torch.optim, name)
    optimizers = [make(model.parameters(), **OPTIMIZERS[name]) for model in (plain, fused)]
    fuse_steps(optimizers[1], fused)
    assert optimizers[1].param_groups[0]["fused"] is True
    begin = copy.deepcopy(plain)
    for model, optimizer in zip((plain, fused), optimizers):
        train(model, optimizer, 5, seed=1)
    # A checkpoint of the plain form, too, goes on in the fused one.
    optimizers[1].load_state_dict(copy.deepcopy(optimizers[0].state_dict()))
    assert optimizers[1].param_groups[0]["fused"] is None
    fuse_steps(optimizers[1], fused)
    for model, optimizer in zip((plain, fused), optimizers):
        train(model, optimizer, 5, seed=2)
    for first, ours, theirs in zip(*(each.parameters() for each in (begin, fused, plain))):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
        assert not torch.equal(first, ours)


@pytest.mark.filterwarnings("ignore:Sparse invariant")
def test_left_alone_where_torch_has_no_fused_form_or_the_user_has_chosen():
    sparse = torch.nn.Embedding(9, 4, sparse=True)
    model = small_model()
    for owner, optimizer in [
        (sparse, torch.optim.Adagrad(sparse.parameters())),
        (model, torch.optim.Adagrad(model.parameters(), foreach=True)),
        (model, torch.optim.Adagrad(model.parameters(), fused=False)),
        (model, torch.optim.Adadelta(model.parameters())),
    ]:
        fuse_steps(optimizer, owner)
        assert not optimizer.param_groups[0].get("fused")
        train(owner, optimizer, 1, seed=0)
    optimizer = torch.optim.Adagrad(sparse.parameters())
    optimizer.param_groups[0]["fused"] = True  # as a checkpoint of dense gradients would set it
    fuse_steps(optimizer, sparse)
    train(sparse, optimizer, 1, seed=0)


def test_the_trainer_takes_fused_steps(allennlp, monkeypatch, tmp_path):
    seen = []

    def spy(optimizer, model):
        fuse_steps(optimizer, model)
        seen.extend(group["fused"] for group in optimizer.param_groups)

    monkeypatch.setattr(trainer, "fuse_steps", spy)
    overrides = '{"trainer.num_epochs": 1, "dataset_reader.max_instances": 8}'
    allennlp(
        "train", "training_configs/pos_bilstm.jsonnet", "-s", tmp_path / "run", "-o", overrides
    )
    assert seen == [True]
