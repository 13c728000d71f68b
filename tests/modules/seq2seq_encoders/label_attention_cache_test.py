"""The projections of labels, and the weights folded with them, that `label_attention` caches in an evaluation."""

import copy

import pytest
import torch

from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelTable
from tests.modules.seq2seq_encoders.small_label_attention import HIDDEN_DIM, batch_of, make

LABELS = 2
"""Few: weights are folded."""


def update(encoder):
    """A step of training in the mode that the encoder is in."""
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.5)
    with torch.enable_grad():
        encoder(*batch_of([4, 2])).square().sum().backward()
    optimizer.step()


def update_table(encoder):
    optimizer = torch.optim.SGD([encoder.label_table.weight], lr=0.5)
    encoder.label_table.weight.grad = torch.ones_like(encoder.label_table.weight)
    optimizer.step()


def replace_table(encoder):
    encoder.label_table = LabelTable(LABELS, HIDDEN_DIM)


CHANGES = {
    "optimizer": update,
    "optimizer of the table": update_table,
    "another table": replace_table,
    "values": lambda encoder: encoder.layers[0].value_weight.mul_(2),
    "one direction": lambda encoder: encoder.layers[1].lstm.lstm.weight_ih_l0_reverse.mul_(2),
    "load_state_dict": lambda encoder: encoder.load_state_dict(
        make(1, num_labels=LABELS, num_layers=2).state_dict()
    ),
    "double": lambda encoder: encoder.double(),
    "bfloat16": lambda encoder: encoder.bfloat16(),
}


@pytest.fixture
def encoder():
    return make(num_labels=LABELS, num_layers=2).eval()


@pytest.mark.parametrize("change", sorted(CHANGES))
@torch.no_grad()
def test_changed_weights_change_the_output(encoder, change):
    before = encoder(*batch_of([5, 3]))
    CHANGES[change](encoder)
    inputs, mask = batch_of([5, 3], encoder.layers[0].value_weight.dtype)
    found = encoder(inputs, mask)
    assert not torch.equal(found.float(), before)
    fresh = copy.deepcopy(encoder).train().eval()
    assert torch.equal(found, fresh(inputs, mask))


@pytest.mark.parametrize("mode", [True, False])
@torch.no_grad()
def test_cache_is_cleared_by_train_and_eval(encoder, mode):
    """So a change through `.data`, such as that of AllenNLP's moving averages, is noticed."""
    before = encoder(*batch_of([5, 3]))
    encoder.label_table.weight.data.mul_(3)
    assert torch.equal(encoder(*batch_of([5, 3])), before)
    encoder.train(mode).eval()
    assert not torch.allclose(encoder(*batch_of([5, 3])), before)


@torch.no_grad()
def test_output_is_that_of_the_table_in_place(encoder):
    """Also where another one was changed as often."""
    tables = [copy.deepcopy(encoder.label_table) for _ in range(2)]
    tables[1].weight.data.mul_(3)
    found = []
    for encoder.label_table in (*tables, *tables):
        found.append(encoder(*batch_of([5, 3])))
    assert torch.equal(found[0], found[2]) and torch.equal(found[1], found[3])
    assert not torch.allclose(found[0], found[1])


@torch.no_grad()
def test_new_tables_are_noticed_at_the_address_of_old_ones(encoder):
    for _ in range(8):
        encoder.label_table = LabelTable(LABELS, HIDDEN_DIM)
        encoder.label_table.weight.normal_()
        found = encoder(*batch_of([5, 3]))
        encoder.train().eval()
        assert torch.equal(found, encoder(*batch_of([5, 3])))


@pytest.mark.parametrize("mode", [False, True])
@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_gradients_reach_the_labels_after_an_evaluation(encoder, context, mode):
    with context():
        expected = encoder(*batch_of([5, 3]))
    output = encoder.train(mode)(*batch_of([5, 3]))
    torch.testing.assert_close(output, expected.clone())
    output.sum().backward()
    assert all(p.grad is not None for p in encoder.parameters())


def test_encoder_made_in_inference_mode_notices_changes():
    with torch.inference_mode():
        encoder = make().eval()
        before = encoder(*batch_of([5, 3]))
        encoder.label_table.weight.mul_(3)
        assert not torch.allclose(before, encoder(*batch_of([5, 3])))


@torch.no_grad()
def test_copy_has_a_cache_of_its_own(encoder):
    before = encoder(*batch_of([5, 3]))
    other = copy.deepcopy(encoder)
    other.label_table.weight.mul_(3)
    assert not torch.allclose(other(*batch_of([5, 3])), before)
    assert torch.equal(encoder(*batch_of([5, 3])), before)
