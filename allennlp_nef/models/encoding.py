"""The encoders of a model, with or without their traces."""

from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import ComposeEncoder, Seq2SeqEncoder

from allennlp_nef.modules.input_representations import InputRepresentation
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst, TracedEncoder
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import TagScorer
from allennlp_nef.modules.traces import EncoderTrace


def encode(
    encoder: Seq2SeqEncoder,
    inputs: torch.Tensor,
    mask: torch.Tensor,
    trace: bool = False,
    tag_scorer: TagScorer | None = None,
    **options: Any,
) -> tuple[torch.Tensor, EncoderTrace | None]:
    """The output of an encoder (batch, tokens, output_dim), and its trace if it is wanted and the encoder has one.

    Of encoders that `compose` joins, the last one gives the trace, and its output alone is for the tag scorer. The
    options are for `encode` of `neural_easy_first`; other encoders take none.
    """
    *before, last = parts_of(encoder)
    for part in before:
        inputs = part(inputs, mask)
    if isinstance(last, TracedEncoder):
        kept = options if isinstance(last, NeuralEasyFirst) else {}
        return last.encode(inputs, mask, trace, tag_scorer, **kept)
    return last(inputs, mask), None


def states_dim_of(
    input_representation: InputRepresentation,
    encoder: Seq2SeqEncoder,
    decoder: Seq2SeqEncoder | None,
) -> int:
    """The dimension of the states that the tag head takes. Raises `ConfigurationError` where two parts do not fit."""
    dim = input_representation.get_output_dim()
    check_input_dim("encoder", encoder, dim, "input_representation")
    states_dim = encoder.get_output_dim()
    if decoder is None:
        return states_dim
    check_input_dim("decoder", decoder, states_dim, "encoder")
    return decoder.get_output_dim()


def check_input_dim(name: str, encoder: Any, dim: int, source: str) -> None:
    """Raises a `ConfigurationError` where the encoder does not take what `source` puts out, of dimension `dim`."""
    if encoder.get_input_dim() != dim:
        raise ConfigurationError(
            f"{name}: expected input_size or input_dim {dim}, the output dimension of {source}, got "
            f"{encoder.get_input_dim()}"
        )


def parts_of(encoder: Seq2SeqEncoder) -> list[Seq2SeqEncoder]:
    """The encoders that `compose` joins, from the first to the last; of any other encoder, itself."""
    if not isinstance(encoder, ComposeEncoder):
        return [encoder]
    return [part for inner in encoder.encoders for part in parts_of(inner)]
