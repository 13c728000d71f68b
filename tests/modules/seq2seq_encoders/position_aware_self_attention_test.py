"""Position-aware self-attention against Eqs. 4 to 14 of Wei et al. in loops."""

import math

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.modules.seq2seq_encoders import PositionAwareSelfAttention
from tests import oracles
from tests.modules.seq2seq_encoders.small_self_attention import SWITCHES, batch_of, make


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def oracle(encoder, x):
    """For one sentence (tokens, dim): the output, a and lambda."""
    p = {name: q.detach().numpy() for name, q in encoder.named_parameters()}
    tokens, dim = x.shape
    placed = x.copy()
    if encoder.absolute:
        for i in range(tokens):
            for d in range(dim):
                angle = i / 10000 ** (2 * (d // 2) / dim)
                placed[i, d] += math.cos(angle) if d % 2 else math.sin(angle)
    k = encoder.window
    output, attention, gates = numpy.zeros((tokens, dim)), numpy.zeros((tokens, tokens)), []
    for i in range(tokens):
        f = {}
        for j in range(tokens):
            if encoder.mask_self and i == j:  # Eq. 9
                continue
            hidden = numpy.tanh(
                p["query.weight"] @ placed[i] + p["key.weight"] @ placed[j] + p["key.bias"]
            )
            f[j] = p["vector"] @ hidden  # Eqs. 5 and 6
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
        gates.append(gate)
    return output, attention, numpy.stack(gates)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    switches=st.fixed_dictionaries({name: st.booleans() for name in SWITCHES}),
    window=st.integers(1, 6),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
)
def test_output_and_trace_are_those_of_the_equations(switches, window, lengths, seed):
    encoder = make(seed, torch.float64, window=window, **switches)
    inputs, mask = batch_of(lengths, torch.float64, math.nan, seed)
    output, trace = encoder.encode(inputs, mask, trace=True)
    assert (output[~mask] == 0).all()
    assert trace.num_steps.tolist() == lengths
    # G and the sinusoids are of float32.
    tolerance = 1e-5 if switches["gaussian"] or switches["absolute"] else 1e-9
    for row, length in enumerate(lengths):
        attention, gates = trace.attention[row, :length, :length], trace.gates[row, :length]
        expected = oracle(encoder, inputs[row, :length].numpy())
        for ours, loops in zip((output[row, :length], attention, gates), expected):
            torch.testing.assert_close(ours, torch.tensor(loops), rtol=tolerance, atol=tolerance)
        assert (trace.attention[row, length:] == 0).all()
        assert (trace.attention[row, :, length:] == 0).all()


@pytest.mark.parametrize(
    "options", [{}, {"mask_self": False}, {"absolute": True, "relative": False}], ids=str
)
def test_gradients_are_numerically_right(options):
    encoder = make(0, torch.float64, **options)
    inputs, mask = batch_of([4, 1], torch.float64, padding=math.nan)
    words = inputs[mask].requires_grad_()

    def run(words, *_):  # gradcheck changes the parameters in place
        return encoder(inputs.masked_scatter(mask.unsqueeze(-1), words), mask)

    assert gradcheck(run, [words, *encoder.parameters()])


def test_one_word_alone_attends_to_itself_or_to_nothing():
    inputs, mask = batch_of([1])
    encoder = make()
    output, trace = encoder.encode(inputs, mask, trace=True)
    assert trace.attention.tolist() == [[[0.0]]]
    gate = torch.sigmoid(encoder.gate_3(torch.tanh(encoder.gate_1(inputs))))
    torch.testing.assert_close(output, gate * inputs)
    output.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())
    _, trace = make(mask_self=False).encode(inputs, mask, trace=True)
    assert trace.attention.tolist() == [[[1.0]]]


