"""How an encoder came to its output: the traces of a batch, and what a reader sees of a sentence's trace."""

from allennlp_nef.modules.traces.decision_trace import DecidingTrace, Decisions, DecisionTrace
from allennlp_nef.modules.traces.encoder_trace import (
    Decide,
    Decision,
    EncoderTrace,
    ReadableTrace,
    TracedSentence,
)
from allennlp_nef.modules.traces.fusion_trace import FusionTrace

__all__ = [
    "Decide",
    "DecidingTrace",
    "Decision",
    "DecisionTrace",
    "Decisions",
    "EncoderTrace",
    "FusionTrace",
    "ReadableTrace",
    "TracedSentence",
]
