"""The sketch recursion of the neural easy-first tagger: Martins & Kreutzer (EMNLP 2017), Algorithm 2.

- `reference`: the recursion in its plain form, with autograd and with a trace.
- `fused`: the same mathematics with a hand-written backward pass, for training and for inference without a trace.
- `halted`: the same recursion where sentences leave the batch before their last step.
- `stepwise_attention`: the attention of one step after the other, as the fused recursion calls it.
"""

from allennlp_nef.nn.sketching.fused import fused_history, fused_sketches
from allennlp_nef.nn.sketching.halted import Halts, halt_in_history, halted_sketches
from allennlp_nef.nn.sketching.reference import (
    Attend,
    ScoreUpdates,
    SketchResult,
    SketchState,
    SketchTrace,
    sketch_full,
    sketch_single,
    windows,
)

__all__ = [
    "Attend",
    "Halts",
    "ScoreUpdates",
    "SketchResult",
    "SketchState",
    "SketchTrace",
    "fused_history",
    "fused_sketches",
    "halt_in_history",
    "halted_sketches",
    "sketch_full",
    "sketch_single",
    "windows",
]