def test_masked_words_may_be_anywhere():
    encoder = make()
    inputs, mask = batch_of([5])
    mask[0, 2] = False
    inputs[0, 2] = math.nan
    output, trace = encoder.encode(inputs, mask, trace=True)
    assert output.isfinite().all() and (output[0, 2] == 0).all()
    torch.testing.assert_close(trace.attention.sum(-1), mask.float())


@pytest.mark.parametrize("size", [30.0, 1e3, 1e6])
def test_large_numbers_stay_finite(size):
    encoder = make()
    inputs, mask = batch_of([30, 3])
    inputs = (size * inputs).requires_grad_()
    output, trace = encoder.encode(inputs, mask, trace=True)
    torch.testing.assert_close(trace.attention.sum(-1), mask.float())
    output.sum().backward()
    assert output.isfinite().all() and inputs.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())


def test_long_sentences_stay_finite():
    """G reaches -2 n^2 / k^2."""
    encoder = make(window=1)
    output, trace = encoder.encode(*batch_of([1000]), trace=True)
    assert output.isfinite().all()
    torch.testing.assert_close(trace.attention.sum(-1), torch.ones(1, 1000))


class TestOptions:
    def test_only_the_parameters_that_are_used_exist(self):
        """What a switch leaves out is not there, and all that is there is trained."""
        everything = {name for name, _ in make().named_parameters()}
        of_relative = {"distances", "distance_vector"}
        for options, missing in (
            ({"gaussian": False}, set()),
            ({"relative": False}, of_relative),
            ({"gaussian": False, "relative": False}, {*of_relative, "mixture"}),
            ({"mask_self": False, "absolute": True}, set()),
        ):
            encoder = make(**options)
            names = {name for name, _ in encoder.named_parameters()}
            assert names == everything - missing
            encoder(*batch_of([4, 2])).square().sum().backward()
            assert all(p.grad is not None and (p.grad != 0).any() for p in encoder.parameters())

    def test_dimensions_are_those_of_the_paper(self):
        encoder = PositionAwareSelfAttention(6, hidden_dim=5)
        assert encoder.get_input_dim() == encoder.get_output_dim() == 6
        assert encoder.is_bidirectional() and not make(bidirectional=False).is_bidirectional()
        shapes = {name: tuple(p.shape) for name, p in encoder.named_parameters()}
        square = dict.fromkeys(("fusion_1", "fusion_2", "gate_1", "gate_2", "gate_3"), (6, 6))
        assert shapes == {
            "vector": (5,),
            "mixture": (),
            "distances": (11, 6),
            "distance_vector": (6,),
            "query.weight": (5, 6),
            "key.weight": (5, 6),
            "key.bias": (5,),
            "fusion_1.bias": (6,),
            **{f"{name}.weight": shape for name, shape in square.items()},
        }
        assert PositionAwareSelfAttention(6).vector.shape == (6,)

    def test_dropout_is_applied_to_the_attended_words(self):
        """Of s alone."""
        inputs, mask = batch_of([9, 9])
        encoder, seen = make(dropout=0.5), []
        encoder.fusion_1.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
        encoder(inputs, mask)
        encoder.eval()(inputs, mask)
        dropped = seen[0] == 0
        assert 0.2 < dropped.float().mean() < 0.8
        torch.testing.assert_close(seen[0][~dropped], 2 * seen[1][~dropped])
        torch.testing.assert_close(encoder(inputs, mask), make()(inputs, mask))

    def test_initial_values_are_glorot(self):
        torch.manual_seed(0)
        encoder = PositionAwareSelfAttention(60, hidden_dim=30)
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


class TestConfiguration:
    @pytest.mark.parametrize(
        "options, message",
        [
            ({"hidden_dim": 0}, "hidden_dim: expected an integer of at least 1, got 0"),
            ({"window": 0}, "window: expected an integer of at least 1, got 0"),
        ],
        ids=str,
    )
    def test_bad_options_are_refused(self, options, message):
        with pytest.raises(ConfigurationError, match=message):
            PositionAwareSelfAttention(**{"input_dim": 3, **options})
