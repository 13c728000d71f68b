"""Position-aware self-attention against Eqs. 4 to 14 of Wei et al. in loops."""

import math
from unittest.mock import patch

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.modules.seq2seq_encoders import PositionAwareSelfAttention
from tests import oracles
from tests.modules.seq2seq_encoders.small_encoders import batch_of, self_attention

SWITCHES = ["mask_self", "gaussian", "relative"]


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def oracle(encoder, x):
    """The output and a of one sentence (tokens, dim)."""
    p = {name: q.detach().numpy() for name, q in encoder.named_parameters()}
    tokens, dim = x.shape
    k = encoder.window
    output, attention = numpy.zeros((tokens, dim)), numpy.zeros((tokens, tokens))
    for i in range(tokens):
        f = {}
        for j in range(tokens):
            if encoder.mask_self and i == j:  # Eq. 9
                continue
            hidden = p["query.weight"] @ x[i] + p["key.weight"] @ x[j] + p["key.bias"]
            f[j] = p["vector"] @ numpy.tanh(hidden)  # Eqs. 5 and 6
            if encoder.gaussian:  # Eq. 10
                f[j] += sigmoid(p["mixture"]) * -((i - j) ** 2) / (2 * (k / 2) ** 2)
            if encoder.relative:  # Eq. 11
                of_distance = p["distances"][min(abs(i - j), k)]
                bias = x[i] @ of_distance + p["distance_vector"] @ of_distance
                f[j] += (1 - sigmoid(p["mixture"])) * bias
        fused = numpy.zeros(dim)
        if f:
            attention[i, list(f)] = oracles.softmax(numpy.array(list(f.values())))  # Eq. 7
            s = sum(attention[i, j] * x[j] for j in f)  # Eq. 8
            inner = numpy.tanh(p["fusion_1.weight"] @ s + p["fusion_1.bias"])
            fused = numpy.tanh(p["fusion_2.weight"] @ inner)  # Eq. 12
        inner = numpy.tanh(p["gate_1.weight"] @ x[i] + p["gate_2.weight"] @ fused)
        gate = sigmoid(p["gate_3.weight"] @ inner)  # Eq. 13
        output[i] = gate * x[i] + (1 - gate) * fused  # Eq. 14
    return output, attention


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    switches=st.fixed_dictionaries({name: st.booleans() for name in SWITCHES}),
    window=st.integers(1, 6),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
)
@patch("allennlp_nef.modules.seq2seq_encoders.position_aware_self_attention.NUM_ROWS", 3)
def test_output_and_trace_are_those_of_the_equations(switches, window, lengths, seed):
    encoder = self_attention(seed, torch.float64, window=window, **switches)
    inputs, mask = batch_of(lengths, torch.float64, math.nan, seed)
    output, trace = encoder.encode(inputs, mask, trace=True)
    assert (output[~mask] == 0).all()
    assert trace.num_rows.tolist() == lengths and trace.output_after is None
    for row, length in enumerate(lengths):
        expected = oracle(encoder, inputs[row, :length].numpy())
        attention = trace.attention[row, :length, :length]
        for ours, loops in zip((output[row, :length], attention), expected):
            torch.testing.assert_close(ours, torch.tensor(loops), rtol=1e-9, atol=1e-9)
    pairs = mask.unsqueeze(1) & mask.unsqueeze(2)
    assert (trace.attention[~pairs] == 0).all()


@pytest.mark.parametrize("options", [{}, {"mask_self": False}, {"relative": False}], ids=str)
def test_gradients_are_those_of_finite_differences(options):
    encoder = self_attention(0, torch.float64, **options)
    inputs, mask = batch_of([4, 1], torch.float64, padding=math.nan)
    words = inputs[mask].requires_grad_()

    def run(words, *_):  # gradcheck changes the parameters in place
        return encoder(inputs.masked_scatter(mask.unsqueeze(-1), words), mask)

    assert gradcheck(run, [words, *encoder.parameters()], fast_mode=True)


def test_masked_words_may_be_anywhere():
    inputs, mask = batch_of([5])
    mask[0, 2] = False
    inputs[0, 2] = math.nan
    output, trace = self_attention().encode(inputs, mask, trace=True)
    assert output.isfinite().all() and (output[0, 2] == 0).all()
    torch.testing.assert_close(trace.attention.sum(-1), mask.float())


@pytest.mark.parametrize("size, lengths, window", [(1e6, [30, 3], 2), (1.0, [500], 1)])
def test_large_numbers_and_long_sentences_stay_finite(size, lengths, window):
    """G reaches -2 n^2 / k^2."""
    encoder = self_attention(window=window)
    inputs, mask = batch_of(lengths)
    inputs = (size * inputs).requires_grad_()
    output, trace = encoder.encode(inputs, mask, trace=True)
    torch.testing.assert_close(trace.attention.sum(-1), mask.float())
    output.sum().backward()
    assert output.isfinite().all() and inputs.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())


def test_only_the_parameters_that_are_used_exist():
    everything = {name for name, _ in self_attention().named_parameters()}
    for options, missing in (
        ({"gaussian": False}, set()),
        ({"relative": False}, {"distances", "distance_vector"}),
        ({"gaussian": False, "relative": False}, {"distances", "distance_vector", "mixture"}),
    ):
        encoder = self_attention(**options)
        assert {name for name, _ in encoder.named_parameters()} == everything - missing
        encoder(*batch_of([4, 2])).square().sum().backward()
        assert all((p.grad != 0).any() for p in encoder.parameters())


def test_dimensions_and_initial_values():
    torch.manual_seed(0)
    encoder = PositionAwareSelfAttention(60, hidden_dim=30)
    assert encoder.get_input_dim() == encoder.get_output_dim() == 60
    assert encoder.is_bidirectional() and not self_attention(bidirectional=False).is_bidirectional()
    assert encoder.alpha == 0.5
    assert (encoder.key.bias == 0).all() and (encoder.fusion_1.bias == 0).all()
    for parameter, bound in (
        (encoder.query.weight, math.sqrt(6 / 90)),
        (encoder.gate_3.weight, math.sqrt(6 / 120)),
        (encoder.distances, math.sqrt(6 / 71)),
        (encoder.vector, math.sqrt(6 / 31)),
        (encoder.distance_vector, math.sqrt(6 / 61)),
    ):
        assert 0.8 * bound < parameter.abs().max() <= bound


@pytest.mark.parametrize(
    ("option", "value"),
    [("window", 0), ("window", True), ("hidden_dim", 0), ("hidden_dim", -3), ("dropout", 1.5)],
)
def test_bad_option_is_an_error_that_names_it(option, value):
    with pytest.raises(ConfigurationError, match=option):
        self_attention(**{option: value})
