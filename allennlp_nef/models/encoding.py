"""The encoders of a tagger, with what they tell of their work."""

from typing import Any, NamedTuple, Optional, Tuple

import torch
from allennlp.modules.seq2seq_encoders import ComposeEncoder, Seq2SeqEncoder

from allennlp_nef.modules.label_table import LabelTable
from allennlp_nef.modules.seq2seq_encoders import LabelAttention, TracedEncoder
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import TagScorer


class Traced(NamedTuple):
    """An encoder that kept its trace."""

    encoder: TracedEncoder
    inputs: torch.Tensor
    """(batch, tokens, input_dim)."""
    trace: Any


def encode(
    encoder: Seq2SeqEncoder,
    inputs: torch.Tensor,
    mask: torch.Tensor,
    keep_trace: bool = False,
    tag_scorer: Optional[TagScorer] = None,
) -> Tuple[torch.Tensor, Optional[Traced]]:
    """The output of an encoder (batch, tokens, output_dim), and its trace if it is wanted and kept.

    Of encoders that `compose` joins the trace is that of the last one, if that keeps one.
    """
    traced = None
    for part in encoder.encoders if isinstance(encoder, ComposeEncoder) else [encoder]:
        traced = None
        if isinstance(part, TracedEncoder):
            states, trace = part.encode(inputs, mask, keep_trace, tag_scorer)
            if trace is not None:
                traced = Traced(part, inputs, trace)
        else:
            states = part(inputs, mask)
        inputs = states
    return inputs, traced


def shared_label_table(encoder: torch.nn.Module) -> Optional[LabelTable]:
    """Has all layers of label attention use one table, that of the first one; None where there are no such layers."""
    layers = [module for module in encoder.modules() if isinstance(module, LabelAttention)]
    for layer in layers[1:]:
        layer.label_table = layers[0].label_table
    return layers[0].label_table if layers else None
