import math

import pytest
import torch

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from tests.modules.seq2seq_encoders.small_encoder import (
    UPDATES,
    batch_of,
    make,
)


@pytest.mark.parametrize("update", UPDATES)
def test_alpha_and_beta_are_float32_under_autocast(update):
    seen = []

    class Recording(ConstrainedSoftmaxTransform):
        def forward(self, scores, state):
            alpha = super().forward(scores, state)
            seen.append({scores.dtype, state.coverage.dtype, alpha.dtype})
            return alpha

    encoder = make(sketch_update=update, num_steps="length", attention=Recording(), scale=1.0)
    inputs, mask = batch_of([20, 3])
    expected = encoder(inputs, mask)
    seen.clear()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, trace = encoder.encode(inputs, mask, trace=True)
    assert seen == [{torch.float32}] * 20
    coverage = trace.attention.sum(1)
    torch.testing.assert_close(coverage, mask.float(), rtol=0, atol=1e-4)
    torch.testing.assert_close(output.float(), expected, rtol=0.1, atol=0.1)


def test_initial_values_are_glorot():
    """For each matrix of the paper: (D_z or D_s) x (2 w + 1) (D_h + D_s), and v: D_z x 1."""
    torch.manual_seed(0)
    encoder = NeuralEasyFirst(30, preattention_dim=20, sketch_dim=60, context_size=2)
    fan_in = 5 * (30 + 60)
    for weight in (encoder.input_weight, encoder.sketch_weight):
        for rows, fan_out in ((weight[:20], 20), (weight[20:], 60)):
            bound = math.sqrt(6 / (fan_in + fan_out))
            assert 0.98 * bound < rows.abs().max() <= bound
            assert rows.mean().abs() < 0.05 * bound
    assert (encoder.bias == 0).all()
    assert 0.7 * math.sqrt(6 / 21) < encoder.attention_vector.abs().max() <= math.sqrt(6 / 21)
