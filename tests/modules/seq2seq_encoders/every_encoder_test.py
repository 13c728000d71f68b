"""What holds for each encoder with a trace."""

import itertools
import math

import pytest
import torch

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    SoftmaxTransform,
)
from tests.modules.seq2seq_encoders import (
    small_encoder,
    small_label_attention,
    small_self_attention,
)
from tests.modules.seq2seq_encoders.small_encoder import UPDATES


def cases():
    """(module that makes the encoder, its options) by name; transforms are made for each encoder."""
    decoders = [
        *itertools.product(UPDATES, [ConstrainedSoftmaxTransform], [1, 3, "length"]),
        *itertools.product(UPDATES, [SoftmaxTransform, ConstrainedSparsemaxTransform], ["length"]),
    ]
    for update, transform, steps in decoders:
        options = {"sketch_update": update, "attention": transform, "num_steps": steps}
        yield f"{update}-{transform.__name__}-{steps}", (small_encoder, options)
    for attend_last, labels in ((True, 2), (False, 9)):
        options = {"num_layers": 2, "attend_last": attend_last, "num_labels": labels}
        yield f"labels-{attend_last}-{labels}", (small_label_attention, options)
    for mask_self in (True, False):
        yield f"words-{mask_self}", (small_self_attention, {"mask_self": mask_self})


CASES = dict(cases())
# One of each class.
SOME = ["full-ConstrainedSoftmaxTransform-3", "labels-True-2", "words-True"]
every = pytest.mark.parametrize("name", list(CASES))
some = pytest.mark.parametrize("name", SOME)


def make(name, seed=0, **more):
    """The encoder, and its function that makes batches."""
    module, options = CASES[name]
    options = {**options, **more}
    if "attention" in options:
        options["attention"] = options["attention"]()
    return module.make(seed, **options), module.batch_of


def gradients(encoder):
    return {name: p.grad.clone() for name, p in encoder.named_parameters()}


@every
def test_each_sentence_gets_what_it_gets_alone(name):
    encoder, batch_of = make(name)
    lengths = [5, 1, 7, 2]
    inputs, mask = batch_of(lengths, padding=math.nan)
    inputs.requires_grad_()
    weights = torch.randn(7, encoder.get_output_dim(), generator=torch.Generator().manual_seed(9))
    output = encoder(inputs, mask)
    assert (output[~mask] == 0).all()
    (output * weights).sum().backward()
    assert (inputs.grad[~mask] == 0).all()
    together = gradients(encoder)
    encoder.zero_grad()
    for row, length in enumerate(lengths):
        sentence = inputs.detach()[row : row + 1, :length].clone().requires_grad_()
        alone = encoder(sentence, torch.ones(1, length, dtype=torch.bool))
        torch.testing.assert_close(output[row, :length], alone[0], rtol=1e-5, atol=1e-5)
        (alone[0] * weights[:length]).sum().backward()
        torch.testing.assert_close(
            inputs.grad[row, :length], sentence.grad[0], rtol=1e-4, atol=1e-4
        )
    torch.testing.assert_close(gradients(encoder), together, rtol=1e-4, atol=1e-4)


@every
def test_wholly_masked_rows_are_zero_and_have_no_steps(name):
    encoder, batch_of = make(name)
    inputs, mask = batch_of([4, 4])
    inputs[1], mask[1] = math.nan, False
    inputs.requires_grad_()
    output, trace = encoder.encode(inputs, mask, trace=True)
    torch.testing.assert_close(output[:1], encoder(inputs[:1], mask[:1]))
    assert (output[1] == 0).all()
    assert trace.attention is None or (trace.attention[1] == 0).all()
    assert trace.num_steps[1] == 0
    output.sum().backward()
    assert inputs.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())
    assert (encoder(inputs, torch.zeros_like(mask)) == 0).all()
    if not name.startswith("labels"):  # which have LSTMs: torch has none without sentences
        assert encoder(inputs[:0], mask[:0]).shape == (0, 4, encoder.get_output_dim())


@every
def test_every_parameter_has_a_gradient(name):
    """Distributed training waits for the gradient of each, also in a batch of one word."""
    for lengths in ([1], [4, 2]):
        encoder, batch_of = make(name)
        encoder(*batch_of(lengths)).sum().backward()
        assert not [key for key, p in encoder.named_parameters() if p.grad is None]


@every
def test_trace_does_not_change_the_output(name):
    encoder, batch_of = make(name)
    inputs, mask = batch_of([6, 2, 5])
    output, trace = encoder.encode(inputs, mask)
    assert trace is None
    traced, trace = encoder.encode(inputs, mask, trace=True)
    torch.testing.assert_close(traced, output)
    assert trace.num_steps.shape == (3,)


@some
def test_all_is_kept_without_a_mask(name):
    encoder, batch_of = make(name)
    inputs, mask = batch_of([4, 4])
    assert torch.equal(encoder(inputs), encoder(inputs, mask))


@pytest.mark.parametrize("name", [*SOME, "single-ConstrainedSoftmaxTransform-3", "labels-False-9"])
class TestPrecision:
    def make(self, name):
        # Moderate weights: rounding is not amplified.
        encoder, batch_of = make(name, **({"scale": 1.0} if "Softmax" in name else {}))
        return encoder, *batch_of([6, 3])

    @pytest.mark.parametrize("is_trained", [True, False])
    def test_autocast_output_is_close_to_float32(self, name, is_trained):
        encoder, inputs, mask = self.make(name)
        encoder.train(is_trained)
        expected = encoder(inputs, mask)
        with torch.set_grad_enabled(is_trained):
            encoder(inputs, mask)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                output, trace = encoder.encode(inputs, mask, trace=True)
            torch.testing.assert_close(output.float(), expected, rtol=0.2, atol=0.2)
            assert not torch.equal(output.float(), expected)
            assert trace.attention is None or trace.attention.dtype == torch.float32
            # What is cached is not of the other precision.
            torch.testing.assert_close(encoder(inputs, mask), expected)
        if is_trained:
            output.float().sum().backward()
            assert all(p.grad.isfinite().all() for p in encoder.parameters())
