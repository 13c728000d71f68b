"""What holds for each encoder."""

import math

import pytest
import torch

from allennlp_nef.modules.attention_transforms import (
    AttentionTransform,
    ConstrainedSoftmaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import run_encoder
from tests.modules.seq2seq_encoders.small_encoders import (
    batch_of,
    decoder,
    label_attention,
    self_attention,
)


class ByTagScore(ConstrainedSoftmaxTransform):
    """A transform of a user, which prefers confident words."""

    def adjusted_scores(self, scores, state):
        return super().adjusted_scores(scores, state) + state.tag_scores()


def cases():
    """The function that makes the encoder and its options, by name."""
    transforms = {
        name: AttentionTransform.by_name(name) for name in AttentionTransform.list_available()
    }
    for name, transform in {**transforms, "by tag score": ByTagScore}.items():
        for update, num_steps in (("full", "length"), ("single", 3), ("full", 1), ("single", 1)):
            if num_steps != 1 or name == "csoftmax":
                options = {"sketch_update": update, "num_steps": num_steps}
                yield f"{name}-{update}-{num_steps}", (decoder, options, transform)
    for attend_last in (True, False):
        options = {"num_layers": 2, "attend_last": attend_last}
        yield f"labels-{attend_last}", (label_attention, options, None)
    for mask_self in (True, False):
        yield f"words-{mask_self}", (self_attention, {"mask_self": mask_self}, None)


CASES = dict(cases())
every = pytest.mark.parametrize("name", list(CASES))


def make(name, **more):
    function, options, transform = CASES[name]
    return function(**options, **({"attention": transform(), **more} if transform else {}))


def tag_scorer(states):
    weight = torch.randn(states.size(-1), 2, generator=torch.Generator().manual_seed(5))
    return states @ weight.to(states.dtype)


def run(encoder, inputs, mask, trace=False):
    return run_encoder(encoder, inputs, mask, trace, tag_scorer)


def gradients(encoder):
    return {name: p.grad.clone() for name, p in encoder.named_parameters()}


@every
def test_each_sentence_gets_what_it_gets_alone(name):
    """Whatever is in padding, in the output and in all gradients."""
    encoder = make(name)
    lengths = [5, 1, 7, 2]
    inputs, mask = batch_of(lengths, padding=math.nan)
    inputs.requires_grad_()
    weights = torch.randn(7, encoder.get_output_dim(), generator=torch.Generator().manual_seed(9))
    output, _ = run(encoder, inputs, mask)
    assert (output[~mask] == 0).all()
    (output * weights).sum().backward()
    assert (inputs.grad[~mask] == 0).all()
    together = gradients(encoder)
    encoder.zero_grad()
    for row, length in enumerate(lengths):
        sentence = inputs.detach()[row : row + 1, :length].clone().requires_grad_()
        alone, _ = run(encoder, sentence, mask[row : row + 1, :length])
        torch.testing.assert_close(output[row, :length], alone[0], rtol=1e-4, atol=1e-4)
        (alone[0] * weights[:length]).sum().backward()
        torch.testing.assert_close(
            inputs.grad[row, :length], sentence.grad[0], rtol=1e-3, atol=1e-3
        )
    torch.testing.assert_close(gradients(encoder), together, rtol=1e-3, atol=1e-3)


@every
def test_empty_sentences_are_zero(name):
    encoder = make(name)
    inputs, mask = batch_of([4, 4])
    inputs[1], mask[1] = math.nan, False
    inputs.requires_grad_()
    output, trace = run(encoder, inputs, mask, trace=True)
    torch.testing.assert_close(output[:1], run(encoder, inputs[:1], mask[:1])[0])
    assert (output[1] == 0).all()
    if trace is not None:
        assert (trace.attention[1] == 0).all() and trace.num_rows[1] == 0
    output.sum().backward()
    assert inputs.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())
    if not name.startswith("labels"):  # torch runs no LSTM without words
        assert (run(encoder, inputs, torch.zeros_like(mask))[0] == 0).all()
        assert run(encoder, inputs[:0], mask[:0])[0].shape == (0, 4, encoder.get_output_dim())


@every
def test_every_parameter_has_a_gradient(name):
    """Distributed training waits for the gradient of each, also after a batch of one word."""
    for lengths in ([1], [4, 2]):
        encoder = make(name)
        run(encoder, *batch_of(lengths))[0].sum().backward()
        assert not [key for key, p in encoder.named_parameters() if p.grad is None]


@every
def test_a_trace_does_not_change_the_output(name):
    encoder, lengths = make(name), [6, 2, 5]
    inputs, mask = batch_of(lengths)
    expected, trace = run(encoder, inputs, mask)
    assert trace is None
    output, trace = run(encoder, inputs, mask, trace=True)
    torch.testing.assert_close(output, expected)
    if not name.startswith("labels"):
        # A distribution over the words of the sentence in each row that is not padding.
        is_row = torch.arange(trace.attention.size(1)) < trace.num_rows.unsqueeze(1)
        torch.testing.assert_close(trace.attention.sum(-1), is_row.to(trace.attention.dtype))
        assert (trace.attention >= 0).all()
        assert (trace.attention.masked_fill(mask.unsqueeze(1), 0) == 0).all()


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("easy_first")])
def test_autocast_is_close_to_float32(name):
    encoder = make(name, scale=0.5)
    inputs, mask = batch_of([6, 3])
    expected, _ = run(encoder, inputs, mask)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, trace = run(encoder, inputs, mask, trace=True)
    torch.testing.assert_close(output.float(), expected, rtol=0.2, atol=0.2)
    assert not torch.equal(output.float(), expected)
    assert trace is None or trace.attention.dtype == torch.float32
    output.float().sum().backward()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())
