import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.seq2seq_encoders import DropoutEncoder


def test_dropout_is_for_training_only():
    torch.manual_seed(0)
    inputs, mask = torch.ones(4, 50, 3), torch.ones(4, 50, dtype=torch.bool)
    encoder = DropoutEncoder(3, 0.25)
    assert encoder.get_input_dim() == encoder.get_output_dim() == 3
    assert encoder.is_bidirectional() and not DropoutEncoder(3, 0.5, False).is_bidirectional()
    output = encoder(inputs, mask)
    assert (output == 0).float().mean() == pytest.approx(0.25, abs=0.06)
    assert output[output != 0] == pytest.approx(1 / 0.75)
    assert torch.equal(encoder.eval()(inputs), inputs)


@pytest.mark.parametrize("dropout", [-0.1, 1.1, math.nan, True])
def test_a_bad_dropout_is_an_error(dropout):
    with pytest.raises(ConfigurationError, match="dropout"):
        DropoutEncoder(3, dropout)
