"""The encoders of a tagger, with what they tell of their work."""

from typing import Any, List, NamedTuple, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
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

    Of encoders that `compose` joins the trace is that of the last one, if that keeps one; only its output is the tag
    scorer's to score.
    """
    *before, last = parts_of(encoder)
    for part in before:
        inputs = part(inputs, mask)
    if not isinstance(last, TracedEncoder):
        return last(inputs, mask), None
    states, trace = last.encode(inputs, mask, keep_trace, tag_scorer)
    return states, None if trace is None else Traced(last, inputs, trace)


def parts_of(encoder: Seq2SeqEncoder) -> List[Seq2SeqEncoder]:
    """The encoders that `compose` joins, from the first to the last; of any other, itself."""
    if not isinstance(encoder, ComposeEncoder):
        return [encoder]
    return [part for inner in encoder.encoders for part in parts_of(inner)]


def shared_label_table(
    label_namespace: str, *encoders: Optional[torch.nn.Module]
) -> Optional[LabelTable]:
    """Has all layers of label attention use one table, that of the first; None where there are no such layers.

    Raises `ConfigurationError` where they want tables of different shapes, or of other labels than the model's.
    """
    modules = [module for encoder in encoders if encoder for module in encoder.modules()]
    layers = [module for module in modules if isinstance(module, LabelAttention)]
    tables = [layer.label_table for layer in layers]
    for layer, table in zip(layers, tables):
        if layer.label_namespace != label_namespace:
            raise ConfigurationError(
                f"label_attention: label_namespace: expected the model's, {label_namespace!r}, got "
                f"{layer.label_namespace!r}"
            )
        expected, got = tables[0].weight.shape, table.weight.shape
        if got != expected:
            raise ConfigurationError(
                "label_attention: expected layers with the same hidden_dim, which share their table of labels, got "
                f"tables of {tuple(expected)} and {tuple(got)}"
            )
        layer.label_table = tables[0]
    return tables[0] if tables else None
