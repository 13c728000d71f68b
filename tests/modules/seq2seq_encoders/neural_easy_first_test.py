"""The decoder against Algorithm 2 in loops."""

import math

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    SoftmaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from tests import oracles
from tests.modules.seq2seq_encoders.small_encoders import (
    DIM,
    PREATTENTION_DIM,
    SKETCH_DIM,
    batch_of,
    decoder,
)

UPDATES = ["single", "full"]
ORACLES = {
    ConstrainedSoftmaxTransform: lambda z, beta: oracles.csoftmax(z, numpy.maximum(1 - beta, 0)),
    ConstrainedSparsemaxTransform: lambda z, beta: oracles.csparsemax(
        z, numpy.maximum(1 - beta, 0)
    ),
    SoftmaxTransform: lambda z, beta: oracles.softmax(z),
}


def oracle(encoder, states):
    """(tokens, dim) -> sketches and attention, by the paper's equations."""
    arrays = {name: p.detach().double().numpy() for name, p in encoder.named_parameters()}
    weight = numpy.concatenate([arrays["input_weight"], arrays["sketch_weight"]], axis=1)
    transform = encoder.attention

    def rho(z, beta):
        z = (z - transform.coverage_penalty * beta) / transform.temperature
        return ORACLES[type(transform)](z, beta)

    tokens = len(states)
    return oracles.neural_easy_first(
        states.double().numpy(),
        weight[:PREATTENTION_DIM],
        arrays["bias"][:PREATTENTION_DIM],
        arrays["attention_vector"],
        weight[PREATTENTION_DIM:],
        arrays["bias"][PREATTENTION_DIM:],
        rho,
        encoder.sketch_update,
        tokens if encoder.num_steps == "length" else min(encoder.num_steps, tokens),
        encoder.context_size,
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    update=st.sampled_from(UPDATES),
    transform=st.sampled_from(list(ORACLES)),
    num_steps=st.one_of(st.integers(1, 7), st.just("length")),
    context_size=st.integers(0, 3),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    temperature=st.sampled_from([1.0, 0.4, 3.0]),
    coverage_penalty=st.sampled_from([0.0, 2.0]),
    seed=st.integers(0, 1000),
)
def test_steps_are_those_of_the_algorithm(
    update, transform, num_steps, context_size, lengths, temperature, coverage_penalty, seed
):
    encoder = decoder(
        seed,
        torch.float64,
        sketch_update=update,
        num_steps=num_steps,
        context_size=context_size,
        attention=transform(temperature, coverage_penalty),
    )
    inputs, mask = batch_of(lengths, torch.float64, math.nan, seed)
    output, trace = encoder.encode(inputs, mask, trace=True)
    assert (output[~mask] == 0).all()
    for row, length in enumerate(lengths):
        expected, attention = (torch.tensor(x) for x in oracle(encoder, inputs[row, :length]))
        states, sketches = output[row, :length].split([DIM, SKETCH_DIM], -1)
        torch.testing.assert_close(states, inputs[row, :length])
        torch.testing.assert_close(sketches, expected, rtol=1e-8, atol=1e-8)
        steps = len(attention)
        assert int(trace.num_rows[row]) == steps
        found = trace.attention[row, :steps, :length]
        torch.testing.assert_close(found, attention, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("transform", [ConstrainedSoftmaxTransform, ConstrainedSparsemaxTransform])
@pytest.mark.parametrize("update", UPDATES)
def test_each_word_has_attention_1_after_as_many_steps_as_words(update, transform):
    encoder = decoder(sketch_update=update, num_steps="length", attention=transform())
    inputs, mask = batch_of([200, 57], padding=math.nan)
    output, trace = encoder.encode(inputs.requires_grad_(), mask, trace=True)
    assert trace.attention.shape == (2, 200, 200)
    assert trace.num_rows.tolist() == [200, 57]
    torch.testing.assert_close(trace.attention.sum(1), mask.float(), rtol=0, atol=1e-4)
    has_step = torch.arange(200) < trace.num_rows.unsqueeze(-1)
    torch.testing.assert_close(trace.attention.sum(-1), has_step.float(), rtol=0, atol=1e-4)
    output.square().mean().backward()
    assert inputs.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())


@pytest.mark.parametrize("update", UPDATES)
def test_gradients_in_padding_have_no_effect(update):
    inputs, mask = batch_of([4, 2])
    encoder = decoder(sketch_update=update, num_steps="length")
    gradient = torch.randn(2, 4, encoder.get_output_dim())
    gradients = []
    for junk in (0.0, math.nan):
        encoder.zero_grad()
        encoder(inputs, mask).backward(gradient.masked_fill(~mask.unsqueeze(-1), junk))
        gradients.append([parameter.grad for parameter in encoder.parameters()])
    for one, other in zip(*gradients):
        assert torch.equal(one, other)


class TestOptions:
    def test_dimensions_are_those_of_the_paper(self):
        params = {"type": "neural_easy_first", "input_dim": 7, "num_steps": "length"}
        dims = {"preattention_dim": 5, "sketch_dim": 4, "context_size": 3}
        encoder = Seq2SeqEncoder.from_params(Params({**params, **dims}))
        assert (encoder.get_input_dim(), encoder.get_output_dim()) == (7, 11)
        assert encoder.is_bidirectional() and not decoder(bidirectional=False).is_bidirectional()
        assert encoder.title == "NEF-F csoftmax, N = L"
        shapes = {name: tuple(p.shape) for name, p in encoder.named_parameters()}
        assert shapes == {
            "input_weight": (9, 49),
            "sketch_weight": (9, 28),
            "bias": (9,),
            "attention_vector": (5,),
        }

    def test_dropout_is_applied_to_the_output_alone(self):
        inputs, mask = batch_of([50, 50])
        encoder = decoder(dropout=0.5)
        output, dropped = encoder.eval()(inputs, mask), encoder.train()(inputs, mask)
        assert 0.4 < (dropped == 0).float().mean() < 0.6
        torch.testing.assert_close(dropped[dropped != 0], 2 * output[dropped != 0])

    def test_initial_values_are_glorot(self):
        """For each matrix of the paper: (D_z or D_s) x (2 w + 1) (D_h + D_s), and v: D_z x 1."""
        torch.manual_seed(0)
        encoder = NeuralEasyFirst(30, preattention_dim=20, sketch_dim=60, context_size=2)
        for weight in (encoder.input_weight, encoder.sketch_weight):
            for rows, fan_out in ((weight[:20], 20), (weight[20:], 60)):
                bound = math.sqrt(6 / (5 * (30 + 60) + fan_out))
                assert 0.98 * bound < rows.abs().max() <= bound
        assert (encoder.bias == 0).all()
        assert 0.7 * math.sqrt(6 / 21) < encoder.attention_vector.abs().max() <= math.sqrt(6 / 21)

    @pytest.mark.parametrize(
        "options",
        [
            {"sketch_update": "both"},
            {"num_steps": 0},
            {"num_steps": "all"},
            {"num_steps": True},
            {"sketch_dim": 0},
            {"preattention_dim": 0},
            {"context_size": -1},
            {"context_size": 1.5},
            {"sketch_dim": True},
            {"dropout": -0.1},
            {"dropout": math.nan},
        ],
        ids=str,
    )
    def test_bad_options_are_refused(self, options):
        with pytest.raises(ConfigurationError, match=next(iter(options))):
            NeuralEasyFirst(3, **options)
