"""Sequence encoders: the decoder `neural_easy_first`, label attention, self-attention and dropout."""

from allennlp_nef.modules.seq2seq_encoders.dropout import DropoutEncoder
from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelAttention, LabelTable
from allennlp_nef.modules.seq2seq_encoders.neural_easy_first import NeuralEasyFirst
from allennlp_nef.modules.seq2seq_encoders.position_aware_self_attention import (
    PositionAwareSelfAttention,
)

__all__ = [
    "DropoutEncoder",
    "LabelAttention",
    "LabelTable",
    "NeuralEasyFirst",
    "PositionAwareSelfAttention",
]
