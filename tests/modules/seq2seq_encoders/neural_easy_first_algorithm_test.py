"""The encoder against Algorithm 2 in loops."""

import math

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    SoftmaxTransform,
)
from tests import oracles
from tests.modules.seq2seq_encoders.small_encoder import (
    INPUT_DIM,
    PREATTENTION_DIM,
    TRANSFORMS,
    UPDATES,
    batch_of,
    make,
)


def oracle(encoder, states):
    """(tokens, dim) -> sketches and attention, by the paper's equations."""
    arrays = {name: p.detach().double().numpy() for name, p in encoder.named_parameters()}
    weight = numpy.concatenate([arrays["input_weight"], arrays["sketch_weight"]], axis=1)
    transform = encoder.attention

    def rho(z, beta):
        z = (z - transform.coverage_penalty * beta) / transform.temperature
        if isinstance(transform, ConstrainedSoftmaxTransform):
            return oracles.csoftmax(z, numpy.maximum(1 - beta, 0))
        if isinstance(transform, ConstrainedSparsemaxTransform):
            return oracles.csparsemax(z, numpy.maximum(1 - beta, 0))
        return oracles.softmax(z)

    tokens = len(states)
    steps = tokens if encoder.num_steps == "length" else encoder.num_steps
    return oracles.neural_easy_first(
        states.double().numpy(),
        weight[:PREATTENTION_DIM],
        arrays["bias"][:PREATTENTION_DIM],
        arrays["attention_vector"],
        weight[PREATTENTION_DIM:],
        arrays["bias"][PREATTENTION_DIM:],
        rho,
        encoder.sketch_update,
        min(steps, tokens) if encoder.cap_steps else steps,
        encoder.context_size,
    )


def assert_equals_oracle(encoder, lengths, seed=0):
    inputs, mask = batch_of(lengths, torch.float64, math.nan, seed)
    output, trace = encoder.encode(inputs, mask, trace=True)
    assert (output[~mask] == 0).all()
    for row, length in enumerate(lengths):
        sketches, attention = (torch.tensor(x) for x in oracle(encoder, inputs[row, :length]))
        torch.testing.assert_close(output[row, :length, :INPUT_DIM], inputs[row, :length])
        torch.testing.assert_close(output[row, :length, INPUT_DIM:], sketches, rtol=1e-8, atol=1e-8)
        steps = len(attention)
        assert int(trace.num_steps[row]) == steps
        torch.testing.assert_close(
            trace.attention[row, :steps, :length], attention, rtol=1e-8, atol=1e-8
        )


class TestAlgorithm:
    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        update=st.sampled_from(UPDATES),
        transform=st.sampled_from(TRANSFORMS),
        num_steps=st.one_of(st.integers(1, 7), st.just("length")),
        context_size=st.integers(0, 3),
        lengths=st.lists(st.integers(1, 7), min_size=1, max_size=3),
        temperature=st.sampled_from([1.0, 0.4, 3.0]),
        coverage_penalty=st.sampled_from([0.0, 2.0]),
        seed=st.integers(0, 1000),
    )
    def test_steps_are_those_of_the_algorithm(
        self,
        update,
        transform,
        num_steps,
        context_size,
        lengths,
        temperature,
        coverage_penalty,
        seed,
    ):
        encoder = make(
            seed,
            torch.float64,
            sketch_update=update,
            num_steps=num_steps,
            context_size=context_size,
            attention=transform(temperature, coverage_penalty),
        )
        assert_equals_oracle(encoder, lengths, seed)

    @pytest.mark.parametrize("update", UPDATES)
    def test_there_may_be_more_steps_than_words(self, update):
        encoder = make(
            dtype=torch.float64,
            sketch_update=update,
            num_steps=6,
            attention=SoftmaxTransform(coverage_penalty=1.0),
            cap_steps=False,
        )
        assert_equals_oracle(encoder, [2, 4, 1, 6])

    @pytest.mark.parametrize(
        "update, transform, num_steps",
        [
            ("full", ConstrainedSoftmaxTransform, "length"),
            ("single", ConstrainedSparsemaxTransform, "length"),
            ("single", SoftmaxTransform, 1),
        ],
    )
    def test_gradients_are_numerically_right(self, update, transform, num_steps):
        encoder = make(
            dtype=torch.float64,
            scale=1.0,
            sketch_update=update,
            num_steps=num_steps,
            attention=transform(0.8, 0.3),
        )
        inputs, mask = batch_of([4, 2], torch.float64)
        inputs.requires_grad_()

        def run(states, *_):
            return encoder(states, mask)

        assert gradcheck(run, (inputs, *encoder.parameters()))

    @pytest.mark.parametrize("transform", TRANSFORMS[1:])
    @pytest.mark.parametrize("update", UPDATES)
    def test_each_word_has_attention_1_after_as_many_steps_as_words(self, update, transform):
        """With upper bounds and N = L, here for up to 200 words."""
        encoder = make(sketch_update=update, num_steps="length", attention=transform())
        inputs, mask = batch_of([200, 57], padding=math.nan)
        inputs.requires_grad_()
        output, trace = encoder.encode(inputs, mask, trace=True)
        assert trace.attention.shape == (2, 200, 200)
        assert trace.num_steps.tolist() == [200, 57]
        coverage = trace.attention.sum(1)
        torch.testing.assert_close(coverage, mask.float(), rtol=0, atol=1e-4)
        totals = trace.attention.sum(-1)
        has_step = torch.arange(200) < trace.num_steps.unsqueeze(-1)
        torch.testing.assert_close(totals, has_step.float(), rtol=0, atol=1e-4)
        output.square().mean().backward()
        assert torch.isfinite(inputs.grad).all()
        for name, parameter in encoder.named_parameters():
            assert torch.isfinite(parameter.grad).all(), name
