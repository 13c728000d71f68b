from dataclasses import dataclass
from typing import Any

import numpy
from overrides import overrides

from allennlp_nef.modules.traces.encoder_trace import ReadableTrace


@dataclass(eq=False)
class FusionTrace(ReadableTrace):
    """Where the words of one sentence looked, in `position_aware_self_attention`: Wei et al., Figure 6.

    `attention` is a: (words, words); row i holds what word i attends to. In JSON, `gates` has the mean of each word.
    """

    attention: numpy.ndarray
    gates: numpy.ndarray
    """lambda, the share of each number of its own vector that a word keeps: (words, dim)."""

    @overrides
    def _written(self) -> dict[str, Any]:
        return {**super()._written(), "gates": self.gates.mean(1)}
