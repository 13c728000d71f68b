"""The encoders of a model, with or without their traces."""

from typing import List, Optional, Tuple

import torch
from allennlp.modules.seq2seq_encoders import ComposeEncoder, Seq2SeqEncoder

from allennlp_nef.modules.seq2seq_encoders import TracedEncoder
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import TagScorer
from allennlp_nef.modules.traces import EncoderTrace


def encode(
    encoder: Seq2SeqEncoder,
    inputs: torch.Tensor,
    mask: torch.Tensor,
    trace: bool = False,
    tag_scorer: Optional[TagScorer] = None,
) -> Tuple[torch.Tensor, Optional[EncoderTrace]]:
    """The output of an encoder (batch, tokens, output_dim), and its trace if it is wanted and the encoder has one.

    Of encoders that `compose` joins, the last one gives the trace, and its output alone is for the tag scorer.
    """
    *before, last = parts_of(encoder)
    for part in before:
        inputs = part(inputs, mask)
    if isinstance(last, TracedEncoder):
        return last.encode(inputs, mask, trace, tag_scorer)
    return last(inputs, mask), None


def parts_of(encoder: Seq2SeqEncoder) -> List[Seq2SeqEncoder]:
    """The encoders that `compose` joins, from the first to the last; of any other encoder, itself."""
    if not isinstance(encoder, ComposeEncoder):
        return [encoder]
    return [part for inner in encoder.encoders for part in parts_of(inner)]
