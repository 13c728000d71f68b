"""Encoders of sequences: the decoder `neural_easy_first`, label attention, self-attention."""

from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelAttention
from allennlp_nef.modules.seq2seq_encoders.neural_easy_first import NeuralEasyFirst
from allennlp_nef.modules.seq2seq_encoders.position_aware_self_attention import (
    PositionAwareSelfAttention,
)
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import DropoutEncoder, TracedEncoder

__all__ = [
    "DropoutEncoder",
    "LabelAttention",
    "NeuralEasyFirst",
    "PositionAwareSelfAttention",
    "TracedEncoder",
]
