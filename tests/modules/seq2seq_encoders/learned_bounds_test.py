"""`learned_bounds` of `neural_easy_first`: how much attention a word may get, learned from its state."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    SoftmaxTransform,
)
from tests.modules.seq2seq_encoders.small_encoder import UPDATES, batch_of, make

both_updates = pytest.mark.parametrize("update", UPDATES)
both_transforms = pytest.mark.parametrize(
    "transform", [ConstrainedSoftmaxTransform, ConstrainedSparsemaxTransform]
)


def with_learned_bounds(dtype=torch.float32, **options):
    """A small encoder whose bounds differ from word to word."""
    encoder = make(num_steps="length", learned_bounds=True, dtype=dtype, **options)
    with torch.no_grad():
        encoder.bounds.weight.normal_()
        encoder.bounds.bias.fill_(0.3)
    return encoder


@both_updates
@both_transforms
def test_they_begin_as_the_constant_bound(update, transform):
    options = {"sketch_update": update, "num_steps": "length"}
    inputs, mask = batch_of([6, 3])
    constant = make(attention=transform(upper_bound=0.7), **options)
    learned = make(attention=transform(upper_bound=0.7), learned_bounds=True, **options)
    assert not learned.bounds.weight.any() and not learned.bounds.bias.any()
    learned.load_state_dict({**learned.state_dict(), **constant.state_dict()})
    torch.testing.assert_close(learned(inputs, mask), constant(inputs, mask))


@both_updates
@both_transforms
def test_a_word_gets_what_its_state_allows(update, transform):
    encoder = with_learned_bounds(sketch_update=update, attention=transform())
    inputs, mask = batch_of([7, 4])
    attention = encoder.encode(inputs, mask, trace=True)[1].attention.detach()
    weight = encoder.bounds.weight.detach()[0]
    bounds = 2 * torch.sigmoid(inputs.matmul(weight) + 0.3)
    totals = attention.sum(1)
    assert (totals <= bounds * mask + 1e-5).all()
    # A step has an attention of 1 until what is left is less.
    for sentence, length in zip(range(2), (7, 4)):
        left = bounds[sentence, :length].sum()
        for step in range(length):
            assert attention[sentence, step].sum() == pytest.approx(min(1, float(left)), abs=1e-4)
            left = (left - 1).clamp(min=0)


@both_updates
def test_gradients_are_those_of_finite_differences(update):
    encoder = with_learned_bounds(torch.float64, sketch_update=update)
    inputs, mask = batch_of([5, 2], torch.float64)

    arguments = inputs.requires_grad_(), *encoder.bounds.parameters()
    assert torch.autograd.gradcheck(lambda *_: encoder(inputs, mask), arguments)


def test_only_attention_with_bounds_has_them():
    with pytest.raises(ConfigurationError, match="learned_bounds: expected .*, got softmax"):
        make(attention=SoftmaxTransform(), learned_bounds=True)
