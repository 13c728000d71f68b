"""What a tagger does with the steps of its decoder."""

from typing import Optional

from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_nef.models.encoding import parts_of
from allennlp_nef.modules.registered_name import registered_name
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst


def check_has_steps(option: str, decoder: Optional[Seq2SeqEncoder]) -> None:
    """Raises a `ConfigurationError` for an option of the model where its decoder has no steps, or one."""
    last = None if decoder is None else parts_of(decoder)[-1]
    if not isinstance(last, NeuralEasyFirst):
        got = "none" if last is None else registered_name(Seq2SeqEncoder, last)
        raise ConfigurationError(f"{option}: expected the decoder neural_easy_first, got {got}")
    if last.num_steps == 1:
        raise ConfigurationError(f"{option}: expected a decoder with num_steps of 2 or more, got 1")
