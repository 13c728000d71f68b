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
from tests.modules.seq2seq_encoders.small_encoders import HIDDEN_DIM, batch_of, label_attention


def oracle(encoder, x, num_heads, divisor):
    """Section 3 for one sentence (1, tokens, dim), word by word and head by head."""
    labels = encoder.label_table.weight.detach().numpy()
    size = HIDDEN_DIM // num_heads
    for layer in encoder.layers:
        matrices = layer.query_weight, layer.key_weight, layer.value_weight
        states = layer.lstm(x, None)[0].detach().numpy()
        refined = states.copy()
        for head in range(num_heads):
            columns = slice(head * size, (head + 1) * size)
            W_Q, W_K, W_V = (weight.detach().numpy()[:, columns] for weight in matrices)
            for i, state in enumerate(states):
                scores = [(state @ W_Q) @ (label @ W_K) / divisor for label in labels]
                for weight, label in zip(oracles.softmax(numpy.array(scores)), labels):
                    refined[i, columns] += weight * (label @ W_V)
        x = torch.tensor(numpy.concatenate([states, refined], 1)).unsqueeze(0)
    return x[0] if encoder.last_lstm is None else encoder.last_lstm(x, None)[0]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    num_layers=st.integers(1, 3),
    num_heads=st.sampled_from([1, 2, 4]),
    num_labels=st.sampled_from([1, 2, 9]),
    attend_last=st.booleans(),
    scale_by_head=st.booleans(),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
)
def test_output_is_that_of_the_equations(
    num_layers, num_heads, num_labels, attend_last, scale_by_head, lengths, seed
):
    encoder = label_attention(
        seed,
        torch.float64,
        num_labels,
        num_layers=num_layers,
        num_heads=num_heads,
        attend_last=attend_last,
        scale_by_head=scale_by_head,
    )
    inputs, mask = batch_of(lengths, torch.float64, math.nan, seed)
    output = encoder(inputs, mask)
    assert output.size(-1) == encoder.get_output_dim()
    assert (output[~mask] == 0).all()
    divisor = math.sqrt(HIDDEN_DIM / num_heads if scale_by_head else HIDDEN_DIM)
    for row, length in enumerate(lengths):
        expected = oracle(encoder, inputs[row : row + 1, :length], num_heads, divisor)
        torch.testing.assert_close(output[row, :length], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("attend_last", [True, False])
def test_gradients_are_those_of_finite_differences(attend_last):
    options = {"hidden_dim": 4, "num_layers": 2, "attend_last": attend_last}
    encoder = label_attention(0, torch.float64, **options)
    inputs, mask = batch_of([2, 1], torch.float64)
    layer = encoder.layers[0]
    weights = [encoder.label_table.weight, layer.query_weight, layer.key_weight, layer.value_weight]
    # gradcheck changes the parameters in place.
    assert gradcheck(
        lambda x, *_: encoder(x, mask)[mask], [inputs.requires_grad_(), *weights], fast_mode=True
    )


def test_initial_values_are_those_of_the_authors():
    vocab = Vocabulary()
    vocab.add_tokens_to_namespace(["A", "B", "C"], "pos_tags")
    torch.manual_seed(0)
    encoder = LabelAttention(vocab, 5, label_namespace="pos_tags")
    layer = encoder.layers[0]
    assert encoder.label_table.weight.shape == (3, 400)
    assert 0.9 * LABEL_SCALE < encoder.label_table.weight.abs().max() <= LABEL_SCALE == 0.0025
    bound = math.sqrt(6 / (400 + 80))  # Glorot: the matrix of a head is 400 x 80
    for weight in (layer.query_weight, layer.key_weight, layer.value_weight):
        assert 0.99 * bound < weight.abs().max() <= bound
    assert (encoder.get_input_dim(), encoder.get_output_dim()) == (5, 800)


@pytest.mark.parametrize(
    "options",
    [
        {"hidden_dim": 7, "num_heads": 1},
        {"hidden_dim": 8, "num_heads": 3},
        {"label_namespace": "x"},
        {"num_layers": 0},
        {"num_layers": True},
        {"num_heads": 0},
        {"num_heads": -2},
        {"hidden_dim": -8},
        {"dropout": math.nan},
    ],
    ids=str,
)
def test_bad_options_are_refused(options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        label_attention(**options)
