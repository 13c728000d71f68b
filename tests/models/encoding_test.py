import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import (
    ComposeEncoder,
)
from overrides import overrides

from allennlp_nef.models.base import encode
from allennlp_nef.modules.seq2seq_encoders import TracedEncoder
from tests.models.tagging.small_encoders import compose
from tests.models.tagging.small_tagger import batch_of, decoder, lstm, make

DIM = 4
INPUTS = torch.arange(24.0).view(2, 3, DIM)
MASK = torch.tensor([[True, True, True], [True, False, False]])


class Adding(TracedEncoder):
    """Adds a number, or the scores of the tag scorer."""

    _input_dim = _output_dim = DIM
    _bidirectional = False

    def __init__(self, number):
        super().__init__()
        self.number = number

    @overrides(check_signature=False)
    def encode(self, inputs, mask=None, trace=False, tag_scorer=None):
        output = inputs + self.number + (tag_scorer(inputs) if tag_scorer else 0)
        return output, f"trace {self.number}" if trace else None


@pytest.mark.parametrize("numbers", [[1], [1, 2, 3]])
def test_trace_is_that_of_the_last_encoder_if_wanted(numbers):
    encoder = ComposeEncoder([Adding(number) for number in numbers])
    for wanted, expected in ((True, f"trace {numbers[-1]}"), (False, None)):
        states, trace = encode(encoder, INPUTS, MASK, wanted)
        assert torch.equal(states, INPUTS + sum(numbers))
        assert trace == expected


def test_tag_scorer_is_for_the_last_encoder_alone():
    encoder = ComposeEncoder([Adding(1), Adding(2)])
    states, _ = encode(encoder, INPUTS, MASK, False, lambda output: 10 * output)
    assert torch.equal(states, INPUTS + 3 + 10 * (INPUTS + 1))


def test_easy_first_before_other_encoders_is_refused():
    """Its output is not scored, though the dimensions would fit."""
    easy_first = decoder(attention={"type": "easy_first"})  # from 6 to 8 numbers
    make(decoder=compose(lstm(6), easy_first))(**batch_of())
    with pytest.raises(ConfigurationError, match="easy_first"):
        make(decoder=compose(easy_first, {**lstm(8), "hidden_size": 4}))(**batch_of())
