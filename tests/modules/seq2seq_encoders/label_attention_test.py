"""BiLSTM-LAN layers against the equations in loops."""

import math

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.modules.seq2seq_encoders import LabelAttention
from allennlp_nef.modules.seq2seq_encoders.label_attention import LABEL_SCALE
from tests import oracles
from tests.modules.seq2seq_encoders.small_label_attention import (
    HIDDEN_DIM,
    INPUT_DIM,
    batch_of,
    make,
)
from tests.modules.tag_heads.small_head import vocabulary


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def lstm(x, W_i, W_h, b_i, b_h):
    """One direction."""
    hidden = cell = numpy.zeros(W_h.shape[1])
    rows = []
    for word in x:
        i, f, g, o = numpy.split(W_i @ word + W_h @ hidden + b_i + b_h, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * numpy.tanh(g)
        hidden = sigmoid(o) * numpy.tanh(cell)
        rows.append(hidden)
    return numpy.stack(rows)


def bilstm(module, x):
    """The parameters are those of torch.nn.LSTM, one layer, both directions."""
    p = {name: q.detach().numpy() for name, q in module.lstm.named_parameters()}
    names = "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"
    forth = lstm(x, *(p[name] for name in names))
    back = lstm(x[::-1], *(p[f"{name}_reverse"] for name in names))[::-1]
    return numpy.concatenate([forth, back], axis=1)


def attention_of_a_head(h, labels, layer, columns, divisor):
    """alpha and alpha V."""
    W_Q, W_K, W_V = (
        weight.detach().numpy()[:, columns]
        for weight in (layer.query_weight, layer.key_weight, layer.value_weight)
    )
    alpha = numpy.stack([oracles.softmax(labels @ W_K @ (word @ W_Q) / divisor) for word in h])
    return alpha, alpha @ (labels @ W_V)


def oracle(encoder, x, num_heads, divisor):
    """Section 3 for one sentence (tokens, dim): the output, and the mean alpha (tokens, labels) of each layer."""
    labels = encoder.label_table.weight.detach().numpy()
    size = labels.shape[1] // num_heads
    means = []
    for layer in encoder.layers:
        h_w = bilstm(layer.lstm, x)
        alphas, heads = zip(
            *(
                attention_of_a_head(h_w, labels, layer, slice(k * size, (k + 1) * size), divisor)
                for k in range(num_heads)
            )
        )
        h_l = numpy.concatenate(heads, axis=1) + h_w
        x = numpy.concatenate([h_w, h_l], axis=1)
        means.append(sum(alphas) / num_heads)
    if encoder.last_lstm is not None:
        x = bilstm(encoder.last_lstm, x)
    return x, means


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    num_layers=st.integers(1, 3),
    num_heads=st.sampled_from([1, 2, 4]),
    num_labels=st.sampled_from([1, 2, 3, 9]),  # keys and weights are folded where there are few
    attend_last=st.booleans(),
    scale_by_head=st.booleans(),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
)
def test_output_and_trace_are_those_of_the_equations(
    num_layers, num_heads, num_labels, attend_last, scale_by_head, lengths, seed
):
    encoder = make(
        seed,
        torch.float64,
        num_labels,
        num_layers=num_layers,
        num_heads=num_heads,
        attend_last=attend_last,
        scale_by_head=scale_by_head,
    )
    inputs, mask = batch_of(lengths, torch.float64, math.nan, seed)
    output, trace = encoder.encode(inputs, mask, trace=True)
    divisor = math.sqrt(HIDDEN_DIM / num_heads if scale_by_head else HIDDEN_DIM)
    attending = num_layers if attend_last else num_layers - 1
    shape = len(lengths), attending, max(lengths), num_labels
    assert trace.distributions.shape == shape
    assert output.size(-1) == encoder.get_output_dim()
    assert trace.num_steps.tolist() == [attending + 1] * len(lengths)
    assert trace.attention is None
    assert torch.equal(trace.output, output)
    for row, length in enumerate(lengths):
        expected, means = oracle(encoder, inputs[row, :length].numpy(), num_heads, divisor)
        torch.testing.assert_close(
            output[row, :length], torch.tensor(expected.copy()), rtol=1e-9, atol=1e-9
        )
        for ours, mean in zip(trace.distributions[row, :, :length], means):
            torch.testing.assert_close(ours, torch.tensor(mean), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("num_labels", [1, 2, 9])
@pytest.mark.parametrize("attend_last", [True, False])
def test_gradients_are_numerically_right(attend_last, num_labels):
    options = {"hidden_dim": 4, "num_layers": 2, "attend_last": attend_last}
    encoder = make(0, torch.float64, num_labels, **options)
    inputs, mask = batch_of([2, 1], torch.float64)
    layer = encoder.layers[0]
    weights = [encoder.label_table.weight, layer.query_weight, layer.key_weight, layer.value_weight]
    # gradcheck changes the parameters in place.
    assert gradcheck(lambda x, *_: encoder(x, mask)[mask], [inputs.requires_grad_(), *weights])


class TestOptions:
    def test_dimensions_are_those_of_the_paper(self):
        encoder = make(num_layers=2)
        assert (encoder.get_input_dim(), encoder.get_output_dim()) == (3, 16)
        assert encoder.is_bidirectional()
        assert make(num_layers=2, attend_last=False).get_output_dim() == 8
        shapes = {
            name: tuple(p.shape) for name, p in encoder.named_parameters() if "lstm" not in name
        }
        assert shapes == {
            "label_table.weight": (3, 8),
            **{
                f"layers.{i}.{name}_weight": (8, 8)
                for i in (0, 1)
                for name in ("query", "key", "value")
            },
        }

    def test_labels_are_those_of_the_namespace(self):
        vocab = Vocabulary()
        vocab.add_token_to_namespace("only", "pos_tags")
        encoder = LabelAttention(vocab, INPUT_DIM, 8, num_heads=2, label_namespace="pos_tags")
        assert encoder.label_table.weight.shape == (1, 8)

    def test_dropout_is_applied_to_the_states_of_attending_layers(self):
        """Of H^w in the layers that attend, hence of both halves of their output; the other layer has none."""
        inputs, mask = batch_of([50, 50])
        encoder = make(dropout=0.5)
        torch.manual_seed(0)
        states = encoder(inputs, mask)[..., :HIDDEN_DIM]
        dropped = states == 0
        assert 0.4 < dropped.float().mean() < 0.6
        expected = encoder.eval()(inputs, mask)
        torch.testing.assert_close(states[~dropped], 2 * expected[..., :HIDDEN_DIM][~dropped])
        torch.testing.assert_close(expected, make()(inputs, mask))
        last = make(dropout=0.5, attend_last=False)
        assert torch.equal(last(inputs, mask), last(inputs, mask))

    def test_initial_values_are_those_of_the_authors(self):
        torch.manual_seed(0)
        encoder = LabelAttention(vocabulary(), 5)
        layer = encoder.layers[0]
        assert encoder.label_table.weight.shape == (3, 400)
        assert 0.9 * LABEL_SCALE < encoder.label_table.weight.abs().max() <= LABEL_SCALE == 0.0025
        bound = math.sqrt(6 / (400 + 80))  # Glorot: a head's matrix is 400 x 80
        for weight in (layer.query_weight, layer.key_weight, layer.value_weight):
            assert 0.99 * bound < weight.abs().max() <= bound
        assert encoder.get_output_dim() == 800


class TestConfiguration:
    @pytest.mark.parametrize(
        "options, message",
        [
            (
                {"hidden_dim": 7, "num_heads": 1},
                r"hidden_dim: .* even number .* \(1\) divides, got 7",
            ),
            ({"hidden_dim": 8, "num_heads": 3}, r"hidden_dim: .* num_heads \(3\) divides, got 8"),
            (
                {"label_namespace": "tags"},
                "label_attention: label_namespace: .* of the labels, as in the model, got 'tags'",
            ),
        ],
        ids=str,
    )
    def test_bad_options_are_refused(self, options, message):
        vocab = Vocabulary()
        vocab.add_token_to_namespace("OK", "labels")
        with pytest.raises(ConfigurationError, match=message):
            LabelAttention(vocab, **{"input_dim": 3, **options})
