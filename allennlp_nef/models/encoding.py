"""The encoders of a model, with or without their traces."""

from typing import Any

import torch
from allennlp.common.checks import check_dimensions_match
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
    check_dimensions_match(
        input_representation.get_output_dim(),
        encoder.get_input_dim(),
        "dimension of input_representation",
        "input dimension of encoder",
    )
    states_dim = encoder.get_output_dim()
    if decoder is None:
        return states_dim
    check_dimensions_match(
        states_dim,
        decoder.get_input_dim(),
        "output dimension of encoder",
        "input dimension of decoder",
    )
    return decoder.get_output_dim()


def parts_of(encoder: Seq2SeqEncoder) -> list[Seq2SeqEncoder]:
    """The encoders that `compose` joins, from the first to the last; of any other encoder, itself."""
    if not isinstance(encoder, ComposeEncoder):
        return [encoder]
    return [part for inner in encoder.encoders for part in parts_of(inner)]
